"""Members that own partitions and commit offsets in ZooKeeper."""

from collections.abc import Iterable

from zkconsumer.model import ConsumerThreadId, OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.store import ZkStore


class OffsetOwner:
    """A member of group g that claims partitions, and commits their offsets as their owner.

    Args:
        store: the member's client.
        registry: the member's registry, which guards its commits.
        name: the member's name.
    """

    def __init__(self, store: ZkStore, registry: GroupRegistry, name: str) -> None:
        self.store = store
        self.registry = registry
        self.offsets = ZookeeperOffsetStore(store, "g", guard=registry)
        self._thread = ConsumerThreadId(f"g_{name}", 0)

    def claim(self, *partitions: TopicPartition) -> None:
        """Claim partitions, and read their committed offsets."""
        assert self.registry.claim(dict.fromkeys(partitions, self._thread)) is None
        self.offsets.fetch(partitions)

    def release(self, *partitions: TopicPartition) -> None:
        """Release partitions."""
        self.registry.release(dict.fromkeys(partitions, self._thread))

    def commit(self, tp: TopicPartition, offset: int, *, rewind: bool = False) -> str | None:
        """Commit one offset; return why it was refused, or None."""
        return self.offsets.commit({tp: OffsetAndMetadata(offset)}, rewind=rewind)[tp]

    def commit_all(self, partitions: Iterable[TopicPartition], offset: int) -> set[str | None]:
        """Commit the same offset for many partitions; return the set of all outcomes."""
        commits = dict.fromkeys(partitions, OffsetAndMetadata(offset))
        return set(self.offsets.commit(commits).values())

    def stored(self, tp: TopicPartition) -> int | None:
        """Return the committed offset."""
        return ZookeeperOffsetStore(self.store, "g").fetch([tp])[tp].offset
