"""A connection that is delegated to code which works with its file descriptor."""

import os
import socket
from collections.abc import Iterator

import pytest

from tests.fakes.loopback import LOOPBACK
from tests.fakes.memory_transport import MemoryNetwork
from tests.support.scripted_peer import ScriptedPeer
from zkconsumer.errors import ConnectionLost
from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.tcp import TcpConnector, TcpTransport


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A listening socket."""
    with socket.create_server((LOOPBACK, 0)) as server:
        yield server


def connect(server: socket.socket) -> TcpTransport:
    """Connect to this server."""
    return TcpConnector().connect(*server.getsockname(), timeout_ms=5_000)


def connection(transport: object) -> BrokerConnection:
    """A connection over a transport."""
    return BrokerConnection(
        Broker(0, LOOPBACK, 1),
        transport,  # type: ignore[arg-type]
        client_id="héctor",
        max_response_bytes=77,
    )


def test_a_close_during_delegation_ends_the_stream_but_keeps_the_descriptor(
    server: socket.socket,
) -> None:
    """No other connection may get the descriptor's number while it is in use."""
    transport = connect(server)
    with transport.delegate() as descriptor:
        transport.close()
        assert os.read(descriptor, 10) == b""
        with socket.socket() as other:
            assert other.fileno() != descriptor
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_a_closed_transport_is_not_delegated(server: socket.socket) -> None:
    """It raises ConnectionLost, as any other use does."""
    transport = connect(server)
    transport.close()
    with pytest.raises(ConnectionLost, match="closed by us"), transport.delegate():
        pass


def test_a_connection_continues_after_the_delegates_correlation_ids(server: socket.socket) -> None:
    """No late response can be taken for that of another request."""
    delegated = connection(connect(server))
    with delegated.delegate() as delegation:
        assert (delegation.correlation_id, delegation.client_id) == (0, "héctor".encode())
        assert delegation.max_response_bytes == 77
        delegation.correlation_id = 5
    with delegated.delegate() as delegation:
        assert delegation.correlation_id == 5
    delegated.close()


def test_only_a_transport_with_a_descriptor_can_be_delegated(server: socket.socket) -> None:
    """TCP has one, and the network in memory has none."""
    network = MemoryNetwork()
    network.listen("peer", 1, ScriptedPeer().accept)
    assert not connection(network.connect("peer", 1, timeout_ms=1_000)).has_descriptor
    over_tcp = connection(connect(server))
    assert over_tcp.has_descriptor
    over_tcp.close()
