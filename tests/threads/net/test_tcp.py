"""How TCP sockets are configured, used and closed."""

import contextlib
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConnectFailed, ConnectionLost, RequestTimedOut
from zkconsumer.net.tcp import TcpConnector, TcpTransport
from zkconsumer.scope import ThreadScope

LONG_MS = 10_000


class HaltingSocket(socket.socket):
    """A socket whose user is stopped right before it waits, as a scheduler may do."""

    def __init__(self, connected: socket.socket) -> None:
        super().__init__(fileno=connected.detach())
        self.arrived = threading.Event()
        self.go_on = threading.Event()

    def recv_into(self, *arguments: Any) -> int:
        """Wait for the test, then receive."""
        self.arrived.set()
        assert self.go_on.wait(LONG_MS / 1000)
        return super().recv_into(*arguments)


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    """The address of a listening socket that accepts no connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        yield host, port


def option(address: tuple[str, int], connector: TcpConnector, level: int, name: int) -> int:
    """Connect, and return an option of the socket."""
    transport = connector.connect(*address, timeout_ms=LONG_MS)
    value = transport._socket.getsockopt(level, name)
    transport.close()
    return value


@pytest.mark.parametrize(
    ("level", "name"),
    [(socket.IPPROTO_TCP, socket.TCP_NODELAY), (socket.SOL_SOCKET, socket.SO_KEEPALIVE)],
    ids=["no delay", "keep-alive"],
)
def test_sockets_have_the_originals_options(
    address: tuple[str, int], level: int, name: int
) -> None:
    """No delay and keep-alive are on."""
    assert option(address, TcpConnector(), level, name)


def test_the_receive_buffer_has_the_configured_size(address: tuple[str, int]) -> None:
    """It has at least that size (the system doubles it)."""
    requested = 32 * 1024
    found = option(address, TcpConnector(requested), socket.SOL_SOCKET, socket.SO_RCVBUF)
    assert requested <= found <= 2 * requested


@pytest.mark.parametrize("left_alone", [None, 0, -1])
def test_the_receive_buffer_may_be_left_to_the_system(
    address: tuple[str, int], left_alone: int | None
) -> None:
    """None, 0 and -1 leave the receive buffer as the system makes it."""
    system = option(address, TcpConnector(), socket.SOL_SOCKET, socket.SO_RCVBUF)
    found = option(address, TcpConnector(left_alone), socket.SOL_SOCKET, socket.SO_RCVBUF)
    assert found == system > 10_000


def test_every_address_of_a_host_is_tried(address: tuple[str, int]) -> None:
    """A name with several addresses can be connected to if one of them responds."""
    transport = TcpConnector().connect("localhost", address[1], timeout_ms=LONG_MS)
    assert transport.address == f"localhost:{address[1]}"
    transport.close()


def test_our_own_shutdown_is_not_the_end_of_the_stream(address: tuple[str, int]) -> None:
    """A receive that our own close ended raises, instead of returning an end of stream."""
    transport = TcpConnector().connect(*address, timeout_ms=LONG_MS)
    # The first half of close, which wakes a receive in another thread.
    transport._closed = True
    transport._socket.shutdown(socket.SHUT_RDWR)
    with pytest.raises(ConnectionLost, match="closed by us"):
        transport.receive_into(memoryview(bytearray(1)))
    transport.close()


def test_the_descriptor_stays_open_while_it_is_in_use() -> None:
    """If it were closed, its number could be another connection's by the time of the wait."""
    own, peer = socket.socketpair()
    halting = HaltingSocket(own)
    transport = TcpTransport(halting, "peer")
    transport.set_timeout_ms(LONG_MS)
    scope = ThreadScope("test")
    scope.spawn("receive", lambda: receive(transport), stop=lambda: None)
    assert halting.arrived.wait(LONG_MS / 1000)
    transport.close()
    assert halting.fileno() >= 0
    halting.go_on.set()
    assert scope.close(LONG_MS) == []
    peer.close()
    assert halting.fileno() == -1
    assert isinstance(scope.first_error(), ConnectionLost)


def receive(transport: TcpTransport) -> None:
    """Receive once."""
    transport.receive_into(memoryview(bytearray(1)))


def test_a_closed_transport_refuses_everything(address: tuple[str, int]) -> None:
    """Each use after the close raises, and a second close does nothing."""
    transport = TcpConnector().connect(*address, timeout_ms=LONG_MS)
    transport.close()
    transport.close()
    uses: list[Callable[[], None]] = [
        lambda: transport.set_timeout_ms(1),
        lambda: transport.send(b"x"),
        lambda: receive(transport),
    ]
    for use in uses:
        with pytest.raises(ConnectionLost, match="closed by us"):
            use()


