"""A server whose every byte a test decides, and networks in which it can be reached."""

import socket
import threading
from collections.abc import Callable
from typing import Protocol

from tests.fakes.loopback import LOOPBACK, LoopbackServer
from tests.fakes.memory_transport import MemoryNetwork
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector


class ScriptedPeer:
    """A ``Conversation`` and its listener, which sends what a test writes, and keeps all input."""

    def __init__(self) -> None:
        self.received = b""
        self.is_over = False
        self.hung_up = threading.Event()
        self._outgoing = b""
        self._lock = threading.Lock()
        self._wake: Callable[[], None] | None = None
        self._echo = False

    def accept(self) -> "ScriptedPeer":
        """Accept the only connection (a ``Listener``)."""
        return self

    def echo(self) -> None:
        """Send back everything that is received from now on."""
        self._echo = True

    def write(self, data: bytes) -> None:
        """Send these bytes."""
        with self._lock:
            self._outgoing += data
        self._changed()

    def finish(self) -> None:
        """Close the connection after the bytes written so far."""
        self.is_over = True
        self._changed()

    def on_change(self, wake: Callable[[], None]) -> None:
        """See ``Conversation``."""
        self._wake = wake

    def receive(self, data: bytes, now_ms: int) -> None:  # noqa: ARG002 - it has no sense of time
        """See ``Conversation``."""
        self.received += data
        if self._echo:
            with self._lock:
                self._outgoing += data

    def take_outgoing(self, now_ms: int) -> bytes:  # noqa: ARG002 - it has no sense of time
        """See ``Conversation``."""
        with self._lock:
            data, self._outgoing = self._outgoing, b""
        return data

    def next_deadline_ms(self) -> int | None:
        """See ``Conversation``."""
        return None

    def hang_up(self) -> None:
        """See ``Conversation``."""
        self.hung_up.set()

    def _changed(self) -> None:
        if self._wake is not None:
            self._wake()


class NetworkWorld(Protocol):
    """A network with one connector, on which peers can listen."""

    connector: Connector

    def listen(self, peer: ScriptedPeer) -> tuple[str, int]:
        """Let a peer listen; return its address."""
        ...

    def unused_address(self) -> tuple[str, int]:
        """Return an address without a listener."""
        ...


class MemoryNetworkWorld:
    """The network in memory."""

    def __init__(self) -> None:
        self._network = MemoryNetwork()
        self.connector: Connector = self._network
        self._ports = iter(range(1, 1000))

    def listen(self, peer: ScriptedPeer) -> tuple[str, int]:
        """See ``NetworkWorld``."""
        address = ("peer", next(self._ports))
        self._network.listen(*address, peer.accept)
        return address

    def unused_address(self) -> tuple[str, int]:
        """See ``NetworkWorld``."""
        return ("nobody", 1)


class TcpWorld:
    """Real sockets on loopback."""

    def __init__(self, server: LoopbackServer) -> None:
        self._server = server
        self.connector: Connector = TcpConnector()

    def listen(self, peer: ScriptedPeer) -> tuple[str, int]:
        """See ``NetworkWorld``."""
        return (LOOPBACK, self._server.listen(peer.accept))

    def unused_address(self) -> tuple[str, int]:
        """See ``NetworkWorld``."""
        with socket.create_server((LOOPBACK, 0)) as taken:
            port: int = taken.getsockname()[1]
        return (LOOPBACK, port)
