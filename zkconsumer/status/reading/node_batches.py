"""Reads many nodes of ZooKeeper, so that one that is refused does not hide the others.

A batch of a store fails as a whole: one node whose ACL keeps us out would be the end of it. So a
batch that fails is read again in halves, until what can't be read stands alone.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.read_nodes import Read, Unreadable
from zkconsumer.zk.store import ZkStore, ZNode, ZNodeStat

_MOST_AT_ONCE: Final = 4000
"""About a third of a second: between two batches others get their turn at the connection, and it
is seen whether the time is over."""

T = TypeVar("T")


class NodeBatches:
    """Reads, for one part of a snapshot, within its time. Thread: one.

    All calls give one response for each path, in their order.

    Raises:
        RegistryError: ZooKeeper does not answer, or the time is over.
    """

    def __init__(self, store: ZkStore, deadline: Deadline) -> None:
        self._store = store
        self._deadline = deadline

    def get(self, paths: Sequence[str]) -> list[Read[ZNode]]:
        """Return the nodes."""
        return self._read(self._store.get_many, paths)

    def children(self, paths: Sequence[str], *, as_listed: bool = False) -> list[Read[list[str]]]:
        """Return the names of the nodes below, see ``ZkStore.children_many``."""
        return self._read(partial(self._store.children_many, as_listed=as_listed), paths)

    def stat(self, paths: Sequence[str]) -> list[Read[ZNodeStat]]:
        """Return what is known about the nodes, without their data."""
        return self._read(self._store.exists_many, paths)

    def _read(
        self, read: Callable[[Sequence[str]], list[T | None]], paths: Sequence[str]
    ) -> list[Read[T]]:
        found: list[Read[T]] = []
        for first in range(0, len(paths), _MOST_AT_ONCE):
            part = self._batch(read, paths[first : first + _MOST_AT_ONCE])
            found += part
        return found

    def _batch(
        self, read: Callable[[Sequence[str]], list[T | None]], paths: Sequence[str]
    ) -> list[Read[T]]:
        if self._deadline.is_over:
            raise RegistryError(
                f"ZooKeeper has not given everything within {self._deadline.limit_ms} ms; "
                f"next was {paths[0]}"
            )
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
