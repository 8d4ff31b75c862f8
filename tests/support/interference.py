"""A ZooKeeper client between whose requests a test can act, to provoke races."""

from collections.abc import Callable, Sequence

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from zkconsumer.zk.session import ResponseListener, SessionListener
from zkconsumer.zk.store import (
    CLOSE_TIMEOUT_MS,
    MultiResult,
    Op,
    OpError,
    Watch,
    ZkStore,
    ZNode,
    ZNodeStat,
)

Interference = Callable[[str, int], None]
"""Called before each batch with its kind, and the number of earlier batches of that kind."""


class InterferedStore(ZkStore):
    """A store that calls ``interfere`` before every batch of its inner one."""

    def __init__(self, inner: MemoryZkStore, interfere: Interference) -> None:
        self.negotiated_timeout_ms = inner.negotiated_timeout_ms
        self.supports_multi = inner.supports_multi
        self._inner = inner
        self._interfere = interfere
        self._counts: dict[str, int] = {}

    @property
    def session_id(self) -> int:
        return self._inner.session_id

    @property
    def connected(self) -> bool:
        return self._inner.connected

    def on_session(self, listener: SessionListener) -> None:
        self._inner.on_session(listener)

    def on_response_sent(self, listener: ResponseListener) -> None:
        self._inner.on_response_sent(listener)

    def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        self._inner.close(timeout_ms)

    def _get(self, paths: Sequence[str], watch: Watch | None, fence: int) -> list[ZNode | None]:
        self._before("get")
        return self._inner._get(paths, watch, fence)

    def _children(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[list[str] | None]:
        self._before("children")
        return self._inner._children(paths, watch, fence)

    def _server_children(self, paths: Sequence[str], fence: int) -> list[list[str] | None]:
        self._before("server_children")
        return self._inner._server_children(paths, fence)

    def _exists(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[ZNodeStat | None]:
        self._before("exists")
        return self._inner._exists(paths, watch, fence)

    def _write(self, ops: Sequence[Op], fence: int) -> list[OpError | None]:
        self._before("write")
        return self._inner._write(ops, fence)

    def _multi(self, batches: Sequence[Sequence[Op]], fence: int) -> list[MultiResult]:
        self._before("multi")
        return self._inner._multi(batches, fence)

    def _before(self, kind: str) -> None:
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        self._interfere(kind, number)


def interfered(server: MemoryZkServer, interfere: Interference) -> ZkStore:
    """Return a new client of ``server`` with interference."""
    return InterferedStore(server.connect(), interfere)
