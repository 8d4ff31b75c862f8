"""The network as the rest of the package sees it: connect, send, receive, close."""

from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable


class Transport(Protocol):
    """A byte stream to one address.

    Every method but ``close`` raises ``ConnectionLost`` when the peer is gone and
    ``RequestTimedOut`` when it makes no progress within the time-out, both naming the address.
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
        """Fill a part of ``buffer`` (not empty); return the number of bytes, 0 at end of stream."""
        ...

    def close(self) -> None:
        """Close; a thread blocked in it wakes with ``ConnectionLost``. Idempotent. Thread: any."""
        ...


@runtime_checkable
class HasDescriptor(Protocol):
    """A transport whose descriptor can be delegated; ``TcpTransport`` is one."""

    def delegate(self) -> AbstractContextManager[int]:
        """Return a context that yields the descriptor and keeps it valid."""
        ...


class Connector(Protocol):
    """Makes transports."""

    def connect(self, host: str, port: int, *, timeout_ms: int) -> Transport:
        """Connect.

        Raises:
            ConnectFailed: naming the address and the reason.
        """
        ...


@runtime_checkable
class StoppableConnector(Connector, Protocol):
    """A connector that can be stopped; ``TcpConnector`` is one."""

    def stop(self) -> None:
        """Interrupt connecting, and refuse later calls; open connections live on. Thread: any."""
        ...

    def twin(self) -> "StoppableConnector":
        """Return another connector with the same settings, stopped separately."""
        ...