def test_stopping_ends_a_connect_that_hangs() -> None:
    """A machine that is gone does not respond; a stopped connector makes no more connections."""
    with contextlib.ExitStack() as sockets:
        server = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # fill its queue, so that the system drops further connects
            client = sockets.enter_context(socket.socket())
            client.settimeout(0)
            client.connect_ex(server.getsockname())
        connector, scope = TcpConnector(), ThreadScope("connecting")
        failures: list[ConnectFailed] = []

        def connect() -> None:
            with pytest.raises(ConnectFailed) as caught:
                connector.connect(*server.getsockname(), timeout_ms=LONG_MS)
            failures.append(caught.value)

        scope.spawn("connect", connect, stop=connector.stop)
        wait_until(lambda: connector._connecting, what="the attempt")
        assert scope.close(LONG_MS // 2) == []
        assert scope.first_error() is None
        assert "closed by us" in str(failures[0])
        with pytest.raises(ConnectFailed, match="closed by us"):
            connector.connect(*server.getsockname(), timeout_ms=LONG_MS)


@pytest.fixture
def pair() -> Iterator[tuple[TcpTransport, socket.socket]]:
    """A connected transport, and its peer's socket."""
    own, peer = socket.socketpair()
    transport = TcpTransport(own, "peer:9092")
    transport.set_timeout_ms(LONG_MS)
    with peer:
        yield transport, peer
    transport.close()


def expect(transport: TcpTransport, size: int) -> bytes:
    """Receive what the peer is about to send, up to a size, until nothing more comes."""
    received = bytearray()
    while len(received) < size:
        buffer = bytearray(size - len(received))
        count = transport.receive_expected(memoryview(buffer))
        received += buffer[:count]
        if not count:
            break
    return bytes(received)


def test_expected_bytes_arrive_in_order_and_no_more_of_them(
    pair: tuple[TcpTransport, socket.socket],
) -> None:
    """More than the system buffers arrives whole, and what follows it stays there."""
    transport, peer = pair
    data = bytes(range(256)) * (4 << 12)
    scope = ThreadScope("test")
    scope.spawn("send", lambda: peer.sendall(data + b"next"), stop=peer.close)
    assert expect(transport, len(data)) == data
    assert expect(transport, len(b"next")) == b"next"
    assert scope.close(LONG_MS) == []


def test_a_part_of_what_is_expected_is_reported(pair: tuple[TcpTransport, socket.socket]) -> None:
    """A caller learns that bytes arrive though the rest does not come; then time is up."""
    transport, peer = pair
    peer.sendall(b"part")
    buffer = bytearray(1 << 20)
    assert transport.receive_expected(memoryview(buffer)) == len(b"part")
    assert buffer[:4] == b"part"
    transport.set_timeout_ms(30)
    with pytest.raises(RequestTimedOut, match="peer:9092: no response in time"):
        transport.receive_expected(memoryview(buffer))


def test_bytes_that_trickle_in_do_not_outlast_the_timeout(
    pair: tuple[TcpTransport, socket.socket],
) -> None:
    """A peer that sends a byte now and then keeps a receive no longer than its time-out."""
    transport, peer = pair
    transport.set_timeout_ms(60)
    stopping = threading.Event()

    def trickle() -> None:
        while not stopping.wait(0.001):
            peer.sendall(b"x")

    scope = ThreadScope("test")
    scope.spawn("trickle", trickle, stop=stopping.set)
    count = transport.receive_expected(memoryview(bytearray(1 << 24)))
    assert 0 < count < 1 << 20
    assert scope.close(LONG_MS) == []


def test_the_end_of_the_stream_after_a_part(pair: tuple[TcpTransport, socket.socket]) -> None:
    """What came before the end is returned first."""
    transport, peer = pair
    peer.sendall(b"bye")
    peer.shutdown(socket.SHUT_WR)
    assert expect(transport, 1 << 20) == b"bye"


@pytest.mark.parametrize("sent_bytes", [0, 70_000])
def test_a_connection_that_is_reset(sent_bytes: int) -> None:
    """The error names the address, and what the system said, also after a part."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        transport = TcpConnector().connect(*server.getsockname(), timeout_ms=LONG_MS)
        accepted, _ = server.accept()
        accepted.sendall(b"x" * sent_bytes)
        # An end without lingering is a reset.
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted.close()
        with pytest.raises(ConnectionLost, match=f"{transport.address}: .*reset"):
            expect(transport, 1 << 20)
        transport.close()


def test_close_wakes_a_receive_of_what_is_expected(
    pair: tuple[TcpTransport, socket.socket],
) -> None:
    """Closing from another thread ends it with ConnectionLost, as any receive."""
    transport, _ = pair
    scope = ThreadScope("test")

    def block() -> None:
        transport.receive_expected(memoryview(bytearray(1)))

    scope.spawn("receive", block, stop=transport.close)
    wait_until(lambda: transport._in_use, what="the receive")
    assert scope.close(LONG_MS) == []
    error = scope.first_error()
    assert isinstance(error, ConnectionLost)
    assert "closed by us" in str(error)


@pytest.mark.parametrize("is_arriving", [False, True])
def test_a_signal_handler_may_end_a_receive_of_what_is_expected(
    pair: tuple[TcpTransport, socket.socket], is_arriving: bool
) -> None:
    """Ctrl-C ends a receive at once, also while bytes arrive; a handler that returns does not."""
    transport, peer = pair
    handled: list[int] = []
    stopping = threading.Event()

    class Interrupted(Exception):
        """What the handler raises, as Ctrl-C would."""

    def handle(number: int, _frame: object) -> None:
        handled.append(number)
        if len(handled) == 2:
            raise Interrupted

    def flood() -> None:
        while is_arriving and not stopping.is_set():
            with contextlib.suppress(OSError):
                peer.sendall(b"x")

    scope = ThreadScope("test")
    scope.spawn("flood", flood, stop=stopping.set)
    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    clock = SystemClock()
    began_ms = clock.now_ms()
    try:
        with pytest.raises(Interrupted):
            expect(transport, 1 << 26)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert clock.now_ms() - began_ms < LONG_MS // 2
    transport.close()
    assert scope.close(LONG_MS) == []
