"""The calls that a ZooKeeper client must offer; ``CompoundStore`` makes a store of them.

Everything that takes several requests (a watch on a missing node, parents, set or create) is built
once above this protocol, so the real client and the in-memory one can't differ in it.
"""

from collections.abc import Sequence
from typing import Protocol

from zkconsumer.zk.store import MultiResult, Op, OpError, Watch, ZkClient, ZNode, ZNodeStat


class RawClient(ZkClient, Protocol):
    """One client: batches of plain ZooKeeper calls, each batch pipelined, fenced and bounded.

    ``fence`` is the session that must be in force for each request to be sent.

    Raises (every batch):
        SessionLost: another session, or none, is in force.
        RegistryError: no response in time, the connection broke, or a read was denied.
    """

    def get(self, paths: Sequence[str], watch: Watch | None, fence: int) -> list[ZNode | None]:
        """Read nodes; a watch is left only on those that exist."""
        ...

    def children(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[list[str] | None]:
        """Read names of children as listed; a watch is left only on nodes that exist."""
        ...

    def server_children(self, paths: Sequence[str], fence: int) -> list[list[str] | None]:
        """Read names of children of server paths, without the chroot."""
        ...

    def exists(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[ZNodeStat | None]:
        """Read the stats of nodes; a watch is left on all paths."""
        ...

    def write(self, ops: Sequence[Op], fence: int) -> list[OpError | None]:
        """Execute each operation on its own, in this order."""
        ...

    def multi(self, batches: Sequence[Sequence[Op]], fence: int) -> list[MultiResult]:
        """Execute each batch as one transaction, in this order."""
        ...

    def close(self, timeout_ms: int) -> None:
        """End the session; see ``ZkStore``."""
        ...
