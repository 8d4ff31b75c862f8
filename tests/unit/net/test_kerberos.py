"""Kerberos without its library: keytabs, names, and the offered security layers."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.errors import AuthenticationFailed, ConfigError
from zkconsumer.net.kerberos import (
    KerberosSettings,
    is_of,
    layer_response,
    read_keytab,
    write_keytab,
)
from zkconsumer.net.security import SecuritySettings

HEAD = b"\x05\x02"


def entry(realm: str, *parts: str, key: bytes = b"k" * 16) -> bytes:
    """Return a keytab entry as MIT's library writes it."""
    names = b"".join(struct.pack(">H", len(part)) + part.encode() for part in (realm, *parts))
    body = struct.pack(">H", len(parts)) + names + struct.pack(">IIBHH", 1, 0, 1, 17, len(key))
    body += key
    return struct.pack(">i", len(body)) + body


def test_a_keytab_names_its_principals() -> None:
    """Deleted entries and the unused end are skipped."""
    first, second = entry("R.EXAMPLE", "app"), entry("R.EXAMPLE", "kafka", "broker-1")
    deleted = struct.pack(">i", -6) + b"\0" * 6
    read = read_keytab(HEAD + first + deleted + second + b"\0" * 8)
    assert [keytab_entry.principal for keytab_entry in read] == [
        "app@R.EXAMPLE",
        "kafka/broker-1@R.EXAMPLE",
    ]
    assert write_keytab(read) == HEAD + first + second
    assert read_keytab(HEAD) == ()


@pytest.mark.parametrize(
    "data",
    [b"", b"hello", b"\x05\x01", HEAD + b"\0\0", HEAD + entry("R", "a")[:-1], HEAD + b"\0\0\0\1\0"],
)
def test_a_file_that_is_no_keytab_is_refused(data: bytes) -> None:
    """Other content is refused."""
    with pytest.raises(ValueError, match=r"it |an entry"):
        read_keytab(data)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_keytab_or_are_refused(data: bytes) -> None:
    """No other exception is raised."""
    try:
        entries = read_keytab(HEAD + data)
    except ValueError:
        return
    assert read_keytab(write_keytab(entries)) == entries


def test_a_principal_matches_with_or_without_its_realm() -> None:
    """Kinit accepts both, too."""
    assert is_of("app@R", "app")
    assert is_of("app@R", "app@R")
    assert not is_of("app@R", "app@OTHER")
    assert not is_of("app/host@R", "app")


def test_the_service_name_has_the_brokers_host() -> None:
    """The host is the one that was connected to, unless another is configured."""
    assert KerberosSettings().service_at("b1.example") == "kafka@b1.example"
    other = KerberosSettings(service_name="k", domain_name="lb.example")
    assert other.service_at("b1.example") == "k@lb.example"


@pytest.mark.parametrize(
    ("given_settings", "complaint"),
    [
        ({"service_name": ""}, "sasl_kerberos_service_name"),
        ({"service_name": "kafka/b1"}, "sasl_kerberos_service_name"),
        ({"domain_name": "b@R"}, "sasl_kerberos_domain_name"),
        ({"principal": ""}, "sasl_kerberos_principal"),
        ({"keytab": "a\0b"}, "sasl_kerberos_keytab"),
    ],
)
def test_invalid_names_are_refused(given_settings: dict[str, str], complaint: str) -> None:
    """Invalid names are refused before connecting, and the error names the setting."""
    with pytest.raises(ConfigError, match=complaint):
        KerberosSettings(**given_settings)


def test_no_layer_is_chosen() -> None:
    """RFC 4752, section 3.1: "no layer" is chosen, whatever else is offered."""
    assert layer_response(b"\7\0\xff\xff", "app@R") == b"\1\0\0\0app@R"
    assert layer_response(b"\1\0\0\0", "") == b"\1\0\0\0"


@pytest.mark.parametrize("offer", [b"\6\0\xff\xff", b"", b"\1\0\0", b"\1\0\0\0\0"])
def test_a_broker_that_insists_on_a_layer_is_refused(offer: bytes) -> None:
    """Kafka has no security layers, so authentication fails."""
    with pytest.raises(AuthenticationFailed, match="layer"):
        layer_response(offer, "app@R")


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        ({"sasl_username": "u"}, "sasl_plain_username.*GSSAPI"),
        ({"sasl_password": "p"}, "sasl_plain_password.*GSSAPI"),
        ({"token_source": lambda: "t"}, "tokens.*OAUTHBEARER"),
        ({}, "needs a login"),
        (
            {"sasl_mechanism": "PLAIN", "sasl_username": "u", "sasl_password": "p"},
            "sasl_kerberos_keytab.*PLAIN",
        ),
    ],
)
def test_credentials_of_another_mechanism_are_refused(
    other: dict[str, object], complaint: str
) -> None:
    """Credentials of another mechanism are refused, and the error names their setting."""
    settings: dict[str, object] = {"protocol": "SASL_SSL", "sasl_mechanism": "GSSAPI", **other}
    if "needs" not in complaint:
        settings["kerberos"] = lambda _: None
    with pytest.raises(ConfigError, match=complaint):
        SecuritySettings(**settings)  # type: ignore[arg-type]
