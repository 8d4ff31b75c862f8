"""The settings of every client, and how they are read from files."""

import pickle

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.model import Broker
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.net.client_settings import ClientSettings, read_client_settings
from zkconsumer.net.security import SecuritySettings, read_security

SECRET = "s3cr3t"
SECURED = {
    "security.protocol": "SASL_SSL",
    "ssl.cafile": "/etc/ca.pem",
    "ssl.password": SECRET,
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.plain.username": "me",
    "sasl.plain.password": SECRET,
}


def test_a_file_may_be_shared_with_other_clients() -> None:
    """Their settings are ignored; bootstrap servers of the command line win."""
    file = {**SECURED, "bootstrap.servers": "a:1", "group.id": "g", "linger.ms": "5"}
    found = read_client_settings(file, client_id="c", timeout_ms=7)
    assert (found.client_id, found.timeout_ms) == ("c", 7)
    assert found.bootstrap == (Broker(-1, "a", 1),)
    assert found.security == read_security(SECURED)
    other = read_client_settings(file, client_id="c", timeout_ms=7, servers="b:2")
    assert other.bootstrap == (Broker(-1, "b", 2),)
    assert read_client_settings({}, client_id="c", timeout_ms=7).bootstrap == ()


@pytest.mark.parametrize("key", ["security.protocl", "ssl.cafil", "sasl.user"])
def test_a_misspelt_setting_of_security_is_refused(key: str) -> None:
    """If it were ignored, the connection would stay unprotected."""
    with pytest.raises(ConfigError, match=key):
        read_client_settings({key: "x"}, client_id="c", timeout_ms=1)


def test_settings_can_be_pickled_and_their_repr_shows_no_secret() -> None:
    """Spark sends them to its tasks, and a log may show them."""
    client = ClientSettings(client_id="c", timeout_ms=7, security=read_security(SECURED))
    assert pickle.loads(pickle.dumps(client)) == client
    assert SECRET not in repr(client)
    tokens = read_security(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": "https://idp.example/token",
            "sasl.oauthbearer.client.credentials.client.id": "me",
            "sasl.oauthbearer.client.credentials.client.secret": SECRET,
        }
    )
    assert pickle.loads(pickle.dumps(tokens)) == tokens
    assert SECRET not in repr(tokens)


def test_credentials_of_two_kinds_are_refused() -> None:
    """It is unknown which of them is meant."""
    with pytest.raises(ConfigError, match=r"sasl_plain_username.*not both"):
        SecuritySettings(
            protocol="SASL_SSL",
            sasl_mechanism="OAUTHBEARER",
            sasl_username="u",
            token_source=lambda: "t",
        )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a:1", [("a", 1)]),
        (" a , b:2,,a:9092", [("a", 9092), ("b", 2)]),
        ("SASL_SSL://a:1", [("a", 1)]),
        ("[::1]:5,[fe80::1%eth0]", [("::1", 5), ("fe80::1%eth0", 9092)]),
    ],
)
def test_bootstrap_servers_are_read_in_every_common_spelling(
    text: str, found: list[tuple[str, int]]
) -> None:
    """Each address is kept once, in order, with ids that no broker has."""
    brokers = parse_bootstrap("s", text)
    assert [(broker.host, broker.port) for broker in brokers] == found
    assert [broker.id for broker in brokers] == [-1 - index for index in range(len(found))]
    assert parse_bootstrap("s", text.split(",")) == brokers


@pytest.mark.parametrize("text", ["", ",", "a:0", "a:65536", "a:b", "a b", "::1", "[::1", "a:1:2"])
def test_invalid_bootstrap_servers_are_refused(text: str) -> None:
    """The error names the setting."""
    with pytest.raises(ConfigError, match=r"my\.setting"):
        parse_bootstrap("my.setting", text)
