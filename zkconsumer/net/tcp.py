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
            count = self._socket.recv_into(buffer)
        except OSError as error:
            raise self._mapped(error) from error
        if not count and self._closed:
            # Our own shutdown looks like the end of the stream to a receive that it woke.
            raise ConnectionLost(f"{self._address}: closed by us")
        return count

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
        receive_buffer_bytes: SO_RCVBUF; None, 0 or -1 leaves the system's own.
    """

    def __init__(self, receive_buffer_bytes: int | None = None) -> None:
        self._receive_buffer_bytes = receive_buffer_bytes or 0

    def connect(self, host: str, port: int, *, timeout_ms: int) -> TcpTransport:
        """See ``Connector``. Every address of the host is tried in turn."""
        address = f"{host}:{port}"
        failure: OSError | UnicodeError | OverflowError | None = None
        try:
            for family, kind, protocol, _, target in socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            ):
                try:
                    connected = self._connect(
                        socket.socket(family, kind, protocol), target, timeout_ms
                    )
                    return TcpTransport(connected, address)
                except OSError as error:
                    failure = error
        except (OSError, UnicodeError, OverflowError) as error:
            failure = error
        raise ConnectFailed(f"{address}: can't connect: {failure}") from failure

    def _connect(
        self, unconnected: socket.socket, target: "socket._RetAddress", timeout_ms: int
    ) -> socket.socket:
        try:
            unconnected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            unconnected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if self._receive_buffer_bytes > 0:
                # Before connecting: the window that both sides agree on depends on it.
                unconnected.setsockopt(
                    socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer_bytes
                )
            unconnected.settimeout(max(timeout_ms, 1) / 1000)
            unconnected.connect(target)
        except BaseException:
            unconnected.close()
            raise
        return unconnected
