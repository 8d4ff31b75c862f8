"""One client of the in-memory ZooKeeper: its session, watches and requests.

See ``memory_zk`` for the server.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Protocol, TypeVar

from tests.fakes.memory_tree import MemoryTree, TreeEvent
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.session import ResponseListener, SessionListener
from zkconsumer.zk.store import MultiResult, Op, OpError, Watch, WatchEvent, ZNode, ZNodeStat

T = TypeVar("T")


class ClientServer(Protocol):
    """What a client needs of its server."""

    lock: threading.RLock
    tree: MemoryTree
    supports_multi: bool
    session_timeout_ms: int

    def changed(self, events: Sequence[TreeEvent]) -> None:
        """Call every watch that sees one of these events."""
        ...

    def close_session(self, client: "MemoryClient") -> None:
        """End a client's session at its request."""
        ...


class MemoryClient:
    """One client of the server (``RawClient``); the server's lock guards its state."""

    def __init__(self, server: ClientServer, session_id: int) -> None:
        self._server = server
        self.session_id = session_id
        self.connected = True
        self.expired = False
        self.closed = False
        self.lost_replies = 0
        self.requests: Counter[str] = Counter()
        self.listeners: list[SessionListener] = []
        self._data_watches: defaultdict[str, dict[Watch, None]] = defaultdict(dict)
        self._child_watches: defaultdict[str, dict[Watch, None]] = defaultdict(dict)

    @property
    def negotiated_timeout_ms(self) -> int:
        """See ``RawClient``."""
        return self._server.session_timeout_ms

    @property
    def supports_multi(self) -> bool:
        """See ``RawClient``."""
        return self._server.supports_multi

    def on_session(self, listener: SessionListener) -> None:
        """See ``RawClient``."""
        self.listeners.append(listener)

    def on_response_sent(self, listener: ResponseListener) -> None:
        """See ``RawClient``; never called: the connection is up, or known to be broken."""

    def get(self, paths: Sequence[str], watch: Watch | None, fence: int) -> list[ZNode | None]:
        """See ``RawClient``."""
        with self._server.lock:
            self._admit("get", len(paths), fence)
            nodes = [self._server.tree.get(path) for path in paths]
            self._leave(self._data_watches, _found(paths, nodes), watch)
        return self._reply(nodes)

    def children(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[list[str] | None]:
        """See ``RawClient``."""
        with self._server.lock:
            self._admit("children", len(paths), fence)
            names = [self._server.tree.children(path) for path in paths]
            self._leave(self._child_watches, _found(paths, names), watch)
        return self._reply(names)

    def server_children(self, paths: Sequence[str], fence: int) -> list[list[str] | None]:
        """See ``RawClient``; there is no chroot here."""
        return self.children(paths, None, fence)

    def exists(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[ZNodeStat | None]:
        """See ``RawClient``."""
        with self._server.lock:
            self._admit("exists", len(paths), fence)
            stats = [self._server.tree.stat(path) for path in paths]
            self._leave(self._data_watches, paths, watch)
        return self._reply(stats)

    def write(self, ops: Sequence[Op], fence: int) -> list[OpError | None]:
        """See ``RawClient``."""
        results = self._run([[op] for op in ops], fence, "write")
        return [result.errors[0] for result in results]

    def multi(self, batches: Sequence[Sequence[Op]], fence: int) -> list[MultiResult]:
        """See ``RawClient``."""
        return self._run(batches, fence, "multi")

    def close(self, timeout_ms: int) -> None:
        """See ``RawClient``."""
        del timeout_ms
        self._server.close_session(self)

    @property
    def has_watches(self) -> bool:
        """Whether it has watches that were not called yet (lock held)."""
        return bool(self._data_watches or self._child_watches)

    def take_watches(self, event: TreeEvent) -> list[Watch]:
        """Remove and return the watches that an event calls (lock held)."""
        seen: list[Watch] = []
        what, path = event.event, event.path
        if what is not WatchEvent.CHILD:
            seen += self._data_watches.pop(path, ())
        if what is WatchEvent.CHILD or what is WatchEvent.DELETED:
            seen += self._child_watches.pop(path, ())
        return seen

    def forget_watches(self) -> None:
        """Drop all watches (lock held)."""
        self._data_watches.clear()
        self._child_watches.clear()

    def _run(self, batches: Sequence[Sequence[Op]], fence: int, kind: str) -> list[MultiResult]:
        results: list[MultiResult] = []
        happened: list[TreeEvent] = []
        with self._server.lock:
            self._admit(kind, len(batches), fence)
            for ops in batches:
                result, events = self._server.tree.apply(ops, self.session_id)
                results.append(result)
                happened += events
        self._server.changed(happened)
        return self._reply(results)

    def _admit(self, kind: str, count: int, fence: int) -> None:
        if self.closed:
            raise RegistryError("the ZooKeeper client is closed")
        if fence != self.session_id:
            raise SessionLost(f"session {fence:#x} is over, {self.session_id:#x} is in force")
        if not self.connected:
            raise RegistryError("no connection to ZooKeeper (in-memory, disconnected)")
        self.requests[kind] += count

    def _reply(self, response: T) -> T:
        if self.lost_replies:
            self.lost_replies -= 1
            raise RegistryError("connection to ZooKeeper lost before the answer came")
        return response

    @staticmethod
    def _leave(
        watches: defaultdict[str, dict[Watch, None]], paths: Sequence[str], watch: Watch | None
    ) -> None:
        if watch is not None:
            for path in paths:
                watches[path][watch] = None


def _found(paths: Sequence[str], nodes: Sequence[object | None]) -> list[str]:
    return [path for path, node in zip(paths, nodes, strict=True) if node is not None]
