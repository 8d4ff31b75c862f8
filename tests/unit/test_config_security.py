"""Settings of secured brokers, in Kafka's spelling and in kafka-python's."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.config_security import by_our_names, read_values
from zkconsumer.errors import ConfigError
from zkconsumer.jaas_config import settings_in_jaas

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_a_file_of_kafkas_own_tools_comes_to_the_same() -> None:
    """Both spellings give the same values."""
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
def test_what_cant_be_read_is_named(key: str, value: object, reported: str) -> None:
    """And what to do about it."""
    with pytest.raises(ConfigError, match=reported):
        read_values({key: value})


def test_one_thing_by_two_names_is_refused_where_they_differ() -> None:
    """The same twice is fine."""
    assert by_our_names({"ssl.cafile": "a", "ssl.truststore.location": "a"}) == {"ssl.cafile": "a"}
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.location and ssl\.cafile are both"):
        by_our_names({"ssl.cafile": "a", "ssl.truststore.location": "b"})
    with pytest.raises(
        ConfigError, match=r"ssl\.key\.password and ssl\.keystore\.password"
    ) as reported:
        by_our_names({"ssl.keystore.password": "one", "ssl.key.password": "two"})
    assert "one" not in str(reported.value).replace("give one", "")


def test_the_module_says_the_mechanism_where_it_has_one() -> None:
    """What was given as the mechanism itself is left alone."""
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
def test_a_jaas_configuration_that_cant_be_read(text: str, reported: str) -> None:
    """One line, without what it says."""
    with pytest.raises(ConfigError, match=reported) as caught:
        settings_in_jaas("sasl.jaas.config", text)
    assert len(str(caught.value)) < 300


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_name_and_password_can_be_quoted(username: str, password: str) -> None:
    """As Java's quoting has it."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    found = settings_in_jaas(
        "s", f"{PLAIN} required\n  username={quoted(username)} password={quoted(password)} ;"
    )
    assert found["sasl.plain.username"] == username
    assert found["sasl.plain.password"] == password


@given(st.text(max_size=200))
def test_no_text_is_too_odd(text: str) -> None:
    """It is read, or refused with a line."""
    found: object = None
    with contextlib.suppress(ConfigError):
        found = settings_in_jaas("s", f"a.PlainLoginModule required {text}")
    assert found is None or isinstance(found, dict)
