"""Which address the page listens on, and how many connections it accepts."""

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
    """An address has a host and a port, with IPv6 hosts in brackets."""
    parsed = parse_address(text)
    assert parsed == address
    assert str(parsed) == shown


@pytest.mark.parametrize(
    "text",
    [
        *("", "8380", "host", "host:", "host:x", "::1:80", "h:65536", "a b:1"),
        f"h:{'1' * 5_000}",
        *("[localhost:80", "localhost]:80", "[localhost]:80", "[]:80", "[::1:80", "[[::1]]:80"),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    """Any other address is refused, and the error shows the format."""
    with pytest.raises(ConfigError, match="host:port"):
        parse_address(text)


def test_a_port_in_use_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port in use is one line with the system's own text."""

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
def test_connections_get_at_most_half_of_the_descriptors(
    monkeypatch: pytest.MonkeyPatch, descriptors: int, connections: int
) -> None:
    """Connections get at most half of the descriptors; the rest is for cluster and history."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (descriptors, descriptors))
    found = connection_limits(None, 2_000)
    assert found.connections == connections
    assert found.per_address == max(1, connections // 5)
    assert (found.head_ms, found.body_ms, found.reading_ms) == (2_000, 2_000, 2_000)
    assert found.next_ms == 2_000
    assert connection_limits(None, 20_000).next_ms == 5_000


def test_a_limit_above_the_descriptors_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit above the descriptors is refused, and the error says how many it needs."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_024, 4_096))
    assert connection_limits(496, 2_000).connections == 496
    with pytest.raises(ConfigError, match=r"need 1026 open files, but the limit is 1024: raise it"):
        connection_limits(497, 2_000)
