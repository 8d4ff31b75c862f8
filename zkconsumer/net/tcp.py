"""TCP, the transport to real brokers; maps the errors of the operating system.

Socket options as the original sets them (Kafka 0.8.2.2 ``BlockingChannel``): no delay, keep-alive,
and a receive buffer of ``socket.receive.buffer.bytes`` for fetchers.
"""

import contextlib
import errno
import os
import select
import socket
import threading
from collections.abc import Iterator

from zkconsumer.errors import ConnectFailed, ConnectionLost, RequestTimedOut, TransportError
from zkconsumer.printable import printable


class TcpTransport:
    """A connected socket.

    One thread uses it, any may close it. The last user closes the descriptor: closed under a thread
    that is about to wait on it, its number could by then belong to another connection, and that
    thread would read from a stranger.
    """

    def __init__(self, connected: socket.socket, address: str) -> None:
        self._socket = connected
        self._address = address
        self._closed = False
        self._in_use = False
        # Reentrant: a signal handler that shuts down may interrupt a close.
        self._lock = threading.RLock()

    @property
    def address(self) -> str:
        """See ``Transport``."""
        return self._address

    def set_timeout_ms(self, timeout_ms: int) -> None:
        """See ``Transport``."""
        with self._use():
            self._socket.settimeout(max(timeout_ms, 1) / 1000)

    def send(self, data: bytes) -> None:
        """See ``Transport``."""
        with self._use():
            self._socket.sendall(data)

    def receive_into(self, buffer: memoryview) -> int:
        """See ``Transport``."""
        with self._use():
            count = self._socket.recv_into(buffer)
            if not count and self._closed:
                # Our own shutdown looks like the end of the stream to the receive that it wakes.
                raise ConnectionLost(f"{self._address}: closed by us")
            return count

    @contextlib.contextmanager
    def delegate(self) -> Iterator[int]:
        """Delegate the descriptor to non-blocking native code.

        It counts as in use meanwhile: ``close`` shuts the socket down, which the borrower sees as
        the end of the stream, but the number stays reserved until the borrower has released it.

        Raises:
            ConnectionLost: the socket is closed.
        """
        with self._use():
            yield self._socket.fileno()

    def close(self) -> None:
        """See ``Transport``. Shutting down is what wakes a blocked receive."""
        with self._lock:
            self._closed = True
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            if not self._in_use:
                self._socket.close()

    @contextlib.contextmanager
    def _use(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise ConnectionLost(f"{self._address}: closed by us")
            self._in_use = True
        try:
            yield
        except OSError as error:
            raise self._mapped(error) from error
        finally:
            self._end_use()

    def _end_use(self) -> None:
        with self._lock:
            self._in_use = False
            if self._closed:
                self._socket.close()

    def _mapped(self, error: OSError) -> TransportError:
        if isinstance(error, TimeoutError):
            return RequestTimedOut(f"{self._address}: no answer in time")
        reason = "closed by us" if self._closed else str(error)
        return ConnectionLost(f"{self._address}: {reason}")


class TcpConnector:
    """Connects over TCP.

    Args:
        receive_buffer_bytes: SO_RCVBUF; None, 0 or -1 keeps the system's default.
    """

    def __init__(self, receive_buffer_bytes: int | None = None) -> None:
        self._receive_buffer_bytes = receive_buffer_bytes or 0
        self._connecting: set[socket.socket] = set()
        self._stopped = False

    def stop(self) -> None:
        """Interrupt connecting, and refuse later calls; open connections live on. Thread: any.

        A machine that is gone never responds: without this, callers would wait for the time-out.
        """
        self._stopped = True
        for unconnected in list(self._connecting):
            with contextlib.suppress(OSError):
                unconnected.shutdown(socket.SHUT_RDWR)

    def twin(self) -> "TcpConnector":
        """Return another connector with the same settings, stopped separately."""
        return TcpConnector(self._receive_buffer_bytes)

    def connect(self, host: str, port: int, *, timeout_ms: int) -> TcpTransport:
        """See ``Connector``. Every address of the host is tried in turn."""
        address = f"{printable(host)}:{port}"
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
                # Before connecting: the negotiated window depends on it.
                unconnected.setsockopt(
                    socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer_bytes
                )
            self._connecting.add(unconnected)
            try:
                self._await_connected(unconnected, target, timeout_ms)
            finally:
                self._connecting.discard(unconnected)
        except BaseException:
            unconnected.close()
            raise
        return unconnected

    def _await_connected(
        self, unconnected: socket.socket, target: "socket._RetAddress", timeout_ms: int
    ) -> None:
        """Connect. ``stop`` sees the socket before this begins, and this sees ``stop`` after it."""
        unconnected.settimeout(0)
        code = unconnected.connect_ex(target)
        if code == errno.EINPROGRESS and not self._stopped:
            connected = select.poll()
            connected.register(unconnected, select.POLLOUT)
            if not connected.poll(max(timeout_ms, 1)):
                raise TimeoutError("timed out")
            code = unconnected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if self._stopped:
            raise ConnectionAbortedError("closed by us")
        if code:
            raise OSError(code, os.strerror(code))
