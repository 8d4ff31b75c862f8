"""The console consumer's access to the nodes of its group, besides being a member."""

from collections.abc import Iterator
from contextlib import contextmanager

from zkconsumer.cli.formats.group_command import Deletion
from zkconsumer.cli.groups.removal import GroupRemoval
from zkconsumer.config import ConsumerConfig
from zkconsumer.errors import RegistryError
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import ZkStore


@contextmanager
def open_store(config: ConsumerConfig) -> Iterator[ZkStore]:
    """Open a separate ZooKeeper session for a consumer's group, and close it at the end."""
    store = kazoo_store.connect(
        config.zookeeper_connect,
        session_timeout_ms=config.zookeeper_session_timeout_ms,
        connection_timeout_ms=config.zookeeper_connection_timeout_ms,
        security=config.zookeeper_security,
    )
    try:
        yield store
    finally:
        store.close()


class GroupNodeAccess:
    """Checks and deletes a group's nodes in ZooKeeper."""

    def __init__(self, store: ZkStore, group_id: str) -> None:
        self._store = store
        self._group_id = group_id
        self._paths = GroupPaths(group_id)

    def exist(self) -> bool:
        """Return whether the group has any nodes."""
        return self._store.exists_many([self._paths.root]) != [None]

    def have_offsets(self) -> bool:
        """Return whether the group has committed offsets."""
        return self._store.exists_many([f"{self._paths.root}/offsets"]) != [None]

    def delete(self) -> None:
        """Delete everything of the group: offsets, owners, registrations.

        Raises:
            RegistryError: the group has live members, or a member joined meanwhile, whose owner
                nodes would be lost; or ZooKeeper fails.
        """
        removal = GroupRemoval(self._store, self._group_id)
        if removal.everything() is Deletion.ACTIVE:
            members = ", ".join(removal.members() or ())
            raise RegistryError(
                f"the nodes of group {self._group_id} can't be deleted, it has live members: "
                f"stop {members or 'them'} first"
            )
