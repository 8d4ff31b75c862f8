"""One client of the in-memory ZooKeeper: its session, watches and requests.

See ``memory_zk`` for the server.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from tests.fakes.memory_tree import TreeEvent
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.session import ResponseListener, SessionListener
from zkconsumer.zk.store import (
    CLOSE_TIMEOUT_MS,
    MultiResult,
    Op,
    OpError,
    Watch,
    WatchEvent,
    ZkStore,
    ZNode,
    ZNodeStat,
)

if TYPE_CHECKING:
    from tests.fakes.memory_zk import MemoryZkServer

T = TypeVar("T")


class MemoryZkStore(ZkStore):
    """One client of the server, which counts its requests; the server's lock guards its state.

    Attributes:
        requests: the number of requests by kind; a transaction counts as one.
    """

    session_id: int = 0
    connected: bool = True

    def __init__(self, server: "MemoryZkServer", session_id: int) -> None:
        self.server = server
        self.negotiated_timeout_ms = server.session_timeout_ms
        self.supports_multi = server.supports_multi
        self.session_id = session_id
        self.connected = True
        self.expired = False
        self.closed = False
        self.lost_replies = 0
        self.requests: Counter[str] = Counter()
        self.listeners: list[SessionListener] = []
        self._data_watches: defaultdict[str, dict[Watch, None]] = defaultdict(dict)
        self._child_watches: defaultdict[str, dict[Watch, None]] = defaultdict(dict)

    def lose_replies(self, batches: int = 1) -> None:
        """Apply the next batches on the server, but let them fail for the caller."""
        self.lost_replies += batches

    def on_session(self, listener: SessionListener) -> None:
        """See ``ZkStore``."""
        self.listeners.append(listener)

    def on_response_sent(self, listener: ResponseListener) -> None:
        """See ``ZkStore``; never called: the connection is up, or known to be broken."""

    def _get(self, paths: Sequence[str], watch: Watch | None, fence: int) -> list[ZNode | None]:
        """See ``ZkStore``."""
        with self.server.lock:
            self._admit("get", len(paths), fence)
            nodes = [self.server.tree.get(path) for path in paths]
            self._leave(self._data_watches, _found(paths, nodes), watch)
        return self._reply(nodes)

    def _children(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[list[str] | None]:
        """See ``ZkStore``."""
        with self.server.lock:
            self._admit("children", len(paths), fence)
            names = [self.server.tree.children(path) for path in paths]
            self._leave(self._child_watches, _found(paths, names), watch)
        return self._reply(names)

    def _server_children(self, paths: Sequence[str], fence: int) -> list[list[str] | None]:
        """See ``ZkStore``; there is no chroot here."""
        return self._children(paths, None, fence)

    def _exists(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[ZNodeStat | None]:
        """See ``ZkStore``."""
        with self.server.lock:
            self._admit("exists", len(paths), fence)
            stats = [self.server.tree.stat(path) for path in paths]
            self._leave(self._data_watches, paths, watch)
        return self._reply(stats)

    def _write(self, ops: Sequence[Op], fence: int) -> list[OpError | None]:
        """See ``ZkStore``."""
        results = self._run([[op] for op in ops], fence, "write")
        return [result.errors[0] for result in results]

    def _multi(self, batches: Sequence[Sequence[Op]], fence: int) -> list[MultiResult]:
        """See ``ZkStore``."""
        return self._run(batches, fence, "multi")

    def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        """See ``ZkStore``."""
        del timeout_ms
        self.server.close_session(self)

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
        with self.server.lock:
            self._admit(kind, len(batches), fence)
            for ops in batches:
                result, events = self.server.tree.apply(ops, self.session_id)
                results.append(result)
                happened += events
        self.server.changed(happened)
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
