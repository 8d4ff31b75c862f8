"""A connection in the hands of somebody who works with its descriptor."""

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
    """Where a socket listens."""
    with socket.create_server((LOOPBACK, 0)) as server:
        yield server


def connect(server: socket.socket) -> TcpTransport:
    """Connect to it."""
    return TcpConnector().connect(*server.getsockname(), timeout_ms=5_000)


def connection(transport: object) -> BrokerConnection:
    """A connection over a transport."""
    return BrokerConnection(
        Broker(0, LOOPBACK, 1),
        transport,  # type: ignore[arg-type]
        client_id="héctor",
        max_response_bytes=77,
    )


def test_a_close_while_it_is_lent_ends_the_stream_and_keeps_the_number(
    server: socket.socket,
) -> None:
    """Nobody else's connection may come to stand under the number that the borrower uses."""
    transport = connect(server)
    with transport.delegate() as descriptor:
        transport.close()
        assert os.read(descriptor, 10) == b""
        with socket.socket() as other:
            assert other.fileno() != descriptor
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_what_is_closed_is_not_lent(server: socket.socket) -> None:
    """It says so, as for every other use."""
    transport = connect(server)
    transport.close()
    with pytest.raises(ConnectionLost, match="closed by us"), transport.delegate():
        pass


def test_a_connection_goes_on_behind_the_borrowers_correlation_ids(server: socket.socket) -> None:
    """No late answer can be taken for another one's."""
    lent = connection(connect(server))
    with lent.delegate() as line:
        assert (line.correlation_id, line.client_id) == (0, "héctor".encode())
        assert line.max_response_bytes == 77
        line.correlation_id = 5
    with lent.delegate() as line:
        assert line.correlation_id == 5
    lent.close()


def test_only_what_has_a_descriptor_can_be_lent(server: socket.socket) -> None:
    """TCP has one, the network in memory has none."""
    network = MemoryNetwork()
    network.listen("peer", 1, ScriptedPeer().accept)
    assert not connection(network.connect("peer", 1, timeout_ms=1_000)).has_descriptor
    over_tcp = connection(connect(server))
    assert over_tcp.has_descriptor
    over_tcp.close()
