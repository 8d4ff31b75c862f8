"""Builds the settings of brokers, clients and tools in a secured sandbox. Pure."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.versions import KafkaVersion

if TYPE_CHECKING:
    from zkconsumer.sandbox.certificates import Certificates

Security = Literal["tls", "scram", "kerberos", "oauth"]
SECURITIES: Final[tuple[Security, ...]] = ("tls", "scram", "kerberos", "oauth")
ZookeeperSecurityName = Literal["digest"]
ZOOKEEPER_SECURITIES: Final[tuple[ZookeeperSecurityName, ...]] = ("digest",)
USER: Final = "client"
"""The client's user name, for every mechanism."""

ADVERTISED: Final = "localhost"
"""The host name of secured listeners: in certificates and in the brokers' principal."""

STORE_PASSWORD: Final = "store-secret"  # noqa: S105 - of files that each sandbox creates
_ITERATIONS: Final = 4_096
_SINCE: Final[Mapping[Security, str]] = {
    "tls": "0.9",
    "kerberos": "0.9",
    "scram": "0.10.2",
    "oauth": "2.0",
}
OAUTH_MODULE: Final = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'unsecuredLoginStringClaim_sub="{}";'
)
SCRAM_MODULE: Final = (
    'org.apache.kafka.common.security.scram.ScramLoginModule required username="{}" password="{}";'
)
# Kafka's default rule gets the realm from a Java API that Java 17 closed.
_SHORT_NAMES: Final = "RULE:[1:$1],RULE:[2:$1]"
KERBEROS_MODULE: Final = (
    "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
    'keyTab="{}" principal="{}";'
)
ZOOKEEPER_MODULE: Final = (
    f'org.apache.zookeeper.server.auth.DigestLoginModule required user_{USER}="{{}}";'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAccess:
    """The settings of a client of a secured sandbox; ``repr`` hides secrets.

    Attributes:
        bootstrap_servers: the brokers' secured listeners.
        settings: keyword arguments of ``KafkaConsumer``: of ours, and of kafka-python's if that
            supports the mechanism.
        command_config: a file with these settings, for our commands' ``--command-config``.
        tool_config: a file for Kafka's own tools' ``--command-config``, ``--consumer.config`` and
            ``--producer.config``.
        environment: environment variables of a client's process.
        jvm_flags: what Kafka's own tools need beyond the file (``KAFKA_OPTS``).

    Example:
        >>> with Sandbox("3.9.1", security="scram") as cluster:  # doctest: +SKIP
        ...     where = cluster.access.bootstrap_servers
        ...     KafkaConsumer("t", bootstrap_servers=where, config=cluster.access.settings)
    """

    bootstrap_servers: str
    settings: Mapping[str, str] = field(repr=False)
    command_config: Path
    tool_config: Path
    environment: Mapping[str, str]
    jvm_flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """The settings of a secured cluster.

    Attributes:
        protocol: the protocol of the secured listener.
        broker_properties: properties of every broker, besides its listeners.
        broker_jvm_flags: flags of the brokers' JVMs.
        users: nodes that brokers read at start, by path, with their content.
        settings: the settings of a client, as in ``ClientAccess``.
        tool_properties: properties of Kafka's own tools.
        environment: see ``ClientAccess``.
        jvm_flags: see ``ClientAccess``.
    """

    protocol: str
    broker_properties: Mapping[str, str]
    broker_jvm_flags: tuple[str, ...] = ()
    users: Mapping[str, bytes] = field(default_factory=dict)
    settings: Mapping[str, str] = field(repr=False)
    tool_properties: Mapping[str, str] = field(repr=False)
    environment: Mapping[str, str] = field(default_factory=dict)
    jvm_flags: tuple[str, ...] = ()


def check_release(version: KafkaVersion, security: str | None) -> None:
    """Check that a release supports a security option.

    Raises:
        SandboxError: the release does not support the option, or the option is unknown.
    """
    if security is None:
        return
    since = next((_SINCE[kind] for kind in SECURITIES if kind == security), None)
    if since is None:
        raise SandboxError(f"security={security!r}: give one of {', '.join(SECURITIES)}")
    if security not in version.securities:
        raise SandboxError(
            f"Kafka {version.name} can't do security={security}: that came with Kafka {since}"
        )


def tls_properties(certificates: "Certificates") -> dict[str, str]:
    """Return a broker's settings for its key and truststore."""
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(certificates.broker_keys),
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.key.password": STORE_PASSWORD,
        **_trust(certificates),
    }


