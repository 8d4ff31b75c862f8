"""TCP, the transport of real brokers. The errors of the operating system end here.

Socket options as the original sets them (Kafka 0.8.2.2 ``BlockingChannel``): no delay, keep-alive,
and a receive buffer of ``socket.receive.buffer.bytes`` for fetchers.
"""

import contextlib
import socket

from zkconsumer.errors import ConnectFailed, ConnectionLost, RequestTimedOut, TransportError


class TcpTransport:
    """A connected socket."""

    def __init__(self, connected: socket.socket, address: str) -> None:
        self._socket = connected
        self._address = address
        self._closed = False

    @property
    def address(self) -> str:
        """See ``Transport``."""
        return self._address

    def set_timeout_ms(self, timeout_ms: int) -> None:
        """See ``Transport``."""
        try:
            self._socket.settimeout(max(timeout_ms, 1) / 1000)
        except OSError as error:
            raise self._mapped(error) from error

    def send(self, data: bytes) -> None:
        """See ``Transport``."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._mapped(error) from error

    def receive_into(self, buffer: memoryview) -> int:
        """See ``Transport``."""
        try:
            return self._socket.recv_into(buffer)
        except OSError as error:
            raise self._mapped(error) from error

    def close(self) -> None:
        """See ``Transport``. Shutting down first is what wakes a blocked receive."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _mapped(self, error: OSError) -> TransportError:
        if isinstance(error, TimeoutError):
            return RequestTimedOut(f"{self._address}: no answer in time")
        reason = "closed by us" if self._closed else str(error)
        return ConnectionLost(f"{self._address}: {reason}")


class TcpConnector:
    """Connects over TCP.

    Args:
        receive_buffer_bytes: SO_RCVBUF; None leaves the system's own.
    """

    def __init__(self, receive_buffer_bytes: int | None = None) -> None:
        self._receive_buffer_bytes = receive_buffer_bytes

    def connect(self, host: str, port: int, *, timeout_ms: int) -> TcpTransport:
        """See ``Connector``."""
        address = f"{host}:{port}"
        try:
            connected = socket.create_connection((host, port), timeout=max(timeout_ms, 1) / 1000)
        except (OSError, UnicodeError, OverflowError) as error:
            raise ConnectFailed(f"{address}: can't connect: {error}") from error
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self._receive_buffer_bytes:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer_bytes)
        return TcpTransport(connected, address)
