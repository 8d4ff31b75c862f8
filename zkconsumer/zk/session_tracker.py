"""Tracks which session is in force, and admits requests only into the one they are meant for.

The client library's own thread reports the state; user threads wait for a connection and send. The
lock makes one promise: a request that was admitted was queued before the library could know of the
session's end, so it goes out in that session or fails with it. None slips into the next. A
``fence`` is the id of the session that a request is meant for.
"""

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from zkconsumer.clock import Clock
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.session import SessionEvent, SessionListener, SessionState

T = TypeVar("T")
log = logging.getLogger(__name__)


class SessionTracker:
    """The state of one client's session. Thread: any.

    Args:
        name: the servers, for messages.
        clock: for waiting.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self._name = name
        self._clock = clock
        self._changed = threading.Condition()
        self._state = SessionState.SUSPENDED
        self._session_id = 0
        self._closed = False
        self._failure: str | None = None
        self._listeners: list[SessionListener] = []

    @property
    def session_id(self) -> int:
        """The session in force, or the last one; 0 before the first."""
        return self._session_id

    @property
    def connected(self) -> bool:
        """Whether the server responds, as far as known."""
        return self._state is SessionState.CONNECTED and not self._closed

    def add(self, listener: SessionListener) -> None:
        """Notify ``listener`` of every change from now on."""
        with self._changed:
            self._listeners.append(listener)

    def report(self, state: SessionState, session_id: int | None = None) -> None:
        """Record a change, and notify the listeners; only CONNECTED comes with a ``session_id``."""
        with self._changed:
            if self._closed or (self._session_id == 0 and session_id is None):
                return
            self._state = state
            self._session_id = self._session_id if session_id is None else session_id
            event = SessionEvent(state, self._session_id)
            listeners = list(self._listeners)
            self._changed.notify_all()
        log.info("ZooKeeper %s: session %#x %s", self._name, event.session_id, state)
        for listener in listeners:
            listener(event)

    def fail(self, reason: str) -> None:
        """Refuse all requests from now on, for this reason: the client can't recover."""
        with self._changed:
            self._failure = reason
            self._changed.notify_all()

    def close(self) -> bool:
        """Refuse all requests and stop notifying listeners; return False if closed already."""
        with self._changed:
            was_open, self._closed = not self._closed, True
            self._changed.notify_all()
            return was_open

    def await_connected(self, fence: int | None, deadline_ms: int) -> None:
        """Wait until the server responds in session ``fence`` (None: in any).

        Raises:
            RegistryError: it does not respond by ``deadline_ms``, or the client is closed.
            SessionLost: that session has ended.
        """
        with self._changed:
            while not self._admits(fence):
                left_ms = deadline_ms - self._clock.now_ms()
                if left_ms <= 0:
                    raise RegistryError(f"no connection to ZooKeeper {self._name}")
                self._changed.wait(left_ms / 1000)

    def send(self, fence: int, queue: Callable[[], T]) -> T:
        """Queue one request if session ``fence`` is in force and connected.

        ``queue`` must not block: the library's thread may be waiting for this lock.

        Raises:
            RegistryError: the connection is down, or the client is closed.
            SessionLost: that session has ended.
        """
        with self._changed:
            if not self._admits(fence):
                raise RegistryError(f"connection to ZooKeeper {self._name} lost")
            return queue()

    def _admits(self, fence: int | None) -> bool:
        if self._closed:
            raise RegistryError(f"the client of ZooKeeper {self._name} is closed")
        if self._failure is not None:
            raise RegistryError(f"ZooKeeper {self._name}: {self._failure}")
        over = self._state is SessionState.LOST or fence != self._session_id
        if fence is not None and over:
            raise SessionLost(f"ZooKeeper {self._name}: session {fence:#x} has ended")
        return self._state is SessionState.CONNECTED
