"""The whole of the network as the rest sees it: connect, send, receive, close."""

from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable


class Transport(Protocol):
    """A byte stream to one address.

    Every method but ``close`` raises ``ConnectionLost`` when the peer is gone and
    ``RequestTimedOut`` when it does not move within the time-out, both naming the address.
    """

    @property
    def address(self) -> str:
        """``host:port``, for error messages."""
        ...

    def set_timeout_ms(self, timeout_ms: int) -> None:
        """How long the following sends and receives may stand still each."""
        ...

    def send(self, data: bytes) -> None:
        """Send all of it."""
        ...

    def receive_into(self, buffer: memoryview) -> int:
        """Fill a part of ``buffer`` (not empty); how many bytes came, 0 at the end of stream."""
        ...

    def close(self) -> None:
        """Close; a thread blocked in it wakes with ``ConnectionLost``. Idempotent. Thread: any."""
        ...


@runtime_checkable
class HasDescriptor(Protocol):
    """A transport with a descriptor that it can lend; ``TcpTransport`` is one."""

    def delegate(self) -> AbstractContextManager[int]:
        """Return the descriptor, for as long as the context lasts."""
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
        """Break off connecting, and connect no more; what is connected lives on. Thread: any."""
        ...

    def twin(self) -> "StoppableConnector":
        """Return another one of the same settings, that is stopped apart."""
        ...
