"""How TCP sockets are configured, used and closed."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.waiting import wait_until
from zkconsumer.errors import ConnectFailed, ConnectionLost
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
