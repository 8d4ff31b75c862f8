"""kazoo's connection with our reads and writes, over a socket pair."""

import socket
import struct
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from kazoo.exceptions import ConnectionDropped
from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler
from kazoo.protocol.connection import CLOSE_RESPONSE

from zkconsumer.scope import ThreadScope
from zkconsumer.zk.kazoo_io import install

TIMEOUT_S = 0.05


class KazooClientDouble:
    """The part of kazoo's client that matters here: its request queue."""

    def __init__(self) -> None:
        self._queue: deque[bytes] = deque()


class LengthPrefixedConnection:
    """A connection whose responses are a length and a text; the text ``close`` ends it."""

    def __init__(self) -> None:
        self._socket, self.server = socket.socketpair()
        self._socket.setblocking(False)
        self._read_sock, self.wakeup = socket.socketpair()
        self.handler: Any = SequentialThreadingHandler()  # type: ignore[no-untyped-call]
        self.client = KazooClientDouble()
        self.responses: list[bytes] = []
        self.connected = 0

    @contextmanager
    def _socket_error_handling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ConnectionDropped(str(error)) from error

    def _connect(self) -> None:
        self.connected += 1

    def _read(self, length: int, timeout: float) -> bytes:
        raise AssertionError((length, timeout))

    def _write(self, message: bytes, timeout: float) -> None:
        raise AssertionError((message, timeout))

    def _read_socket(self, timeout: float) -> object:
        [length] = struct.unpack(">i", self._read(4, timeout))
        self.responses.append(self._read(length, timeout))
        return CLOSE_RESPONSE if self.responses[-1] == b"close" else None

    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:
        del read_timeout
        self._write(self.client._queue.popleft(), connect_timeout)
        self._read_sock.recv(1)

    def close(self) -> None:
        """Close all sockets."""
        for sock in (self._socket, self.server, self._read_sock, self.wakeup):
            sock.close()

    def queue(self, request: bytes) -> None:
        """Queue a request and signal it, as kazoo does."""
        self.client._queue.append(request)
        self.wakeup.send(b"\0")


def frame(text: bytes) -> bytes:
    """Encode a response."""
    return struct.pack(">i", len(text)) + text


@pytest.fixture
def connection() -> Iterator[LengthPrefixedConnection]:
    """A connection with our reads and writes installed."""
    connection = LengthPrefixedConnection()
    assert install(connection)
    with closing(connection):
        yield connection


def test_responses_that_came_together_are_read_together(
    connection: LengthPrefixedConnection,
) -> None:
    """One call reads three; the beginning of the fourth waits for its rest."""
    fourth = frame(b"four")
    connection.server.sendall(frame(b"one") + frame(b"") + frame(b"three") + fourth[:6])
    assert connection._read_socket(TIMEOUT_S) is None
    assert connection.responses == [b"one", b"", b"three"]
    connection.server.sendall(fourth[6:])
    assert connection._read_socket(TIMEOUT_S) is None
    assert connection.responses[3:] == [b"four"]


def test_a_response_larger_than_a_chunk_is_read_whole(connection: LengthPrefixedConnection) -> None:
    """It takes as many receives as needed."""
    large = bytes(range(256)) * 1000
    scope = ThreadScope("server")
    scope.spawn(
        "send", lambda: connection.server.sendall(frame(large) + frame(b"x")), stop=lambda: None
    )
    while len(connection.responses) < 2:
        connection._read_socket(5.0)
    assert connection.responses == [large, b"x"]
    assert scope.close(5_000) == []


def test_nothing_is_read_after_the_last_response(connection: LengthPrefixedConnection) -> None:
    """The response to a close ends the loop, whatever follows it."""
    connection.server.sendall(frame(b"close") + frame(b"more"))
    assert connection._read_socket(TIMEOUT_S) == CLOSE_RESPONSE
    assert connection.responses == [b"close"]


