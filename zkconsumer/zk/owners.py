"""Owner nodes: who owns which partition. Claimed all or nothing, deleted only where they are ours.

Whose a node is, is judged by the session that made it (``ephemeralOwner``): the text alone can't
tell a node of this session from one that a dead session of the same process left behind. Scala
judges by text alone, and deletes without looking.
"""

from collections.abc import Mapping, Sequence

from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.zk.claim import ClaimAttempt, delete_own
from zkconsumer.zk.group_values import ClaimConflict, Claimed, Owner
from zkconsumer.zk.nodes import parse_owner
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import Watch, ZkStore


class PartitionOwners:
    """The owner nodes of one group. Thread: control only."""

    def __init__(self, store: ZkStore, paths: GroupPaths) -> None:
        self._store = store
        self._paths = paths
        self._known_parents: set[str] = set()

    def read(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Owner | None]:
        """Who owns each partition now."""
        nodes = self._store.get_many([self._paths.owner(tp) for tp in partitions])
        return {
            tp: None if node is None else Owner(parse_owner(node.data), node.ephemeral_owner)
            for tp, node in zip(partitions, nodes, strict=True)
        }

    def owned(self, topics: Sequence[str]) -> dict[str, frozenset[int]]:
        """Which partitions of each topic have an owner node, whosever it is."""
        listed = self._store.children_many([self._paths.owners(topic) for topic in topics])
        return {
            topic: frozenset(int(name) for name in names or () if name.isdecimal())
            for topic, names in zip(topics, listed, strict=True)
        }

    def watch(
        self, partitions: Sequence[TopicPartition], watch: Watch
    ) -> tuple[TopicPartition, ...]:
        """Watch owner nodes; gives the partitions that have no owner already."""
        stats = self._store.exists_many([self._paths.owner(tp) for tp in partitions], watch=watch)
        return tuple(tp for tp, stat in zip(partitions, stats, strict=True) if stat is None)

    def claim(
        self, assignment: Mapping[TopicPartition, ConsumerThreadId], session_id: int
    ) -> Claimed | ClaimConflict:
        """Create the owner nodes of all partitions, or of none."""
        topics = {tp.topic for tp in assignment}
        self._ensure_parents(topics)
        attempt = ClaimAttempt(self._store, self._texts(assignment), session_id)
        claimed = attempt.run()
        if not claimed and attempt.parents_missing:
            # Somebody cleaned up below /consumers since we last saw the parents.
            self._known_parents.clear()
            self._ensure_parents(topics)
            claimed = attempt.run()
        if claimed:
            return Claimed()
        owners = self.read(list(assignment))
        return ClaimConflict(
            {tp: owner for tp, owner in owners.items() if owner and owner.session_id != session_id}
        )

    def release(self, owned: Mapping[TopicPartition, ConsumerThreadId], session_id: int) -> None:
        """Delete the owner nodes that this session made with exactly these thread ids."""
        delete_own(self._store, self._texts(owned), session_id)

    def _texts(self, threads: Mapping[TopicPartition, ConsumerThreadId]) -> dict[str, bytes]:
        return {self._paths.owner(tp): str(thread).encode() for tp, thread in threads.items()}

    def _ensure_parents(self, topics: set[str]) -> None:
        parents = {self._paths.owners(topic) for topic in topics} - self._known_parents
        if parents:
            self._store.ensure_paths(sorted(parents))
            self._known_parents |= parents
