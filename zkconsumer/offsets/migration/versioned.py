"""Writes offset nodes only if they have not changed since they were last read.

Tools that set offsets own no partitions, so there is no owner node to check, as for members
(``fenced``). Instead the version of every offset node is checked: an offset that was committed
after it was read, and so is not in the roll-back file, is never overwritten.

Writes are sent in transactions, each all or nothing, of some hundreds of offsets, which ZooKeeper
accepts at a time; after a failure no more are sent. Servers before 3.4 have no transactions: there
each offset is written separately, but also by version.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import Offset
from zkconsumer.offsets.store import FetchedOffset, commit_refusal
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.parts import parts_of
from zkconsumer.zk.nodes import encode_offset
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import CreateOp, DeleteOp, OpError, SetOp, ZkStore

TRANSACTION_BYTES: Final = 256 * 1024
"""Approximate limit of a transaction: servers refuse more than ``jute.maxbuffer``, a megabyte."""

_OP_BYTES: Final = 256
"""The size of one write besides path and data, including a chroot, which is not known here."""

_CHANGED: Final = frozenset({OpError.BAD_VERSION, OpError.NO_NODE, OpError.NODE_EXISTS})

_Write = CreateOp | SetOp | DeleteOp
_Step = tuple[TopicPartition, _Write]


class VersionedNodes:
    """Reads offset nodes, and writes those that have not changed since. Thread: one at a time.

    Raises:
        ConfigError: the group id can't be part of a path.
    """

    def __init__(self, store: ZkStore, group_id: str) -> None:
        self._store = store
        self._paths = GroupPaths(group_id)
        self._offsets = ZookeeperOffsetStore(store, group_id)
        self._versions: dict[TopicPartition, int | None] = {}

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """Return the offsets of these partitions; keep the nodes' versions for the next write.

        Raises:
            RegistryError: no response in time, or access denied.
        """
        nodes = self._offsets.nodes(partitions)
        self._versions |= {tp: None if node is None else node.version for tp, node in nodes.items()}
        return {tp: self._offsets.fetched(tp, node) for tp, node in nodes.items()}

    def write(self, offsets: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, str | None]:
        """Set offsets, or remove them (None), if their nodes have not changed since they were read.

        Return for each None if it was written, else why not. Unread partitions are read first.

        Raises:
            RegistryError: no response in time: each may or may not be written.
            SessionLost: the session ended: each may or may not be written.
        """
        outcome: dict[TopicPartition, str | None] = {
            tp: None if offset is None else commit_refusal(tp, offset)
            for tp, offset in offsets.items()
        }
        due = [tp for tp in offsets if outcome[tp] is None]
        self.fetch([tp for tp in due if tp not in self._versions])
        steps = [(tp, op) for tp in due if (op := self._op(tp, offsets[tp])) is not None]
        self._make_parents(steps)
        reported = (
            self._in_transactions(steps) if self._store.supports_multi else self._singly(steps)
        )
        self._versions |= {tp: _version_after(op) for tp, op in steps if reported[tp] is None}
        return outcome | reported

    def _op(self, tp: TopicPartition, offset: Offset) -> _Write | None:
        path, version = self._paths.offset(tp), self._versions[tp]
        if offset is None:
            return None if version is None else DeleteOp(path, version)
        data = encode_offset(offset.offset)
        return CreateOp(path, data) if version is None else SetOp(path, data, version)

    def _make_parents(self, steps: Sequence[_Step]) -> None:
        topics = {tp.topic for tp, op in steps if isinstance(op, CreateOp)}
        self._store.ensure_paths([self._paths.offsets(topic) for topic in sorted(topics)])

    def _singly(self, steps: Sequence[_Step]) -> dict[TopicPartition, str | None]:
        errors = self._store.write_many([op for _, op in steps])
        return {tp: _described(error) for (tp, _), error in zip(steps, errors, strict=True)}

    def _in_transactions(self, steps: Sequence[_Step]) -> dict[TopicPartition, str | None]:
        outcome: dict[TopicPartition, str | None] = {}
        stopped_by = ""
        for part in parts_of(steps, TRANSACTION_BYTES, _size_of):
            if stopped_by:
                outcome |= dict.fromkeys((tp for tp, _ in part), f"not tried: {stopped_by}")
                continue
            errors = self._store.multi([op for _, op in part]).errors
            for (tp, _), error in zip(part, errors, strict=True):
                if error not in {None, OpError.ROLLED_BACK}:
                    stopped_by = f"{tp} could not be written: {_described(error)}"
            for (tp, _), error in zip(part, errors, strict=True):
                outcome[tp] = stopped_by if error is OpError.ROLLED_BACK else _described(error)
        return outcome


def _size_of(step: _Step) -> int:
    op = step[1]
    data = b"" if isinstance(op, DeleteOp) else op.data or b""
    return _OP_BYTES + len(op.path.encode()) + len(data)


def _version_after(op: _Write) -> int | None:
    match op:
        case CreateOp():
            return 0
        case SetOp():
            return op.version + 1
        case DeleteOp():
            return None


def _described(error: OpError | None) -> str | None:
    if error in _CHANGED:
        return "it was written since it was read, so it was left alone: try again"
    return None if error is None else f"ZooKeeper refuses it: {error}"
