"""Where to listen."""

import socket

import pytest

from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.web.serving import Address, listening, parse_address


@pytest.mark.parametrize(
    ("text", "address", "shown"),
    [
        ("127.0.0.1:8380", ("127.0.0.1", 8380), "127.0.0.1:8380"),
        ("localhost:0", ("localhost", 0), "localhost:0"),
        ("[::1]:8380", ("::1", 8380), "[::1]:8380"),
        (":8380", ("0.0.0.0", 8380), "0.0.0.0:8380"),
    ],
)
def test_an_address_has_a_host_and_a_port(text: str, address: tuple[str, int], shown: str) -> None:
    """IPv6 ones in brackets, as everywhere."""
    parsed = parse_address(text)
    assert parsed == address
    assert str(parsed) == shown


@pytest.mark.parametrize(
    "text", ["", "8380", "host", "host:", "host:x", "::1:80", "h:65536", "a b:1"]
)
def test_anything_else_is_refused(text: str) -> None:
    """With what to write instead."""
    with pytest.raises(ConfigError, match="host:port"):
        parse_address(text)


def test_a_port_in_use_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the system's words."""

    def refuse(*_: object, **__: object) -> socket.socket:
        raise OSError(98, "Address already in use (while attempting to bind on address (...))")

    monkeypatch.setattr(socket, "create_server", refuse)
    with (
        pytest.raises(ZkConsumerError, match=r"^can't listen at h:1: Address already in use: give"),
        listening(Address("h", 1)),
    ):
        raise AssertionError
