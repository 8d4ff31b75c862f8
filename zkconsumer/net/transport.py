"""The network as the rest of the package sees it: connect, send, receive, close."""

from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable


class Transport(Protocol):
    """A byte stream to one address.

    Every method but ``close`` raises ``ConnectionLost`` if the connection is lost, and
    ``RequestTimedOut`` if there is no progress within the time-out; both name the address.
    """

    @property
    def address(self) -> str:
        """``host:port``, for error messages."""
        ...

    def set_timeout_ms(self, timeout_ms: int) -> None:
        """Set how long each following send and receive may wait for progress."""
        ...

    def send(self, data: bytes) -> None:
        """Send all of ``data``."""
        ...

    def receive_into(self, buffer: memoryview) -> int:
        """Receive into ``buffer`` (not empty); return the number of bytes, 0 at end of stream."""
        ...

    def close(self) -> None:
        """Close; a blocked thread wakes with ``ConnectionLost``. Idempotent. Thread: any."""
        ...


@runtime_checkable
class HasDescriptor(Protocol):
    """A transport whose descriptor native code can use; ``TcpTransport`` is one."""

    def delegate(self) -> AbstractContextManager[int]:
        """Return a context manager that yields the descriptor and keeps it valid."""
        ...

    def receive_expected(self, buffer: memoryview) -> int:
        """Receive into a large buffer that the peer is about to fill, in as few steps as possible.

        Like ``receive_into``, but after the first bytes it waits for more, for a moment.
        """
        ...


class Connector(Protocol):
    """Opens transports."""

    def connect(self, host: str, port: int, *, timeout_ms: int) -> Transport:
        """Connect to a port of a host.

        Raises:
            ConnectFailed: no connection; names the address and the reason.
        """
        ...


@runtime_checkable
class StoppableConnector(Connector, Protocol):
    """A connector that can be stopped; ``TcpConnector`` is one."""

    def stop(self) -> None:
        """Interrupt connecting, and refuse later calls; open connections stay open. Thread: any."""
        ...

    def sibling(self) -> "StoppableConnector":
        """Return another connector with the same settings, stopped separately."""
        ...
