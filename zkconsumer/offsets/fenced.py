"""Commits offsets to ZooKeeper so that only the owner of a partition can.

Each offset is written in one transaction with two checks: that the owner node has not changed since
it was read and belonged to our session, and that the offset node has not changed since it was last
read or written. So neither a member that was delayed while its partitions went to others, nor one
that was never notified, can rewind a group. If a transaction fails, the nodes are read again:

- the offset node holds the value to be written: a write of ours whose response was lost, so the
  offset is committed;
- the owner node is gone, or another session's: the commit is refused;
- a smaller offset, none, or an invalid one: ours is written;
- a larger offset: another member went further, or we did (a lost response), so it is kept, unless
  the caller wants to rewind.

The version of a node starts at 0 again when it is deleted and recreated, so the check of the owner
node alone could accept a new owner's node that was created between reading and writing. With the
check of the offset node, nothing that the new owner has committed is lost even then.

Servers before 3.4 have no transactions: there the owners are read, then the offset nodes written by
version. A change of owner between the two goes unnoticed if the new owner has not committed yet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from zkconsumer.errors import RegistryError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.store import CommittedFurther
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.nodes import encode_offset, parse_offset, parse_owner
from zkconsumer.zk.owners import PartitionOwners
from zkconsumer.zk.paths import GroupPaths, ancestors_of, parent_of
from zkconsumer.zk.store import CheckOp, CreateOp, Op, OpError, SetOp, ZkStore, ZNode

PARTITIONS_PER_MULTI = 50
MAX_ROUNDS = 3
_CHANGED = frozenset(
    {OpError.NODE_EXISTS, OpError.NO_NODE, OpError.BAD_VERSION, OpError.ROLLED_BACK}
)


@dataclass(frozen=True, slots=True)
class KnownNode:
    """An offset node as it was last read or written.

    Attributes:
        version: its data version; None: there was no node.
        unsure: data of later writes whose outcome is unknown.
    """

    version: int | None
    unsure: frozenset[bytes] = frozenset()

    @property
    def next_version(self) -> int:
        """The version after one more write."""
        return 0 if self.version is None else self.version + 1

    @staticmethod
    def of(node: ZNode | None) -> "KnownNode":
        """Return the state of a node just read."""
        return KnownNode(None if node is None else node.version)


class FencedCommit:
    """One commit of offsets, as its module describes it. Thread: the store's.

    Args:
        guard: has the session that must own the partitions, and their owner nodes.
        known: the known offset nodes, shared by all commits of a store and updated by each; others
            are read first.
        rewind: whether to overwrite a larger offset that another member committed.
    """

    def __init__(
        self,
        store: ZkStore,
        paths: GroupPaths,
        guard: PartitionOwners,
        known: dict[TopicPartition, KnownNode],
        *,
        rewind: bool,
    ) -> None:
        self._store = store
        self._paths = paths
        self._guard = guard
        self._session_id = guard.session_id
        self._known = known
        self._rewind = rewind
        self._offsets: Mapping[TopicPartition, int] = {}
        self._outcome: dict[TopicPartition, str | None] = {}
        self._owner_versions: dict[TopicPartition, int] = {}
        self._parent_errors: dict[str, OpError] = {}

    def run(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, str | None]:
        """Write offsets; return for each None if it is committed, else why not.

        Raises:
            RegistryError: no response in time: each offset may or may not be committed.
            SessionLost: the session ended.
        """
        self._offsets = offsets
        self._check_owners(list(offsets), refresh=False)
        self._judge([tp for tp in self._due() if tp not in self._known])
        for _ in range(MAX_ROUNDS):
            self._make_parents()
            changed = self._send(self._due())
            if not changed:
                break
            self._check_owners(changed, refresh=True)
            self._judge([tp for tp in changed if tp not in self._outcome])
        for tp in self._due():
            self._outcome[tp] = self._unwritten_text(tp)
        return self._outcome

    def _due(self) -> list[TopicPartition]:
        return [tp for tp in self._offsets if tp not in self._outcome]

    # --- reading and judging ------------------------------------------------------------------

    def _check_owners(self, partitions: Sequence[TopicPartition], *, refresh: bool) -> None:
        for tp, node in self._guard.owner_nodes(partitions, refresh=refresh).items():
            if node is not None and node.ephemeral_owner == self._session_id:
                self._owner_versions[tp] = node.version
            else:
                self._outcome[tp] = _not_ours_text(tp, self._guard.owner_path(tp), node)

    def _judge(self, partitions: Sequence[TopicPartition]) -> None:
        """Read offset nodes; decide the outcome of those to keep, and of those written already."""
        nodes = self._store.get_many([self._paths.offset(tp) for tp in partitions])
        for tp, node in zip(partitions, nodes, strict=True):
            if node is not None and not self._may_overwrite(tp, node):
                # Not recorded as known: the next commit must not overwrite it either.
                self._outcome[tp] = self._kept_text(tp, node)
                continue
            self._known[tp] = KnownNode.of(node)
            if node is not None and node.data == encode_offset(self._offsets[tp]):
                self._outcome[tp] = None

    def _may_overwrite(self, tp: TopicPartition, node: ZNode) -> bool:
        stored = parse_offset(node.data)
        return self._rewind or isinstance(stored, Malformed) or stored <= self._offsets[tp]

    def _kept_text(self, tp: TopicPartition, node: ZNode) -> str:
        known = self._known.get(tp)
        ours = known is not None and (node.data, node.version) in {
            (data, known.next_version) for data in known.unsure
        }
        writer = (
            "by a commit of ours whose response was lost" if ours else ("by another client since")
        )
        text = (
            f"{self._paths.offset(tp)} holds {node.data.decode()}, written {writer}; "
            f"ours is {self._offsets[tp]}: kept"
        )
        return text if ours else CommittedFurther(text)

    def _unwritten_text(self, tp: TopicPartition) -> str:
        path = self._paths.offset(tp)
        parent_error = self._parent_errors.get(parent_of(path))
        if parent_error is not None:
            return f"{parent_of(path)} could not be created: {parent_error}"
        return f"{path} was changed by others {MAX_ROUNDS} times while it was being written"

    # --- writing ------------------------------------------------------------------------------

    def _make_parents(self) -> None:
        """Create missing parents; a failure affects only the nodes below."""
        due = [tp for tp in self._due() if self._known[tp].version is None]
        if not due:
            return
        topics = {tp.topic: self._paths.offset(tp) for tp in due}
        found = self._store.exists_many([parent_of(path) for path in topics.values()])
        missing = [path for path, stat in zip(topics.values(), found, strict=True) if stat is None]
        ancestors = dict.fromkeys(above for path in missing for above in ancestors_of(path))
        ops = [CreateOp(path, None) for path in ancestors]
        errors = self._store.write_many(ops, session_id=self._session_id) if ops else []
        for op, error in zip(ops, errors, strict=True):
            if error is not None and error is not OpError.NODE_EXISTS:
                self._parent_errors[op.path] = error

    def _send(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Write offsets; return the partitions not written because a node has changed."""
        if not partitions:
            return []
        try:
            if not self._store.supports_multi:
                return self._send_singly(partitions)
            return self._send_together(partitions, PARTITIONS_PER_MULTI)
        except RegistryError:
            for tp in partitions:
                if tp not in self._outcome:
                    known, data = self._known[tp], encode_offset(self._offsets[tp])
                    self._known[tp] = KnownNode(known.version, known.unsure | {data})
            raise

    def _send_together(
        self, partitions: Sequence[TopicPartition], count: int
    ) -> list[TopicPartition]:
        chunks = [partitions[at : at + count] for at in range(0, len(partitions), count)]
        results = self._store.multi_many(
            [[op for tp in chunk for op in self._ops(tp)] for chunk in chunks],
            session_id=self._session_id,
        )
        failed: list[TopicPartition] = []
        again: list[TopicPartition] = []
        for chunk, result in zip(chunks, results, strict=True):
            if result.ok:
                self._note_written(chunk)
            elif len(chunk) > 1:
                again += chunk
            elif not self._refuse(chunk[0], result.errors):
                failed += chunk
        # A partition that can't be written must not prevent the others from being written.
        return failed + (self._send_together(again, 1) if again else [])

    def _send_singly(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        ops = [self._write_op(tp) for tp in partitions]
        errors = self._store.write_many(ops, session_id=self._session_id)
        written = [tp for tp, error in zip(partitions, errors, strict=True) if error is None]
        self._note_written(written)
        return [
            tp
            for tp, error in zip(partitions, errors, strict=True)
            if error is not None and not self._refuse(tp, [error])
        ]

    def _ops(self, tp: TopicPartition) -> list[Op]:
        return [CheckOp(self._guard.owner_path(tp), self._owner_versions[tp]), self._write_op(tp)]

    def _write_op(self, tp: TopicPartition) -> Op:
        path, data = self._paths.offset(tp), encode_offset(self._offsets[tp])
        version = self._known[tp].version
        return CreateOp(path, data) if version is None else SetOp(path, data, version)

    def _note_written(self, partitions: Iterable[TopicPartition]) -> None:
        for tp in partitions:
            self._outcome[tp] = None
            self._known[tp] = KnownNode(self._known[tp].next_version)

    def _refuse(self, tp: TopicPartition, errors: Iterable[OpError | None]) -> bool:
        """Record an error that is final; return whether there was one."""
        for error in errors:
            if error is not None and error not in _CHANGED:
                self._outcome[tp] = error.value
                return True
        return False


def _not_ours_text(tp: TopicPartition, path: str, node: ZNode | None) -> str:
    if node is None:
        return f"{tp} is no longer owned by this member: {path} is gone"
    if not node.ephemeral_owner:
        return (
            f"{tp} is not owned by this member: {path} is a persistent node, which no consumer "
            "creates: delete it"
        )
    owner = f"{parse_owner(node.data)} (session {node.ephemeral_owner:#x})"
    return f"{tp} is no longer owned by this member: {owner} owns it"
