"""Caches this session's owner nodes, and checks whether they still exist.

ZooKeeper counts how often a child of a node came or went. As long as the count of a topic's parent
is unchanged, apart from our own writes, no owner node of that topic was created or deleted: ours
still exist and are still ours. So one exists request for the parent replaces thousands of reads,
and is as fresh as they would be.

Only nodes of our own session are cached: those of others are read whenever needed. The *text* of
our own is assumed to be as we wrote it; a change by another tool goes unnoticed until a versioned
write fails, after which ``drop`` makes us read it again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from zkconsumer.model import TopicPartition
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import ZkStore, ZNode, ZNodeStat


@dataclass(slots=True)
class _Topic:
    """A topic's parent node, and those of its children that are ours.

    ``pzxid`` is None after our own write, until it is read.
    """

    czxid: int
    child_changes: int
    pzxid: int | None
    nodes: dict[TopicPartition, ZNode] = field(default_factory=dict)

    def holds(self, stat: ZNodeStat) -> bool:
        """Return whether no child has come or gone, by the node's present ``stat``."""
        same = (self.czxid, self.child_changes) == (stat.czxid, stat.child_changes)
        return same and self.pzxid in {None, stat.pzxid}


class OwnerMemory:
    """Caches the owner nodes of one session in one group. Thread: control only."""

    def __init__(self, store: ZkStore, paths: GroupPaths) -> None:
        self._store = store
        self._paths = paths
        self._topics: dict[str, _Topic] = {}

    def check(self, topics: Iterable[str]) -> None:
        """Read the topics' parents; forget the nodes of topics whose children have changed.

        Raises:
            RegistryError: no response in time, or access denied.
        """
        requested = list(dict.fromkeys(topics))
        stats = self._store.exists_many([self._paths.owners(topic) for topic in requested])
        for topic, stat in zip(requested, stats, strict=True):
            known = self._topics.pop(topic, None)
            if stat is None:
                continue
            if known is None or not known.holds(stat):
                known = _Topic(stat.czxid, stat.child_changes, stat.pzxid)
            known.pzxid = stat.pzxid
            self._topics[topic] = known

    def read(
        self, partitions: Sequence[TopicPartition], session_id: int
    ) -> dict[TopicPartition, ZNode | None]:
        """Return the owner nodes of these partitions; read only those that are not known for sure.

        Raises:
            RegistryError: no response in time, or access denied.
        """
        self.check(tp.topic for tp in partitions)
        known = {tp: self._known(tp, session_id) for tp in partitions}
        unknown = [tp for tp, node in known.items() if node is None]
        nodes = self._store.get_many([self._paths.owner(tp) for tp in unknown])
        for tp, node in zip(unknown, nodes, strict=True):
            known[tp] = node
            if node is not None and node.ephemeral_owner == session_id and tp.topic in self._topics:
                self._topics[tp.topic].nodes[tp] = node
        return known

    def has(self, tp: TopicPartition, session_id: int) -> bool:
        """Return whether the last ``check`` showed that our session owns this partition."""
        return self._known(tp, session_id) is not None

    def note_created(self, created: Mapping[TopicPartition, bytes], session_id: int) -> None:
        """Record our own creates since the last ``check``; nothing was deleted."""
        for tp, data in created.items():
            topic = self._topics.get(tp.topic)
            if topic is not None:
                topic.child_changes += 1
                topic.pzxid = None
                topic.nodes[tp] = ZNode(data=data, ephemeral_owner=session_id)

    def note_deleted(self, deleted: Collection[TopicPartition]) -> None:
        """Record our own deletes since the last ``check``; nothing was created."""
        for tp in deleted:
            topic = self._topics.get(tp.topic)
            if topic is not None:
                topic.child_changes += 1
                topic.pzxid = None
                topic.nodes.pop(tp, None)

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget these partitions: another client may have written to their nodes."""
        for tp in partitions:
            if tp.topic in self._topics:
                self._topics[tp.topic].nodes.pop(tp, None)

    def forget(self, topics: Iterable[str]) -> None:
        """Forget these topics: the outcome of a write is unknown."""
        for topic in topics:
            self._topics.pop(topic, None)

    def _known(self, tp: TopicPartition, session_id: int) -> ZNode | None:
        topic = self._topics.get(tp.topic)
        node = None if topic is None else topic.nodes.get(tp)
        return node if node is not None and node.ephemeral_owner == session_id else None
