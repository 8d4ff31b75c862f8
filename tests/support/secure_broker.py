"""A real broker with a port for each security protocol, and with users."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.certificates import Certificates
from zkconsumer.model import Broker
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.ports import LOOPBACK, pick_free
from zkconsumer.sandbox.secured import tls_properties

PLAIN_USER = "alice"
SCRAM_USER = "al,ice=1"
"""Contains the characters that SCRAM escapes."""

PASSWORD = "wonder;land-1"
LIFETIME_MS = 2_000
"""How long an authentication with SCRAM-SHA-512 over TLS lasts, if the broker supports a limit.

An authentication can't be renewed twice within a second.
"""

_JAAS = f"""
KafkaServer {{
  org.apache.kafka.common.security.plain.PlainLoginModule required
    username="broker" password="broker-secret" user_{PLAIN_USER}="{PASSWORD}";
  org.apache.kafka.common.security.scram.ScramLoginModule required
    username="broker" password="broker-secret";
}};
"""


_TOKENS = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'unsecuredLoginStringClaim_sub="broker";'
)
"""It accepts tokens without a signature, as Kafka does without further settings."""


@dataclass(frozen=True, slots=True)
class SecureBroker:
    """A broker and its ports.

    Attributes:
        sandbox: its cluster, whose advertised port is without security.
        ports: the other ports by listener: ``SSL``, ``SASL_PLAINTEXT``, ``SASL_SSL``, and
            ``MUTUAL``, which requires client certificates; as far as the version supports them.
    """

    sandbox: Sandbox
    ports: dict[str, int]

    def at(self, listener: str) -> Broker:
        """The broker's address at one of its listeners."""
        if listener == "PLAINTEXT":
            return self.sandbox.brokers[0]
        return Broker(-1, LOOPBACK, self.ports[listener])


@contextlib.contextmanager
def secure_broker(version: str, certificates: Certificates, folder: Path) -> Iterator[SecureBroker]:
    """Start a broker; 0.9 only has TLS, and ``MUTUAL`` needs 1.0 or later."""
    listeners = {"0.9.0.1": ["SSL"], "0.10.2.2": ["SSL", "SASL_PLAINTEXT", "SASL_SSL"]}.get(
        version, ["SSL", "SASL_PLAINTEXT", "SASL_SSL", "MUTUAL"]
    )
    taken: set[int] = set()
    plain = pick_free(taken)
    ports = {listener: pick_free(taken) for listener in listeners}
    addresses = {"PLAINTEXT": plain} | ports
    properties = {
        "listeners": ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in addresses.items()),
        **tls_properties(certificates),
    }
    jaas = folder / f"jaas-{version}.conf"
    jaas.write_text(_JAAS)
    if "SASL_SSL" in ports:
        properties["sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
    if version.startswith(("2.", "3.")):
        properties["sasl.enabled.mechanisms"] += ",OAUTHBEARER"
        for listener in ("sasl_plaintext", "sasl_ssl"):
            properties[f"listener.name.{listener}.oauthbearer.sasl.jaas.config"] = _TOKENS
    if "MUTUAL" in ports:
        properties["listener.security.protocol.map"] = (
            "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,MUTUAL:SSL"
        )
        properties["listener.name.mutual.ssl.client.auth"] = "required"
        properties["listener.name.sasl_ssl.scram-sha-512.connections.max.reauth.ms"] = str(
            LIFETIME_MS
        )
    with Sandbox(
        kafka=version,
        brokers=1,
        broker_ports=[plain],
        broker_properties=properties,
        broker_jvm_flags=[f"-Djava.security.auth.login.config={jaas}"],
    ) as sandbox:
        if "SASL_SSL" in ports:
            _know_user(sandbox)
        yield SecureBroker(sandbox, ports)


def _know_user(sandbox: Sandbox) -> None:
    """Store the user's SCRAM credentials with Kafka's own tool."""
    proofs = ",".join(
        f"SCRAM-SHA-{bits}=[iterations=4096,password={PASSWORD}]" for bits in (256, 512)
    )
    old = sandbox.kafka.startswith(("0.", "1."))
    where = (
        ["--zookeeper", sandbox.zookeeper_connect]
        if old
        else ["--bootstrap-server", sandbox.bootstrap_servers]
    )
    entity = ["--entity-type", "users", "--entity-name", SCRAM_USER]
    result = sandbox.run_scala_tool(
        "kafka.admin.ConfigCommand", *where, "--alter", "--add-config", proofs, *entity
    )
    assert result.status == 0, result