def with_tls(certificates: "Certificates") -> Arrangement:
    """Return settings for TLS; a client certificate is requested, but optional."""
    return Arrangement(
        protocol="SSL",
        broker_properties={**tls_properties(certificates), "ssl.client.auth": "requested"},
        settings={
            "security_protocol": "SSL",
            "ssl_cafile": str(certificates.authority),
            "ssl_certfile": str(certificates.client),
        },
        tool_properties={"security.protocol": "SSL", **_trust(certificates)},
    )


def with_scram(
    certificates: "Certificates", jaas: Path, *, password: str, salt: bytes
) -> Arrangement:
    """Return settings for SCRAM-SHA-512 over TLS."""
    own = {"sasl_plain_username": USER, "sasl_plain_password": password}
    login = SCRAM_MODULE.format(USER, password)
    arranged = _sasl_over_tls(certificates, jaas, "SCRAM-SHA-512", settings=own, login=login)
    return replace(arranged, users={f"/config/users/{USER}": scram_user(password, salt)})


def with_tokens(certificates: "Certificates", jaas: Path, *, endpoint_url: str) -> Arrangement:
    """Return settings for OAUTHBEARER over TLS, with unsigned tokens."""
    own = {
        "sasl_oauthbearer_token_endpoint_url": endpoint_url,
        "sasl_oauthbearer_client_credentials_client_id": USER,
        "sasl_oauthbearer_client_credentials_client_secret": "any",
    }
    login = OAUTH_MODULE.format(USER)
    return _sasl_over_tls(certificates, jaas, "OAUTHBEARER", settings=own, login=login)


def _sasl_over_tls(
    certificates: "Certificates",
    jaas: Path,
    mechanism: str,
    *,
    settings: Mapping[str, str],
    login: str,
) -> Arrangement:
    """Return settings for a mechanism; ``login`` is the login module of Kafka's own tools."""
    return Arrangement(
        protocol="SASL_SSL",
        broker_properties={**tls_properties(certificates), "sasl.enabled.mechanisms": mechanism},
        broker_jvm_flags=(jaas_flag(jaas),),
        settings={
            "security_protocol": "SASL_SSL",
            "ssl_cafile": str(certificates.authority),
            "sasl_mechanism": mechanism,
            **settings,
        },
        tool_properties={
            "security.protocol": "SASL_SSL",
            **_trust(certificates),
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": login,
        },
    )


def with_kerberos(
    *, jaas: Path, client_jaas: Path, krb5_conf: Path, keytab: Path, principal: str
) -> Arrangement:
    """Return settings for GSSAPI without TLS, as was usual at the time."""
    krb5 = f"-Djava.security.krb5.conf={krb5_conf}"
    return Arrangement(
        protocol="SASL_PLAINTEXT",
        broker_properties={
            "sasl.kerberos.service.name": "kafka",
            "sasl.kerberos.principal.to.local.rules": _SHORT_NAMES,
        },
        broker_jvm_flags=(jaas_flag(jaas), krb5),
        settings={
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "GSSAPI",
            "sasl_kerberos_service_name": "kafka",
            "sasl_kerberos_keytab": str(keytab),
            "sasl_kerberos_principal": principal,
        },
        tool_properties={
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
        },
        # The cache and the keytab are for clients without a setting for a keytab.
        environment={
            "KRB5_CONFIG": str(krb5_conf),
            "KRB5_CLIENT_KTNAME": str(keytab),
            "KRB5CCNAME": str(keytab.with_name("tickets")),
        },
        # Before 0.10.2 a tool's properties file can't contain a JAAS configuration.
        jvm_flags=(jaas_flag(client_jaas), krb5),
    )


def jaas_flag(path: Path) -> str:
    """Return the Java flag for a JAAS file."""
    return f"-Djava.security.auth.login.config={path}"


def jaas_section(name: str, module: str) -> str:
    """Return a JAAS file: one section, with one login module."""
    return f"{name} {{\n  {module}\n}};\n"


def scram_user(password: str, salt: bytes) -> bytes:
    """Return the node of a SCRAM-SHA-512 user, as ``kafka-configs`` writes it."""
    salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ITERATIONS)
    client_key = hmac.digest(salted, b"Client Key", "sha512")
    parts = {
        "salt": salt,
        "stored_key": hashlib.sha512(client_key).digest(),
        "server_key": hmac.digest(salted, b"Server Key", "sha512"),
    }
    proof = ",".join(f"{key}={base64.b64encode(part).decode()}" for key, part in parts.items())
    config = {"SCRAM-SHA-512": f"{proof},iterations={_ITERATIONS}"}
    return json.dumps({"version": 1, "config": config}).encode()


def dotted(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings by keys with dots, as in a properties file."""
    return {name.replace("_", "."): value for name, value in settings.items()}


def _trust(certificates: "Certificates") -> dict[str, str]:
    return {
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(certificates.broker_trust),
        "ssl.truststore.password": STORE_PASSWORD,
    }
