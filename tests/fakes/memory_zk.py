"""An in-memory ZooKeeper: several clients, sessions, ephemeral nodes, one-shot watches.

It passes the same contract suite as the real one. Nothing happens by itself and nothing depends
on time: sessions end by ``expire``, connections break by ``disconnect``. Watches and session
events are called at once, by the thread that caused them, or, with ``delivery="queued"``, wait in
a queue until a test or a simulation delivers them in any order. As with the real client, the state
itself changes at once: a client may be in a new session while the event of the old one's end is
still queued.
"""

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from tests.fakes.memory_client import MemoryZkStore
from tests.fakes.memory_tree import MemoryTree, TreeEvent
from zkconsumer.zk.session import SessionEvent, SessionListener, SessionState
from zkconsumer.zk.store import DeleteOp, Watch

__all__ = ["FIRST_SESSION_ID", "MemoryZkServer", "MemoryZkStore", "PendingDelivery"]

FIRST_SESSION_ID = 0x1_0000_0000_0001


class PendingDelivery(NamedTuple):
    """A queued notification of a client: what it is, and the call that delivers it."""

    session_id: int
    what: str
    call: Callable[[], None]


class MemoryZkServer:
    """The server, and control over its clients' connections and sessions. Thread: any.

    Args:
        supports_multi: False behaves like a server before 3.4.
        delivery: when watches and session events are called, see the module.
        wall_ms: the time for ctime and mtime; the epoch by default.
        session_timeout_ms: the timeout that clients see as negotiated; nothing ends by time.
    """

    def __init__(
        self,
        *,
        supports_multi: bool = True,
        delivery: Literal["immediate", "queued"] = "immediate",
        wall_ms: Callable[[], int] = lambda: 0,
        session_timeout_ms: int = 6000,
    ) -> None:
        self.supports_multi = supports_multi
        self.session_timeout_ms = session_timeout_ms
        self.lock = threading.RLock()
        self.tree = MemoryTree(wall_ms)
        self._queued = delivery == "queued"
        self._events: list[PendingDelivery] = []
        self._clients: list[MemoryZkStore] = []
        self._session_ids = itertools.count(FIRST_SESSION_ID)

    def connect(self) -> MemoryZkStore:
        """Return a new client with a session of its own."""
        with self.lock:
            client = MemoryZkStore(self, next(self._session_ids))
            self._clients.append(client)
        return client

    @property
    def pending(self) -> tuple[PendingDelivery, ...]:
        """The queued notifications, oldest first."""
        if not self._events:
            return ()
        with self.lock:
            return tuple(self._events)

    def deliver(self, index: int = 0) -> bool:
        """Deliver one queued notification; return False if there is none at that index."""
        with self.lock:
            if index >= len(self._events):
                return False
            events = self._events.pop(index)
        events.call()
        return True

    def deliver_all(self) -> int:
        """Deliver all notifications, also those queued meanwhile; return their number."""
        count = 0
        while self.deliver():
            count += 1
        return count

    def expire(self, session_id: int) -> None:
        """End a session: its nodes go now, its client is notified as soon as it is connected.

        A connected client is in a new session at once; a disconnected one after ``reconnect``.
        """
        client = self._client_of(session_id)
        self._end_session(session_id)
        with self.lock:
            client.expired = True
        if client.connected:
            self._drop(client)
            self._restore(client)

    def disconnect(self, session_id: int) -> None:
        """Break a client's connection: calls fail, watches are gone, the session lives on."""
        self._drop(self._client_of(session_id))

    def reconnect(self, session_id: int) -> int:
        """Let a client reconnect; return its session id, a new one if the old one expired."""
        client = self._client_of(session_id)
        self._restore(client)
        return client.session_id

    def close_session(self, client: MemoryZkStore) -> None:
        """Close a client's session: its ephemeral nodes go, and it gets no more notifications."""
        with self.lock:
            if client.closed:
                return
            client.closed, client.connected = True, False
            client.forget_watches()
            # Not `remove`: a signal handler may have closed it in the middle of this.
            self._clients = [other for other in self._clients if other is not client]
        self._end_session(client.session_id)

    def changed(self, events: Sequence[TreeEvent]) -> None:
        """Call every watch that sees one of these events."""
        for event in events:
            with self.lock:
                calls = [
                    (client, watch)
                    for client in self._clients
                    if client.has_watches
                    for watch in client.take_watches(event)
                ]
            for client, watch in calls:
                self._notify(client, f"{event.event} {event.path}", _watch_call(watch, event))

    def _client_of(self, session_id: int) -> MemoryZkStore:
        with self.lock:
            for client in self._clients:
                if client.session_id == session_id:
                    return client
        raise KeyError(f"no client is in session {session_id:#x}")

    def _end_session(self, session_id: int) -> None:
        with self.lock:
            doomed = [DeleteOp(path) for path in self.tree.owned_by(session_id)]
            _, events = self.tree.apply(doomed, session_id)
        self.changed(events)

    def _drop(self, client: MemoryZkStore) -> None:
        with self.lock:
            if not client.connected:
                return
            client.connected = False
            client.forget_watches()
        self._announce(client, SessionEvent(SessionState.SUSPENDED, client.session_id))

    def _restore(self, client: MemoryZkStore) -> None:
        with self.lock:
            if client.connected:
                return
            lost_id = client.session_id if client.expired else None
            if client.expired:
                client.session_id, client.expired = next(self._session_ids), False
            client.connected = True
        if lost_id is not None:
            self._announce(client, SessionEvent(SessionState.LOST, lost_id))
        self._announce(client, SessionEvent(SessionState.CONNECTED, client.session_id))

    def _announce(self, client: MemoryZkStore, event: SessionEvent) -> None:
        for listener in list(client.listeners):
            self._notify(client, event.state, _listener_call(listener, event))

    def _notify(self, client: MemoryZkStore, what: str, call: Callable[[], None]) -> None:
        if not self._queued:
            call()
            return
        with self.lock:
            self._events.append(PendingDelivery(client.session_id, what, call))


def _watch_call(watch: Watch, event: TreeEvent) -> Callable[[], None]:
    return lambda: watch(event.path, event.event)


def _listener_call(listener: SessionListener, event: SessionEvent) -> Callable[[], None]:
    return lambda: listener(event)
