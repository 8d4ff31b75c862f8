"""Makes kazoo's connection read and write in large pieces, with few system calls.

kazoo's loop checks before every request, and twice for every response, whether the socket is ready,
and reads a response in two pieces: five system calls. With thousands of requests in flight, these
take most of the time. Here the non-blocking socket is simply tried first; bytes beyond the current
response are kept, and the responses in them are read without another pass of the loop. Requests
that are sent together are written in one piece.

The order, the time-outs, the errors and the wake-ups stay as they are. This module is part of
``kazoo_store``; if kazoo lacks the internals used here, it leaves kazoo unchanged.
"""

import socket
import ssl
from collections.abc import Callable
from typing import Any

from kazoo.exceptions import ConnectionDropped
from kazoo.protocol import connection as kazoo_connection

_CHUNK_BYTES = 1 << 16
_LENGTH_BYTES = 4
_MOST_AT_ONCE = 500
_NOT_READY = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_INTERNALS = (
    *("_read", "_write", "_read_socket", "_send_request", "_connect", "_read_sock"),
    *("_socket", "_socket_error_handling", "handler", "client"),
)


class BufferedIo:
    """Reads and writes for one kazoo connection. Thread: kazoo's connection thread only."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self._outgoing: bytearray | None = None
        self._connect_plainly: Callable[..., Any] = connection._connect  # noqa: SLF001
        self._read_one: Callable[..., Any] = connection._read_socket  # noqa: SLF001
        self._send_one: Callable[..., Any] = connection._send_request  # noqa: SLF001

    def connect(self, *args: Any) -> Any:
        """Connect; a new connection begins with an empty buffer."""
        self._buffer.clear()
        return self._connect_plainly(*args)

    def read(self, length: int, timeout: float) -> bytes:
        """Read exactly ``length`` bytes.

        Raises:
            ConnectionDropped: the connection ended or broke.
            Exception: kazoo's time-out, if nothing came for ``timeout`` seconds.
        """
        while len(self._buffer) < length:
            self._receive(timeout)
        data = bytes(self._buffer[:length])
        del self._buffer[:length]
        return data

    def write(self, message: bytes | bytearray, timeout: float) -> None:
        """Write everything, or add it to the requests being sent; raises the errors of ``read``."""
        if self._outgoing is not None:
            self._outgoing += message
            return
        rest = memoryview(message)
        with self._connection._socket_error_handling():  # noqa: SLF001
            while rest:
                try:
                    sent = self._connection._socket.send(rest)  # noqa: SLF001
                except _NOT_READY:
                    self._await([], [self._connection._socket], timeout, "write")  # noqa: SLF001
                    continue
                rest = rest[sent:]

    def read_socket(self, timeout: float) -> Any:
        """Read the response that is coming in, and all others that came with it."""
        while True:
            response = self._read_one(timeout)
            if response == kazoo_connection.CLOSE_RESPONSE or not self._holds_a_response():
                return response

    def send_requests(self, read_timeout: float, connect_timeout: float) -> None:
        """Send all queued requests whose senders have woken kazoo, with one byte each.

        A failed write breaks the connection, and all requests without a response fail with it,
        whether kazoo counts them as sent or not.
        """
        connection = self._connection
        wakeup = connection._read_sock  # noqa: SLF001
        wakeups = wakeup.recv(_MOST_AT_ONCE, socket.MSG_PEEK)
        queued = len(connection.client._queue)  # noqa: SLF001
        consumed = _WakeupCounter()
        connection._read_sock = consumed  # noqa: SLF001
        self._outgoing = outgoing = bytearray()
        try:
            for _ in range(max(1, min(len(wakeups), queued))):
                self._send_one(read_timeout, connect_timeout)
        finally:
            self._outgoing = None
            connection._read_sock = wakeup  # noqa: SLF001
            if consumed.count:
                wakeup.recv(consumed.count)
        self.write(outgoing, connect_timeout)

    def _receive(self, timeout: float) -> None:
        with self._connection._socket_error_handling():  # noqa: SLF001
            while True:
                sock = self._connection._socket  # noqa: SLF001
                try:
                    chunk = sock.recv(_CHUNK_BYTES)
                except _NOT_READY:
                    self._await([sock], [], timeout, "read")
                    continue
                if not chunk:
                    raise ConnectionDropped("socket connection broken")
                self._buffer += chunk
                # TLS: the socket does not become readable for bytes that are decrypted already.
                if not isinstance(sock, ssl.SSLSocket) or not sock.pending():
                    return

    def _await(self, readers: list[Any], writers: list[Any], timeout: float, what: str) -> None:
        handler = self._connection.handler
        if not any(handler.select(readers, writers, [], timeout)):
            raise handler.timeout_exception(f"socket time-out during {what}")

    def _holds_a_response(self) -> bool:
        if len(self._buffer) < _LENGTH_BYTES:
            return False
        length = int.from_bytes(self._buffer[:_LENGTH_BYTES], "big", signed=True)
        return len(self._buffer) >= _LENGTH_BYTES + length


class _WakeupCounter:
    """Replaces the wake-up socket while requests are sent: counts the bytes that kazoo reads."""

    def __init__(self) -> None:
        self.count = 0

    def recv(self, count: int) -> bytes:
        """Count the bytes and return as many."""
        self.count += count
        return bytes(count)


def install(connection: Any) -> bool:
    """Make a connection use ``BufferedIo``; return False if this kazoo lacks the internals."""
    there = all(hasattr(connection, part) for part in _INTERNALS)
    if not there or not hasattr(kazoo_connection, "CLOSE_RESPONSE"):
        return False
    io = BufferedIo(connection)
    connection._connect = io.connect  # noqa: SLF001
    connection._read = io.read  # noqa: SLF001
    connection._write = io.write  # noqa: SLF001
    connection._read_socket = io.read_socket  # noqa: SLF001
    connection._send_request = io.send_requests  # noqa: SLF001
    return True


class WakeupPipe:
    """The end of kazoo's socket pair through which senders wake its thread; never blocks.

    The pair holds a limited number of bytes, and those of requests that failed with a connection
    stay in it. A sender that blocked would wait for kazoo's thread, which may be waiting for the
    lock that the sender holds, to report that failure. A full pair has woken the thread already.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def send(self, data: bytes) -> int:
        """Wake the thread."""
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        """See ``socket.close``."""
        self._socket.close()


def install_wakeup(connection: Any) -> None:
    """Make senders of this started connection wake its thread without ever blocking."""
    if isinstance(connection._write_sock, socket.socket):  # noqa: SLF001
        connection._write_sock = WakeupPipe(connection._write_sock)  # noqa: SLF001
