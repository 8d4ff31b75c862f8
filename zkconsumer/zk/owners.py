"""Claims owner nodes, which name a partition's thread: all or nothing. Deletes only our own.

Ownership is judged by the session that created the node (``ephemeralOwner``): the text alone can't
distinguish a node of this session from one left by a dead session of the same process. Scala judges
by text alone, and deletes without checking.
"""

from collections.abc import Iterable, Mapping, Sequence

from zkconsumer.errors import RegistryError
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.zk.claim import ClaimAttempt, delete_own
from zkconsumer.zk.group_values import ClaimConflict, Owner
from zkconsumer.zk.nodes import parse_owner
from zkconsumer.zk.owner_memory import OwnerMemory
from zkconsumer.zk.paths import GroupPaths, is_number
from zkconsumer.zk.store import Watch, ZkStore, ZNode

HELD_SHOWN = 32
"""Limit of blocking partitions whose owners a conflict reports."""

MAX_TRIES = 3


class PartitionOwners:
    """The owner nodes of one group: the part of ``GroupRegistry`` that claims and releases.

    Thread: control only.
    """

    def __init__(self, store: ZkStore, paths: GroupPaths) -> None:
        self._store = store
        self._paths = paths
        self._registered_session: int | None = None
        self._memory = OwnerMemory(store, paths)
        self._known_parents: set[str] = set()
        self._blocked_by: dict[TopicPartition, str] = {}

    @property
    def session_id(self) -> int:
        """The session that fences every write: the registration's, once there is one.

        Pass it as the fence of other writes that must not outlive the ownership (offset commits).
        """
        registered = self._registered_session
        return self._store.session_id if registered is None else registered

    def owner_path(self, tp: TopicPartition) -> str:
        """Return the path of a partition's owner node, for messages."""
        return self._paths.owner(tp)

    def read_owners(
        self, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, Owner | None]:
        """Return the present owner of each of these partitions, or None."""
        return self._read(partitions, self.session_id)

    def owner_nodes(
        self, partitions: Sequence[TopicPartition], *, refresh: bool = False
    ) -> dict[TopicPartition, ZNode | None]:
        """Return the present owner nodes, for writes that depend on them.

        Args:
            partitions: the partitions.
            refresh: read all of them; else skip those that are certainly unchanged.
        """
        if refresh:
            self._memory.drop(partitions)
        return self._memory.read(partitions, self.session_id)

    def still_ours(self, partitions: Sequence[TopicPartition]) -> frozenset[TopicPartition]:
        """Read the owners of these partitions; return those that ``session_id`` owns."""
        ours = self.session_id
        owners = self._read(partitions, ours) if partitions else {}
        return frozenset(tp for tp, owner in owners.items() if owner and owner.session_id == ours)

    def owned_partitions(self, topics: Sequence[str]) -> dict[str, frozenset[int]]:
        """Return the partitions of these topics that have an owner; one read per topic."""
        listed = self._store.children_many([self._paths.owners(topic) for topic in topics])
        return {
            topic: frozenset(int(name) for name in names or () if is_number(name))
            for topic, names in zip(topics, listed, strict=True)
        }

    def watch_owners(
        self, partitions: Sequence[TopicPartition], watch: Watch
    ) -> tuple[TopicPartition, ...]:
        """Watch owner nodes; return the partitions that already have no owner.

        If the last conflict showed several of them with the same owner, only the last is watched: a
        claim needs all of them, and an owner that releases them one by one would otherwise wake us,
        and we would disturb it, once per partition.
        """
        last = {self._blocked_by.get(tp, f"{tp}"): tp for tp in partitions}
        watched = list(last.values())
        stats = self._store.exists_many([self._paths.owner(tp) for tp in watched], watch=watch)
        return tuple(tp for tp, stat in zip(watched, stats, strict=True) if stat is None)

    def claim(self, assignment: Mapping[TopicPartition, ConsumerThreadId]) -> ClaimConflict | None:
        """Become the owner of all these partitions, or of none besides those that were ours before.

        A conflict with nodes that are gone by the time they are read is retried at once: there is
        no owner to wait for.

        Returns:
            Why none was claimed; None: all are ours.
        """
        session_id = self.session_id
        result = self._claim_once(assignment, session_id)
        for _ in range(MAX_TRIES - 1):
            if result is None or result.held:
                break
            result = self._claim_once(assignment, session_id)
        return result

    def _claim_once(
        self, assignment: Mapping[TopicPartition, ConsumerThreadId], session_id: int
    ) -> ClaimConflict | None:
        topics = {tp.topic for tp in assignment}
        self._ensure_parents(topics)
        self._memory.check(topics)
        try:
            attempt = self._attempt(assignment, session_id)
            if not attempt.claimed and attempt.parents_missing:
                # Another client cleaned up below /consumers since we last saw the parents.
                self._known_parents.clear()
                self._ensure_parents(topics)
                self._memory.check(topics)
                attempt = self._attempt(assignment, session_id)
        except RegistryError:
            self._memory.forget(topics)
            raise
        if attempt.claimed:
            return None
        if attempt.rolled_back:
            self._memory.forget(topics)
        return ClaimConflict(self._blocking_owners(list(assignment), session_id))

    def release(self, owned: Mapping[TopicPartition, ConsumerThreadId]) -> None:
        """Release partitions: delete the nodes of this session with exactly these thread ids.

        A missing node, or another session's or thread's, is left as it is.
        """
        session_id = self.session_id
        topics = {tp.topic for tp in owned}
        by_path = {self._paths.owner(tp): tp for tp in owned}
        nodes = self._memory.read(list(owned), session_id)
        try:
            deleted = delete_own(
                self._store,
                self._texts(owned),
                {path: nodes[tp] for path, tp in by_path.items()},
                session_id,
            )
        except RegistryError:
            self._memory.forget(topics)
            raise
        self._memory.note_deleted([by_path[path] for path in deleted])

    def _attempt(
        self, assignment: Mapping[TopicPartition, ConsumerThreadId], session_id: int
    ) -> ClaimAttempt:
        attempt = ClaimAttempt(self._store, self._texts(assignment), session_id)
        attempt.run()
        if attempt.claimed:
            if attempt.replaced:
                self._memory.forget({tp.topic for tp in assignment})
            created = {tp: str(thread).encode() for tp, thread in assignment.items()}
            paths = set(attempt.created)
            self._memory.note_created(
                {tp: text for tp, text in created.items() if self._paths.owner(tp) in paths},
                session_id,
            )
        return attempt

    def _blocking_owners(
        self, wanted: Sequence[TopicPartition], session_id: int
    ) -> dict[TopicPartition, Owner]:
        """Return some of the partitions that others hold, spread evenly, the last one included.

        Thousands of partitions have few owners, and reading all nodes would take longer than the
        owners need to release them.
        """
        held: dict[TopicPartition, Owner] = {}
        if len(wanted) > HELD_SHOWN:
            owned = self.owned_partitions(list(dict.fromkeys(tp.topic for tp in wanted)))
            taken = [
                tp
                for tp in wanted
                if tp.partition in owned[tp.topic] and not self._memory.has(tp, session_id)
            ]
            step = max(1, -(-len(taken) // HELD_SHOWN))
            held = self._foreign(list(reversed(taken[::-step])), session_id)
        held = held or self._foreign(wanted, session_id)
        # Persistent nodes belong to no session, and are not released together.
        self._blocked_by = {tp: owner.thread_id for tp, owner in held.items() if owner.session_id}
        return held

    def _foreign(
        self, partitions: Sequence[TopicPartition], session_id: int
    ) -> dict[TopicPartition, Owner]:
        owners = self._read(partitions, session_id)
        return {
            tp: owner for tp, owner in owners.items() if owner and owner.session_id != session_id
        }

    def _read(
        self, partitions: Sequence[TopicPartition], session_id: int
    ) -> dict[TopicPartition, Owner | None]:
        nodes = self._memory.read(partitions, session_id)
        return {
            tp: None if node is None else Owner(parse_owner(node.data), node.ephemeral_owner)
            for tp, node in nodes.items()
        }

    def _texts(self, threads: Mapping[TopicPartition, ConsumerThreadId]) -> dict[str, bytes]:
        return {self._paths.owner(tp): str(thread).encode() for tp, thread in threads.items()}

    def _ensure_parents(self, topics: Iterable[str]) -> None:
        parents = {self._paths.owners(topic) for topic in topics} - self._known_parents
        if parents:
            self._store.ensure_paths(sorted(parents))
            self._known_parents |= parents
