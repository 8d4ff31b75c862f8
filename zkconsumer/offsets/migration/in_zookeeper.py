"""A group's offsets in ZooKeeper, for tools that set them: written only if unchanged since read.

Tools that set offsets own no partitions, so there is no owner node to check, as for members
(``fenced``). Instead the version of every offset node is checked: an offset that was committed
after it was read, and so is not in the roll-back file, is never overwritten.

Writes are sent in transactions, each all or nothing, of some hundreds of offsets, which ZooKeeper
accepts at a time; after a failure no more are sent. Servers before 3.4 have no transactions: there
each offset is written separately, but also by version.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import Offset, OffsetStorage
from zkconsumer.offsets.store import FetchedOffset, commit_refusal
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.parts import parts_of
from zkconsumer.topic_name import is_topic_name
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.nodes import encode_offset, parse_owner, parse_topic
from zkconsumer.zk.paths import BROKER_TOPICS, GroupPaths, is_number, topic_path
from zkconsumer.zk.store import CreateOp, DeleteOp, OpError, SetOp, ZkStore

TRANSACTION_BYTES: Final = 256 * 1024
"""Approximate limit of a transaction: servers refuse more than ``jute.maxbuffer``, a megabyte."""

_OP_BYTES: Final = 256
"""The size of one write besides path and data, including a chroot, which is not known here."""

_CHANGED: Final = frozenset({OpError.BAD_VERSION, OpError.NO_NODE, OpError.NODE_EXISTS})

_Write = CreateOp | SetOp | DeleteOp
_Step = tuple[TopicPartition, _Write]


class ZookeeperGroupOffsets:
    """A ``GroupOffsetStore`` in ZooKeeper. Thread: one at a time.

    Raises:
        ConfigError: the group id can't be part of a path.
    """

    name: Final = OffsetStorage.ZOOKEEPER

    def __init__(self, store: ZkStore, group_id: str) -> None:
        self._store = store
        self._paths = GroupPaths(group_id)
        self._offsets = ZookeeperOffsetStore(store, group_id)
        self._versions: dict[TopicPartition, int | None] = {}

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """See ``GroupOffsetStore``; keeps the nodes' versions for the next write."""
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

    def stored(self, topics: Collection[str] | None) -> dict[TopicPartition, FetchedOffset]:
        """See ``GroupOffsetStore``. Nodes that don't belong to a partition are skipped."""
        found = self._below("offsets")
        wanted = sorted(topic for topic in found if topics is None or topic in topics)
        partitions = [
            TopicPartition(topic, int(name))
            for topic in wanted
            if is_topic_name(topic)
            for name in found[topic]
            if is_number(name) and str(int(name)) == name
        ]
        return self.fetch(partitions)

    def members(self) -> list[str]:
        """See ``GroupOffsetStore``: registered members, and owners that are not registered."""
        ids = self._store.children_many([self._paths.ids])[0] or []
        owned = [
            TopicPartition(topic, int(name))
            for topic, names in sorted(self._below("owners").items())
            for name in names
            if is_number(name)
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