def test_a_new_connection_begins_with_an_empty_buffer(connection: LengthPrefixedConnection) -> None:
    """What was left of the old connection is not taken for a response of the new one."""
    connection.server.sendall(frame(b"close") + frame(b"old")[:5])
    connection._read_socket(TIMEOUT_S)
    connection._connect()
    connection.server.sendall(frame(b"new"))
    connection._read_socket(TIMEOUT_S)
    assert (connection.connected, connection.responses) == (1, [b"close", b"new"])


def test_a_silent_server_raises_kazoos_time_out(connection: LengthPrefixedConnection) -> None:
    """It does even in the middle of a response."""
    connection.server.sendall(frame(b"half")[:6])
    with pytest.raises(KazooTimeoutError):
        connection._read_socket(TIMEOUT_S)


def test_the_end_of_the_connection_raises_kazoos_error(
    connection: LengthPrefixedConnection,
) -> None:
    """A read and a write both raise ConnectionDropped."""
    connection.server.close()
    with pytest.raises(ConnectionDropped):
        connection._read_socket(TIMEOUT_S)
    with pytest.raises(ConnectionDropped):
        connection._write(b"x" * 10, TIMEOUT_S)


def test_a_server_that_reads_slowly_gets_all_of_it(connection: LengthPrefixedConnection) -> None:
    """A write waits for a full socket, up to the time-out."""
    message = b"m" * 2_000_000
    received = bytearray()

    def receive() -> None:
        while len(received) < len(message):
            received.extend(connection.server.recv(100_000))

    scope = ThreadScope("server")
    scope.spawn("receive", receive, stop=lambda: None)
    connection._write(message, 5.0)
    assert scope.close(5_000) == []
    assert bytes(received) == message


def test_a_server_that_does_not_read_raises_kazoos_time_out(
    connection: LengthPrefixedConnection,
) -> None:
    """A write does not wait for ever."""
    with pytest.raises(KazooTimeoutError):
        connection._write(b"m" * 5_000_000, TIMEOUT_S)


def test_all_signalled_requests_are_sent_at_once(connection: LengthPrefixedConnection) -> None:
    """A request that is queued but not signalled so far waits for its signal."""
    for number in range(5):
        connection.queue(b"%d" % number)
    connection.client._queue.append(b"late")
    connection._send_request(1.0, 1.0)
    assert connection.server.recv(100) == b"01234"
    assert list(connection.client._queue) == [b"late"]


def test_a_signal_without_a_request_is_consumed() -> None:
    """It is left of requests that failed with a connection; otherwise the loop would spin."""
    connection = LengthPrefixedConnection()

    def nothing_queued(read_timeout: float, connect_timeout: float) -> None:
        del read_timeout, connect_timeout
        connection._read_sock.recv(1)

    connection._send_request = nothing_queued  # type: ignore[method-assign]
    with closing(connection):
        assert install(connection)
        connection.wakeup.send(b"\0\0")
        connection._send_request(1.0, 1.0)
        connection._read_sock.setblocking(False)
        assert connection._read_sock.recv(10) == b"\0"
        with pytest.raises(BlockingIOError):
            connection.server.recv(1, socket.MSG_DONTWAIT)


def test_a_failed_send_restores_kazoos_wakeup_socket(
    connection: LengthPrefixedConnection,
) -> None:
    """The connection is dropped, as by any failed write, and kazoo gets its own parts back."""
    wakeup = connection._read_sock
    for text in (b"first", b"second"):
        connection.queue(text)
    connection.server.close()
    with pytest.raises(ConnectionDropped):
        connection._send_request(1.0, 1.0)
    assert connection._read_sock is wakeup
    with pytest.raises(ConnectionDropped):
        connection._write(b"at once", TIMEOUT_S)


def test_an_unknown_version_of_kazoo_is_not_changed() -> None:
    """If the inner parts to replace are missing, none is replaced."""
    unknown = object()
    assert install(unknown) is False
