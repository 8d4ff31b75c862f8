"""Reads many nodes of ZooKeeper, so that one that can't be read does not hide the others.

A batch fails as a whole if the ACL of one node excludes us. So a failed batch is read again in
halves, down to the nodes that can't be read.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.values import Read, Unreadable
from zkconsumer.zk.store import ZkStore, ZNode, ZNodeStat

_MOST_AT_ONCE: Final = 4000
"""The maximum size of a batch, which takes about a third of a second: between two batches other
requests can use the connection, and the deadline is checked."""

T = TypeVar("T")


class NodeBatches:
    """Reads nodes for one part of a snapshot, until a deadline. Thread: one.

    All calls return one result for each path, in their order.

    Raises:
        RegistryError: ZooKeeper does not respond, or the deadline has passed.
    """

    def __init__(self, store: ZkStore, deadline: Deadline) -> None:
        self._store = store
        self._deadline = deadline

    def get(self, paths: Sequence[str]) -> list[Read[ZNode]]:
        """Return the nodes."""
        return self._read(self._store.get_many, paths)

    def children(self, paths: Sequence[str], *, as_listed: bool = False) -> list[Read[list[str]]]:
        """Return the names of the children, see ``ZkStore.children_many``."""
        return self._read(partial(self._store.children_many, as_listed=as_listed), paths)

    def listed(self, path: str, *, as_listed: bool = False) -> list[str]:
        """Return the names of the children of one node; none if it is absent.

        Raises:
            RegistryError: also if the node can't be read.
        """
        names = self.children([path], as_listed=as_listed)[0]
        if isinstance(names, Unreadable):
            raise RegistryError(names.reason)
        return names or []

    def stat(self, paths: Sequence[str]) -> list[Read[ZNodeStat]]:
        """Return the stats of the nodes, without their data."""
        return self._read(self._store.exists_many, paths)

    def _read(
        self, read: Callable[[Sequence[str]], list[T | None]], paths: Sequence[str]
    ) -> list[Read[T]]:
        found: list[Read[T]] = []
        for first in range(0, len(paths), _MOST_AT_ONCE):
            part = self._batch(read, paths[first : first + _MOST_AT_ONCE])
            found += part
        return found

    def check_time(self, following: str) -> None:
        """Check that there is time left.

        Args:
            following: what would be read next, for the error.

        Raises:
            RegistryError: the deadline has passed.
        """
        if self._deadline.is_over:
            raise RegistryError(
                f"ZooKeeper has not returned everything within {self._deadline.limit_ms} ms; the "
                f"next node was {following}"
            )

    def _batch(
        self, read: Callable[[Sequence[str]], list[T | None]], paths: Sequence[str]
    ) -> list[Read[T]]:
        self.check_time(paths[0])
        try:
            return [*read(paths)]
        except SessionLost:
            raise
        except RegistryError as error:
            if not self._store.connected or self._deadline.is_over:
                raise
            if len(paths) == 1:
                return [Unreadable(str(error))]
        middle = len(paths) // 2
        return [*self._batch(read, paths[:middle]), *self._batch(read, paths[middle:])]
