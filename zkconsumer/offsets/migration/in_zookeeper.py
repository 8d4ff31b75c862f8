"""A group's offsets in ZooKeeper, for tools that set them without owning partitions.

Writes are fenced by the versions of the nodes that were last read, see ``versioned``.
"""

from collections.abc import Collection
from typing import Final

from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import OffsetStorage
from zkconsumer.offsets.migration.versioned import VersionedNodes
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.topic_name import is_topic_name
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.nodes import parse_owner, parse_topic
from zkconsumer.zk.paths import BROKER_TOPICS, topic_path
from zkconsumer.zk.store import ZkStore


class ZookeeperGroupOffsets(VersionedNodes):
    """A ``GroupOffsetStore`` in ZooKeeper.

    Raises:
        ConfigError: the group id can't be part of a path.
    """

    name: Final = OffsetStorage.ZOOKEEPER

    def stored(self, topics: Collection[str] | None) -> dict[TopicPartition, FetchedOffset]:
        """See ``GroupOffsetStore``. Nodes that don't belong to a partition are skipped."""
        found = self._below("offsets")
        wanted = sorted(topic for topic in found if topics is None or topic in topics)
        partitions = [
            TopicPartition(topic, int(name))
            for topic in wanted
            if is_topic_name(topic)
            for name in found[topic]
            if name.isascii() and name.isdigit() and str(int(name)) == name
        ]
        return self.fetch(partitions)

    def members(self) -> list[str]:
        """See ``GroupOffsetStore``: registered members, and owners that are not registered."""
        ids = self._store.children_many([self._paths.ids])[0] or []
        owned = [
            TopicPartition(topic, int(name))
            for topic, names in sorted(self._below("owners").items())
            for name in names
            if name.isascii() and name.isdigit()
        ]
        nodes = self._store.get_many([self._paths.owner(tp) for tp in owned])
        owners: dict[str, list[str]] = {}
        for tp, node in zip(owned, nodes, strict=True):
            if node is None:
                continue
            thread = parse_owner(node.data)
            if not any(thread.startswith(f"{consumer_id}-") for consumer_id in ids):
                lasting = "" if node.ephemeral_owner else " by a node of no session: delete it"
                owners.setdefault(thread, []).append(f"{tp}{lasting}")
        return [
            *(f"{consumer_id} (registered in ZooKeeper)" for consumer_id in ids),
            *(f"{thread} (owns {', '.join(tps)})" for thread, tps in sorted(owners.items())),
        ]

    def _below(self, kind: str) -> dict[str, list[str]]:
        """Return the names of the nodes two levels below a node of the group, by their parent's."""
        root = f"{self._paths.root}/{kind}"
        topics = self._store.children_many([root])[0] or []
        names = self._store.children_many([f"{root}/{topic}" for topic in topics])
        return {topic: found or [] for topic, found in zip(topics, names, strict=True)}


def partitions_in(store: ZkStore) -> frozenset[TopicPartition]:
    """Return the cluster's partitions in ZooKeeper, without those of malformed topics.

    Raises:
        RegistryError: no response in time, or access denied.
    """
    names = store.children_many([BROKER_TOPICS])[0] or []
    topics = [name for name in names if is_topic_name(name)]
    found: set[TopicPartition] = set()
    nodes = store.get_many([topic_path(topic) for topic in topics])
    for topic, node in zip(topics, nodes, strict=True):
        numbers = () if node is None else parse_topic(node.data)
        if not isinstance(numbers, Malformed):
            found |= {TopicPartition(topic, number) for number in numbers}
    return frozenset(found)
