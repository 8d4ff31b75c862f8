"""Lets kazoo's connection read and write in large pieces, where it takes five system calls each.

kazoo's loop asks before every request, and twice for every answer, whether the socket is ready, and
reads an answer in two pieces. With thousands of requests on their way that is most of the time that
they take. Here the socket, which never blocks, is simply tried first; what it gives beyond the
answer at hand is kept, and the answers in it are taken without going round the loop. Requests that
are sent together go out in one piece.

Nothing else changes: the order, the time-outs, what is raised, and who wakes whom. It belongs to
``kazoo_store``, and leaves kazoo as it is when that has no such inner parts.
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
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_INNER_PARTS = (
    *("_read", "_write", "_read_socket", "_send_request", "_connect", "_read_sock"),
    *("_socket", "_socket_error_handling", "handler", "client"),
)


class BufferedIo:
    """The reading and writing of one kazoo connection. Thread: kazoo's connection thread only."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self._outgoing: bytearray | None = None
        self._connect_plainly: Callable[..., Any] = connection._connect  # noqa: SLF001
        self._read_one: Callable[..., Any] = connection._read_socket  # noqa: SLF001
        self._send_one: Callable[..., Any] = connection._send_request  # noqa: SLF001

    def connect(self, *args: Any) -> Any:
        """A new connection begins with nothing read."""
        self._buffer.clear()
        return self._connect_plainly(*args)

    def read(self, length: int, timeout: float) -> bytes:
        """Exactly ``length`` bytes.

        Raises:
            ConnectionDropped: the connection ended or broke.
            Exception: kazoo's time-out, where nothing came for ``timeout`` seconds.
        """
        while len(self._buffer) < length:
            self._receive(timeout)
        data = bytes(self._buffer[:length])
        del self._buffer[:length]
        return data

    def write(self, message: bytes | bytearray, timeout: float) -> None:
        """All of it, or with the other requests that are sent now; raises as ``read``."""
        if self._outgoing is not None:
            self._outgoing += message
            return
        rest = memoryview(message)
        with self._connection._socket_error_handling():  # noqa: SLF001
            while rest:
                try:
                    sent = self._connection._socket.send(rest)  # noqa: SLF001
                except _NOT_NOW:
                    self._await([], [self._connection._socket], timeout, "write")  # noqa: SLF001
                    continue
                rest = rest[sent:]

    def read_socket(self, timeout: float) -> Any:
        """Take the answer that is coming in, and all others that came with it."""
        while True:
            response = self._read_one(timeout)
            if response == kazoo_connection.CLOSE_RESPONSE or not self._holds_a_response():
                return response

    def send_requests(self, read_timeout: float, connect_timeout: float) -> None:
        """Send all that is queued, as far as its senders have rung; kazoo takes a ring for each.

        What can't be written breaks the connection, and with it fail all requests that have no
        answer, whether kazoo takes them for sent or not.
        """
        connection = self._connection
        wakeup = connection._read_sock  # noqa: SLF001
        rings = wakeup.recv(_MOST_AT_ONCE, socket.MSG_PEEK)
        queued = len(connection.client._queue)  # noqa: SLF001
        taken = _Taken()
        connection._read_sock = taken  # noqa: SLF001
        self._outgoing = outgoing = bytearray()
        try:
            for _ in range(max(1, min(len(rings), queued))):
                self._send_one(read_timeout, connect_timeout)
        finally:
            self._outgoing = None
            connection._read_sock = wakeup  # noqa: SLF001
            if taken.rings:
                wakeup.recv(taken.rings)
        self.write(outgoing, connect_timeout)

    def _receive(self, timeout: float) -> None:
        with self._connection._socket_error_handling():  # noqa: SLF001
            while True:
                sock = self._connection._socket  # noqa: SLF001
                try:
                    chunk = sock.recv(_CHUNK_BYTES)
                except _NOT_NOW:
                    self._await([sock], [], timeout, "read")
                    continue
                if not chunk:
                    raise ConnectionDropped("socket connection broken")
                self._buffer += chunk
                # TLS: what is decrypted already, no socket would tell of.
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


class _Taken:
    """Takes the place of the bell while requests are sent: counts the rings that kazoo takes."""

    def __init__(self) -> None:
        self.rings = 0

    def recv(self, count: int) -> bytes:
        """Take a ring."""
        self.rings += count
        return bytes(count)


def install(connection: Any) -> bool:
    """Let this connection read and write so; False where this kazoo is made otherwise."""
    there = all(hasattr(connection, part) for part in _INNER_PARTS)
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
    """The end of kazoo's socket pair at which senders ring for its thread; never blocks.

    The pair holds only so many rings, and those of requests that failed with a connection stay in
    it. A sender that waited for room would wait for kazoo's thread, which may be waiting for the
    lock that the sender holds, to tell of that very failure. A full pair rings already.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def send(self, data: bytes) -> int:
        """Ring."""
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        """See ``socket.close``."""
        self._socket.close()


def install_wakeup(connection: Any) -> None:
    """Let senders of this connection, once it is started, ring without ever waiting."""
    if isinstance(connection._write_sock, socket.socket):  # noqa: SLF001
        connection._write_sock = WakeupPipe(connection._write_sock)  # noqa: SLF001
