"""A ZooKeeper client between whose requests a test can act, to provoke races."""

from collections.abc import Callable, Sequence

from tests.fakes.memory_client import MemoryClient
from tests.fakes.memory_zk import MemoryZkServer
from zkconsumer.zk.session import ResponseListener, SessionListener
from zkconsumer.zk.store import MultiResult, Op, OpError, Watch, ZkStore, ZNode, ZNodeStat

Interference = Callable[[str, int], None]
"""Called before each batch with its kind, and the number of earlier batches of that kind."""


class InterferedClient:
    """A ``RawClient`` that calls ``interfere`` before every batch."""

    def __init__(self, inner: MemoryClient, interfere: Interference) -> None:
        self._inner = inner
        self._interfere = interfere
        self._counts: dict[str, int] = {}

    @property
    def session_id(self) -> int:
        return self._inner.session_id

    @property
    def negotiated_timeout_ms(self) -> int:
        return self._inner.negotiated_timeout_ms

    @property
    def connected(self) -> bool:
        return self._inner.connected

    @property
    def supports_multi(self) -> bool:
        return self._inner.supports_multi

    def on_session(self, listener: SessionListener) -> None:
        self._inner.on_session(listener)

    def on_response_sent(self, listener: ResponseListener) -> None:
        self._inner.on_response_sent(listener)

    def get(self, paths: Sequence[str], watch: Watch | None, fence: int) -> list[ZNode | None]:
        self._before("get")
        return self._inner.get(paths, watch, fence)

    def children(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[list[str] | None]:
        self._before("children")
        return self._inner.children(paths, watch, fence)

    def server_children(self, paths: Sequence[str], fence: int) -> list[list[str] | None]:
        self._before("server_children")
        return self._inner.server_children(paths, fence)

    def exists(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[ZNodeStat | None]:
        self._before("exists")
        return self._inner.exists(paths, watch, fence)

    def write(self, ops: Sequence[Op], fence: int) -> list[OpError | None]:
        self._before("write")
        return self._inner.write(ops, fence)

    def multi(self, batches: Sequence[Sequence[Op]], fence: int) -> list[MultiResult]:
        self._before("multi")
        return self._inner.multi(batches, fence)

    def close(self, timeout_ms: int) -> None:
        self._inner.close(timeout_ms)

    def _before(self, kind: str) -> None:
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        self._interfere(kind, number)


def interfered(server: MemoryZkServer, interfere: Interference) -> ZkStore:
    """Return a new client of ``server`` with interference."""
    return ZkStore(InterferedClient(server.connect()._memory, interfere))
