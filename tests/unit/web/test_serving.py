"""Where to listen, and how many may come."""

import resource
import socket

import pytest

from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.web.serving import Address, connection_limits, listening, parse_address


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
        pytest.raises(ZkConsumerError, match=r"^can't listen on h:1: Address already in use; give"),
        listening(Address("h", 1)),
    ):
        raise AssertionError


@pytest.mark.parametrize(
    ("descriptors", "connections"),
    [(1_024, 496), (65_536, 500), (resource.RLIM_INFINITY, 500), (256, 112), (20, 1)],
)
def test_strangers_get_no_more_than_half_of_the_descriptors(
    monkeypatch: pytest.MonkeyPatch, descriptors: int, connections: int
) -> None:
    """The rest is for brokers, ZooKeeper and the past."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (descriptors, descriptors))
    found = connection_limits(None, 2_000)
    assert found.connections == connections
    assert found.per_address == max(1, connections // 5)
    assert (found.head_ms, found.body_ms, found.taking_ms) == (2_000, 2_000, 2_000)
    assert found.next_ms == 2_000
    assert connection_limits(None, 20_000).next_ms == 5_000


def test_more_than_there_can_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what would be needed."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_024, 4_096))
    assert connection_limits(496, 2_000).connections == 496
    with pytest.raises(ConfigError, match=r"need 1026 open files, but the limit is 1024: raise it"):
        connection_limits(497, 2_000)
