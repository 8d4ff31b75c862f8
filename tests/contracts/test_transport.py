"""What every transport must do: in memory, over TCP, and over TLS."""

import re
from collections.abc import Iterator

import pytest

from tests.fakes.loopback import LoopbackServer
from tests.support.certificates import Certificates
from tests.support.scripted_peer import (
    MemoryNetworkWorld,
    NetworkWorld,
    ScriptedPeer,
    TcpWorld,
)
from tests.support.tls_peer import TlsWorld
from tests.support.waiting import wait_until
from zkconsumer.errors import ConnectFailed, ConnectionLost, RequestTimedOut, TransportError
from zkconsumer.net.transport import Transport
from zkconsumer.scope import ThreadScope

LONG_MS = 10_000
SHORT_MS = 30


@pytest.fixture(params=["memory", "tcp", "tls"])
def network(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[NetworkWorld]:
    """A network with a server side that tests control."""
    if request.param == "memory":
        yield MemoryNetworkWorld()
        return
    if request.param == "tls":
        yield TlsWorld(certificates)
        return
    with LoopbackServer() as server:
        yield TcpWorld(server)


@pytest.fixture
def peer() -> ScriptedPeer:
    """The server's end of the connection."""
    return ScriptedPeer()


@pytest.fixture
def transport(network: NetworkWorld, peer: ScriptedPeer) -> Iterator[Transport]:
    """A connection to the peer."""
    connected = network.connector.connect(*network.listen(peer), timeout_ms=LONG_MS)
    connected.set_timeout_ms(LONG_MS)
    yield connected
    connected.close()


def receive(transport: Transport, size: int) -> bytes:
    """Receive once, at most ``size`` bytes."""
    buffer = bytearray(size)
    count = transport.receive_into(memoryview(buffer))
    return bytes(buffer[:count])


def test_sent_bytes_arrive(transport: Transport, peer: ScriptedPeer) -> None:
    """All bytes arrive, in order."""
    data = bytes(range(256)) * 4096
    transport.send(data)
    transport.send(b"end")
    assert wait_until(lambda: len(peer.received) == len(data) + 3, what="all bytes")
    assert peer.received == data + b"end"


def test_a_receive_fills_at_most_its_buffer(transport: Transport, peer: ScriptedPeer) -> None:
    """A receive fills at most its buffer; the rest comes with the next calls."""
    peer.write(b"abcdef")
    taken = b""
    while len(taken) < 6:
        piece = receive(transport, 4)
        assert 1 <= len(piece) <= 4
        taken += piece
    assert taken == b"abcdef"


def test_responses_arrive(transport: Transport, peer: ScriptedPeer) -> None:
    """A connection carries several requests and their responses, one after the other."""
    peer.echo()
    for word in (b"one", b"two", b"three"):
        transport.send(word)
        assert receive(transport, 10) == word


def test_end_of_stream(transport: Transport, peer: ScriptedPeer) -> None:
    """If the peer sends and closes, its bytes arrive first, then an empty read."""
    peer.write(b"bye")
    peer.finish()
    assert receive(transport, 10) == b"bye"
    assert receive(transport, 10) == b""


def test_bytes_written_while_the_server_polls_are_not_lost(network: NetworkWorld) -> None:
    """If a peer writes and closes just after it was polled for output, its bytes still arrive."""

    class Sudden(ScriptedPeer):
        def take_outgoing(self, now_ms: int) -> bytes:
            taken = super().take_outgoing(now_ms)
            if not self.is_over:
                self.write(b"bye")
                self.finish()
            return taken

    connected = network.connector.connect(*network.listen(Sudden()), timeout_ms=LONG_MS)
    connected.set_timeout_ms(LONG_MS)
    assert receive(connected, 10) == b"bye"
    assert receive(connected, 10) == b""
    connected.close()


def test_a_silent_peer_times_out(transport: Transport) -> None:
    """A receive without data ends with RequestTimedOut, whose message has the address."""
    transport.set_timeout_ms(SHORT_MS)
    with pytest.raises(RequestTimedOut, match=re.escape(transport.address)):
        receive(transport, 1)


def test_sending_to_a_peer_that_is_gone(transport: Transport, peer: ScriptedPeer) -> None:
    """Sends to a peer that closed end in ConnectionLost, sooner or later."""
    peer.finish()
    assert receive(transport, 1) == b""

    def lost() -> TransportError | None:
        try:
            transport.send(b"x" * 1000)
        except ConnectionLost as error:
            return error
        return None

    assert transport.address in str(wait_until(lost, what="ConnectionLost"))


def test_connecting_without_a_listener(network: NetworkWorld) -> None:
    """Connecting to a port without a listener raises ConnectFailed with the address."""
    host, port = network.unused_address()
    with pytest.raises(ConnectFailed, match=f"{host}:{port}: can't connect"):
        network.connector.connect(host, port, timeout_ms=LONG_MS)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "", "é" * 70, "a\0b"])
@pytest.mark.parametrize("port", [1, -1, 70_000])
def test_invalid_addresses(network: NetworkWorld, host: str, port: int) -> None:
    """Any nonsense address, as a registration may contain it, raises ConnectFailed only."""
    with pytest.raises(ConnectFailed):
        network.connector.connect(host, port, timeout_ms=LONG_MS)


def test_close_wakes_a_blocked_receive(transport: Transport) -> None:
    """Closing from another thread ends a blocked receive with ConnectionLost."""
    scope = ThreadScope("test-close")
    died_of: list[BaseException] = []
    waiting: list[bool] = []

    def block() -> None:
        waiting.append(True)
        try:
            receive(transport, 1)
        except ConnectionLost as error:
            died_of.append(error)

    scope.spawn("receive", block, stop=transport.close)
    wait_until(lambda: waiting, what="the receiver to start")
    assert scope.close(LONG_MS) == []
    assert scope.first_error() is None
    assert [type(error) for error in died_of] == [ConnectionLost]


def test_closing_twice_and_using_it_after(transport: Transport, peer: ScriptedPeer) -> None:
    """Close is idempotent and reaches the peer; every later use raises ConnectionLost."""
    transport.close()
    transport.close()
    assert peer.hung_up.wait(LONG_MS / 1000)
    with pytest.raises(ConnectionLost):
        transport.send(b"x")
    with pytest.raises(ConnectionLost):
        receive(transport, 1)
    with pytest.raises(ConnectionLost):
        transport.set_timeout_ms(LONG_MS)
