"""What the console consumer does to the nodes of its group, beside being a member."""

from collections.abc import Iterator
from contextlib import contextmanager

from zkconsumer.config import ConsumerConfig
from zkconsumer.errors import RegistryError
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import ZkStore


@contextmanager
def open_store(config: ConsumerConfig) -> Iterator[ZkStore]:
    """A session of its own in the ZooKeeper of a consumer, for as long as the context lasts."""
    store = kazoo_store.connect(
        config.zookeeper_connect,
        session_timeout_ms=config.zookeeper_session_timeout_ms,
        connection_timeout_ms=config.zookeeper_connection_timeout_ms,
    )
    try:
        yield store
    finally:
        store.close()


class GroupNodes:
    """Looks at a group's nodes in ZooKeeper, and deletes them.

    Args:
        store: the client to use.
        group_id: the group.
    """

    def __init__(self, store: ZkStore, group_id: str) -> None:
        self._store = store
        self._group_id = group_id
        self._paths = GroupPaths(group_id)

    def exist(self) -> bool:
        """Whether there is anything of the group."""
        return self._store.exists_many([self._paths.root]) != [None]

    def have_offsets(self) -> bool:
        """Whether the group stored offsets before."""
        return self._store.exists_many([f"{self._paths.root}/offsets"]) != [None]

    def delete(self) -> None:
        """Delete everything of the group: offsets, owners, registrations.

        Raises:
            RegistryError: the group has live members, who would lose what they own without
                noticing; or ZooKeeper fails.
        """
        members = self._store.children_many([self._paths.ids])[0]
        if members:
            raise RegistryError(
                f"the nodes of group {self._group_id} can't be deleted, it has live members: "
                f"stop {', '.join(members)} first"
            )
        for level in reversed(self._levels()):
            self._store.delete_many(level)

    def _levels(self) -> list[list[str]]:
        """All paths, the root first, then everything one step below it, and so on."""
        levels: list[list[str]] = []
        level = [self._paths.root]
        while level:
            levels.append(level)
            names = self._store.children_many(level)
            level = [
                f"{path}/{name}"
                for path, children in zip(level, names, strict=True)
                for name in children or ()
            ]
        return levels
