"""Security settings in Kafka's spelling and in kafka-python's."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.config_security import by_our_names, read_values
from zkconsumer.errors import ConfigError
from zkconsumer.jaas_config import settings_in_jaas

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_kafka_s_names_and_ours_give_the_same_settings() -> None:
    """Settings of a file for Kafka's own tools give the same values as our names."""
    javas = {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": "/etc/ca.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.password": "of no use",
        "ssl.keystore.location": "/etc/me.pem",
        "ssl.key.password": "secret",
        "ssl.endpoint.identification.algorithm": "",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{SCRAM} required username="me" password="a\\"b;c";',
        "group.id": "passed over",
    }
    ours = {
        "security.protocol": "SASL_SSL",
        "ssl.cafile": "/etc/ca.pem",
        "ssl.certfile": "/etc/me.pem",
        "ssl.password": "secret",
        "ssl.check.hostname": False,
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.plain.username": "me",
        "sasl.plain.password": 'a"b;c',
    }
    assert read_values(javas) == read_values(ours)
    assert by_our_names(ours) == ours


@pytest.mark.parametrize(
    ("key", "value", "reported"),
    [
        ("ssl.truststore.location", "/etc/kafka.jks", r"PEM file.*keytool.*openssl"),
        ("ssl.keystore.location", "/etc/kafka.p12", r"ssl\.keystore\.location.*PEM"),
        ("ssl.truststore.type", "JKS", r"ssl\.truststore\.type.*set it to PEM"),
        ("ssl.endpoint.identification.algorithm", "ldaps", "https, or empty"),
        ("sasl.jaas.config", 7, r"sasl\.jaas\.config is not text"),
        ("security.protocol", "TLS", r"security\.protocol.*PLAINTEXT or SSL"),
    ],
)
def test_an_invalid_security_setting_is_refused(key: str, value: object, reported: str) -> None:
    """The error names the setting and what to do about it."""
    with pytest.raises(ConfigError, match=reported):
        read_values({key: value})


def test_two_names_of_a_setting_must_agree() -> None:
    """Two names of one setting may have the same value; otherwise the error names both."""
    assert by_our_names({"ssl.cafile": "a", "ssl.truststore.location": "a"}) == {"ssl.cafile": "a"}
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.location and ssl\.cafile are both"):
        by_our_names({"ssl.cafile": "a", "ssl.truststore.location": "b"})
    with pytest.raises(
        ConfigError, match=r"ssl\.key\.password and ssl\.keystore\.password"
    ) as reported:
        by_our_names({"ssl.keystore.password": "one", "ssl.key.password": "two"})
    assert "one" not in str(reported.value).replace("give one", "")


def test_the_login_module_implies_the_mechanism() -> None:
    """A mechanism that is set explicitly wins over the one that the login module implies."""
    jaas = f'{PLAIN} required username="u" password="p";'
    assert by_our_names({"sasl.jaas.config": jaas})["sasl.mechanism"] == "PLAIN"
    given = {"sasl.jaas.config": jaas, "sasl.mechanism": "SCRAM-SHA-256"}
    assert by_our_names(given)["sasl.mechanism"] == "SCRAM-SHA-256"


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", "not a login module"),
        ("a.PlainLoginModule", "not a login module"),
        ('a.PlainLoginModule required username="u"', "semicolon"),
        ('a.PlainLoginModule required username="u;', "from its character"),
        ("a.PlainLoginModule required; b.PlainLoginModule required;", "one module"),
        ('a.OtherModule required x="y";', r"names a\.OtherModule: known here are"),
        ('a.PlainLoginModule required tokenauth="true";', "tokenauth.*no effect"),
        ("x" * 100_000, "not a login module"),
    ],
)
def test_an_invalid_jaas_configuration_is_refused(text: str, reported: str) -> None:
    """The error is short and does not quote the configuration, which may hold a password."""
    with pytest.raises(ConfigError, match=reported) as caught:
        settings_in_jaas("sasl.jaas.config", text)
    assert len(str(caught.value)) < 300


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_name_and_password_can_be_quoted(username: str, password: str) -> None:
    """Any user name and password can be quoted as in Java."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    found = settings_in_jaas(
        "s", f"{PLAIN} required\n  username={quoted(username)} password={quoted(password)} ;"
    )
    assert found["sasl.plain.username"] == username
    assert found["sasl.plain.password"] == password


@given(st.text(max_size=200))
def test_any_jaas_text_is_parsed_or_refused(text: str) -> None:
    """Any text is parsed or refused with ``ConfigError``, nothing else."""
    found: object = None
    with contextlib.suppress(ConfigError):
        found = settings_in_jaas("s", f"a.PlainLoginModule required {text}")
    assert found is None or isinstance(found, dict)
