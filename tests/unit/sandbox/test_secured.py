"""What a sandbox with TLS, SASL or Kerberos is made of."""

import json
from pathlib import Path

import pytest

from zkconsumer.cli.sandbox_access import advice
from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.certificates import Certificates
from zkconsumer.sandbox.kdc import krb5_conf
from zkconsumer.sandbox.secured import (
    SECURITIES,
    ClientAccess,
    check_release,
    scram_user,
    with_kerberos,
    with_scram,
    with_tls,
)
from zkconsumer.sandbox.settings import check_settings
from zkconsumer.sandbox.versions import VERSIONS

SECRET = "s3cret"
FILES = Certificates(*(Path(f"/c/{number}") for number in range(4)))


def test_each_security_is_offered_since_its_release() -> None:
    """Each kind of security is offered from the release on that brought it to Kafka."""
    firsts = {
        security: next(
            version.name for version in VERSIONS.values() if security in version.securities
        )
        for security in SECURITIES
    }
    assert firsts == {
        "tls": "0.9.0.1",
        "kerberos": "0.9.0.1",
        "scram": "0.10.2.2",
        "oauth": "2.8.2",
    }


@pytest.mark.parametrize(
    ("version", "security", "reported"),
    [
        ("0.8.2.2", "tls", "Kafka 0.8.2.2 can't do security=tls: that came with Kafka 0.9"),
        ("0.9.0.1", "scram", "came with Kafka 0.10.2"),
        ("1.1.1", "oauth", "came with Kafka 2.0"),
        ("3.9.1", "sasl", "security='sasl': give one of tls, scram, kerberos, oauth"),
    ],
)
def test_a_security_that_the_release_lacks_is_refused(
    version: str, security: str, reported: str
) -> None:
    """A security that the release lacks, or that is unknown, is refused before anything starts."""
    with pytest.raises(SandboxError, match=reported):
        check_release(VERSIONS[version], security)
    with pytest.raises(SandboxError, match=reported):
        check_settings(version, 1, security=security)  # type: ignore[arg-type]


def test_another_security_of_zookeeper_is_refused() -> None:
    """An unknown security for ZooKeeper is refused, and the error names the known one."""
    with pytest.raises(SandboxError, match="zookeeper_security='tls': give digest"):
        check_settings("3.9.1", 1, zookeeper_security="tls")  # type: ignore[arg-type]


def test_a_scram_user_does_not_contain_its_password() -> None:
    """A SCRAM user's credentials derive from the password and don't contain it."""
    text = scram_user(SECRET, b"salt" * 4)
    assert text == scram_user(SECRET, b"salt" * 4)
    assert text != scram_user("another", b"salt" * 4)
    assert SECRET.encode() not in text
    proofs = json.loads(text)["config"]["SCRAM-SHA-512"].split(",")
    assert [proof.partition("=")[0] for proof in proofs] == [
        *("salt", "stored_key", "server_key", "iterations")
    ]


def test_secrets_are_in_no_repr() -> None:
    """Passwords are in no ``repr``: neither of the security settings nor of a client's access."""
    arranged = with_scram(FILES, Path("/j"), password=SECRET, salt=b"1")
    assert SECRET in arranged.tool_properties["sasl.jaas.config"]
    assert SECRET not in repr(arranged)
    access = ClientAccess(
        bootstrap_servers="localhost:1",
        settings=arranged.settings,
        command_config=Path("/a"),
        tool_config=Path("/b"),
        environment={},
        jvm_flags=(),
    )
    assert SECRET not in repr(access)


def test_the_kdc_is_found_in_the_file() -> None:
    """It is not looked up by DNS."""
    text = krb5_conf(88)
    assert "kdc = 127.0.0.1:88\n" in text
    assert "dns_lookup_kdc = false" in text


def access_of(tmp_path: Path, *, kerberos: bool) -> ClientAccess:
    """Return how a client gets into a cluster with Kerberos, or into one with TLS."""
    tools = tmp_path / "tools"
    tools.write_text("security.protocol=SSL\n")
    arranged = (
        with_kerberos(
            jaas=Path("/j"),
            client_jaas=Path("/k"),
            krb5_conf=Path("/krb5.conf"),
            keytab=Path("/s/client.keytab"),
            principal="client@R",
        )
        if kerberos
        else with_tls(FILES)
    )
    return ClientAccess(
        bootstrap_servers="localhost:1",
        settings={**arranged.settings, "zookeeper_auth_scheme": "sasl"},
        command_config=tmp_path / "ours",
        tool_config=tools,
        environment=arranged.environment,
        jvm_flags=arranged.jvm_flags,
    )


def test_the_printed_advice_can_be_pasted(tmp_path: Path) -> None:
    """The printed advice is Python that compiles and lines for a shell.

    ZooKeeper's settings are only in the properties file that it names.
    """
    shown = advice(access_of(tmp_path, kerberos=True), "z:1/kafka")
    lines = shown.splitlines()
    assert lines[0] == "export KRB5_CONFIG=/krb5.conf"
    code = shown[shown.index("KafkaConsumer(") : shown.index("\n)") + 2]
    compile(code, "pasted", "exec")
    assert '    sasl_kerberos_keytab="/s/client.keytab",' in lines
    assert "zookeeper_auth_scheme" not in shown
    [ours] = [line for line in lines if line.startswith("zkconsumer lag")]
    assert ours.endswith(f"--bootstrap-servers localhost:1 --command-config {tmp_path / 'ours'}")
    assert any(line.startswith("export KAFKA_OPTS='-Djava.security.auth") for line in lines)
    assert "kafka-python: without sasl_kerberos_keytab, sasl_kerberos_principal" in shown
    plain = advice(access_of(tmp_path, kerberos=False), "z:1/kafka")
    assert "export" not in plain
    assert "kafka-python takes the same" in plain
