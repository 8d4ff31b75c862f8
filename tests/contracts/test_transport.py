"""What every transport does, in memory, over TCP, and encrypted."""

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
    """The other end."""
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


def test_what_is_sent_arrives(transport: Transport, peer: ScriptedPeer) -> None:
    """All bytes arrive, in order."""
    data = bytes(range(256)) * 4096
    transport.send(data)
    transport.send(b"end")
    assert wait_until(lambda: len(peer.received) == len(data) + 3, what="all bytes")
    assert peer.received == data + b"end"


def test_receives_no_more_than_asked_for(transport: Transport, peer: ScriptedPeer) -> None:
    """A small buffer takes a part, and the rest comes with the next calls."""
    peer.write(b"abcdef")
    taken = b""
    while len(taken) < 6:
        piece = receive(transport, 4)
        assert 1 <= len(piece) <= 4
        taken += piece
    assert taken == b"abcdef"


def test_answers_come_back(transport: Transport, peer: ScriptedPeer) -> None:
    """Both directions work on one connection, over and over."""
    peer.echo()
    for word in (b"one", b"two", b"three"):
        transport.send(word)
        assert receive(transport, 10) == word


def test_end_of_stream(transport: Transport, peer: ScriptedPeer) -> None:
    """A peer that closes behind its last bytes gives those bytes, then an empty read."""
    peer.write(b"bye")
    peer.finish()
    assert receive(transport, 10) == b"bye"
    assert receive(transport, 10) == b""


def test_words_said_while_the_server_looks_are_not_lost(network: NetworkWorld) -> None:
    """A peer that speaks and closes just behind the server's look for its words is still heard."""

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
    """Nothing within the time-out is RequestTimedOut, naming the address."""
    transport.set_timeout_ms(SHORT_MS)
    with pytest.raises(RequestTimedOut, match=re.escape(transport.address)):
        receive(transport, 1)


def test_sending_to_a_peer_that_is_gone(transport: Transport, peer: ScriptedPeer) -> None:
    """Sends into a closed connection end in ConnectionLost, sooner or later."""
    peer.finish()
    assert receive(transport, 1) == b""

    def lost() -> TransportError | None:
        try:
            transport.send(b"x" * 1000)
        except ConnectionLost as error:
            return error
        return None

    assert transport.address in str(wait_until(lost, what="ConnectionLost"))


def test_nobody_listens(network: NetworkWorld) -> None:
    """Connecting to where nobody listens is ConnectFailed, naming the address."""
    host, port = network.unused_address()
    with pytest.raises(ConnectFailed, match=f"{host}:{port}: can't connect"):
        network.connector.connect(host, port, timeout_ms=LONG_MS)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "", "é" * 70, "a\0b"])
@pytest.mark.parametrize("port", [1, -1, 70_000])
def test_addresses_that_make_no_sense(network: NetworkWorld, host: str, port: int) -> None:
    """What a broker's registration may contain of nonsense is ConnectFailed, nothing else."""
    with pytest.raises(ConnectFailed):
        network.connector.connect(host, port, timeout_ms=LONG_MS)


def test_close_wakes_a_blocked_receive(transport: Transport) -> None:
    """Closing from another thread ends a receive that waits, with ConnectionLost."""
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
    """Closing is idempotent, the peer hears of it, and every later use is ConnectionLost."""
    transport.close()
    transport.close()
    assert peer.hung_up.wait(LONG_MS / 1000)
    with pytest.raises(ConnectionLost):
        transport.send(b"x")
    with pytest.raises(ConnectionLost):
        receive(transport, 1)
    with pytest.raises(ConnectionLost):
        transport.set_timeout_ms(LONG_MS)
