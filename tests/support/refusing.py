"""A ZooKeeper client that is denied some nodes, as by ACLs, or whose reads a test can delay."""

from collections import Counter
from collections.abc import Callable, Sequence

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.interference import InterferedStore
from zkconsumer.zk.store import ReadDenied, Watch, ZNode, ZNodeStat


class RefusingStore(InterferedStore):
    """A client that fails a whole batch if one of its paths is refused.

    Attributes:
        refuses: whether reading a path is denied.
        read: the number of nodes read by kind, in successful batches.
        batches: the number of batches by kind.
        before: called before each batch, with its paths.
    """

    def __init__(self, server: MemoryZkServer) -> None:
        super().__init__(server.connect(), lambda *_: None)
        self.refuses: Callable[[str], bool] = lambda _: False
        self.read: Counter[str] = Counter()
        self.batches: Counter[str] = Counter()
        self.before: Callable[[Sequence[str]], None] = lambda _: None

    def _get(self, paths: Sequence[str], watch: Watch | None, fence: int) -> list[ZNode | None]:
        self._check("get", paths)
        return super()._get(paths, watch, fence)

    def _children(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[list[str] | None]:
        self._check("children", paths)
        return super()._children(paths, watch, fence)

    def _server_children(self, paths: Sequence[str], fence: int) -> list[list[str] | None]:
        self._check("server_children", paths)
        return super()._server_children(paths, fence)

    def _exists(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[ZNodeStat | None]:
        self._check("exists", paths)
        return super()._exists(paths, watch, fence)

    def _check(self, kind: str, paths: Sequence[str]) -> None:
        self.before(paths)
        self.batches[kind] += 1
        refused = next((path for path in paths if self.refuses(path)), None)
        if refused is not None:
            raise ReadDenied(f"could not read {refused}: access denied (look at the node's ACL)")
        self.read[kind] += len(paths)
