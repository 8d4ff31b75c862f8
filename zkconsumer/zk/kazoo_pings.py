"""Sends our own pings on kazoo's connection; once one has its response, reports when it was sent.

A session lives for its time-out from the last request that reached the server. Once that request
has a response, we know when it was sent. kazoo pings every third of the time-out, if it has sent
nothing else, and does not report responses. That is too rare to know, within a third of the
time-out, that the session lives. So further pings are sent in between, on kazoo's own thread,
whatever else is sent: a server responds in order, so the responses can be matched.

kazoo's own pings, and its decision that a connection is broken, stay as they are. This module is
part of ``kazoo_store``; if kazoo lacks the internals used here, nothing is installed or reported.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from kazoo.protocol.connection import PING_XID
from kazoo.protocol.serialization import Connect, Ping, PingInstance

from zkconsumer.clock import Clock
from zkconsumer.zk.session import ResponseListener

PINGS_PER_SESSION: Final = 12
"""Pings per session time-out. Within a third of it four are due: one or two may be late."""

_INTERNALS = ("_submit", "_read_header", "_read_sock", "handler", "client")


class Pings:
    """Sends and matches the pings of one kazoo connection. Thread: its connection thread only.

    Args:
        connection: kazoo's connection.
        clock: for the times that are reported.
        received: called for each response: first to the connect request, then to pings.
    """

    def __init__(self, connection: Any, clock: Clock, received: ResponseListener) -> None:
        self._connection = connection
        self._clock = clock
        self._received = received
        self._unanswered: deque[int] = deque()
        self._connect_sent_ms = 0
        self._interval_ms = 0
        self._next_ms = 0
        self._write_timeout_s = 0.0
        self._select: Callable[..., Any] = connection.handler.select
        self._submit: Callable[..., Any] = connection._submit  # noqa: SLF001
        self._read_header: Callable[..., Any] = connection._read_header  # noqa: SLF001

    def connected(self, session_timeout_ms: int) -> None:
        """Record the response to the connect request; no ping is in flight."""
        self._unanswered.clear()
        self._interval_ms = max(1, session_timeout_ms // PINGS_PER_SESSION)
        self._next_ms = self._connect_sent_ms + self._interval_ms
        # The time that kazoo allows for writing its own pings.
        hosts = self._connection.client.hosts
        self._write_timeout_s = session_timeout_ms / 1000 / max(1, len(hosts))
        self._received(self._connect_sent_ms, self._interval_ms)

    def submit(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Record when a ping is sent, including kazoo's own."""
        if isinstance(request, Connect):
            self._connect_sent_ms = self._clock.now_ms()
        elif isinstance(request, Ping):
            self._unanswered.append(self._clock.now_ms())
        return self._submit(request, *args, **kwargs)

    def read_header(self, *args: Any, **kwargs: Any) -> Any:
        """Report a ping that got its response."""
        response = self._read_header(*args, **kwargs)
        if response[0].xid == PING_XID and self._unanswered:
            self._received(self._unanswered.popleft(), self._interval_ms)
        return response

    def select(self, readers: Any, writers: Any, errors: Any, timeout: float) -> Any:
        """Wait as kazoo's loop does between requests, and send pings that are due."""
        wakeup = self._connection._read_sock  # noqa: SLF001
        if wakeup is None or not any(reader is wakeup for reader in readers):
            return self._select(readers, writers, errors, timeout)
        until_ms = self._clock.now_ms() + int(timeout * 1000)
        while True:
            now_ms = self._clock.now_ms()
            if now_ms >= self._next_ms:
                self._next_ms = now_ms + self._interval_ms
                self.submit(PingInstance, self._write_timeout_s, PING_XID)
            wait_ms = max(0, min(until_ms, self._next_ms) - now_ms)
            ready = self._select(readers, writers, errors, wait_ms / 1000)
            if any(ready) or now_ms + wait_ms >= until_ms:
                return ready


def install(connection: Any, clock: Clock, received: ResponseListener) -> Pings | None:
    """Make this connection ping and report; return None if this kazoo lacks the internals.

    The caller must also call ``connected`` of the result for each connect response.
    """
    if not all(hasattr(connection, part) for part in _INTERNALS):
        return None
    pings = Pings(connection, clock, received)
    connection.handler.select = pings.select
    connection._submit = pings.submit  # noqa: SLF001
    connection._read_header = pings.read_header  # noqa: SLF001
    return pings
