"""Offsets in ZooKeeper: ``/consumers/<group>/offsets/<topic>/<partition>``, plain decimal text.

The oldest storage, shared with every Scala consumer and with OffsetCommit v0 on the broker. Entries
never expire, and outlive their topic. ZooKeeper lets anyone write; with a guard only the owner of a
partition commits, see ``fenced``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from zkconsumer.errors import SessionLost
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.fenced import FencedCommit, KnownNode
from zkconsumer.offsets.store import FetchedOffset, commit_refusal
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.nodes import encode_offset, parse_offset
from zkconsumer.zk.owners import PartitionOwners
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import ZkStore, ZNode

_FEW = 16
"""The nodes of up to this number of partitions of a topic are read without listing them first."""


class ZookeeperOffsetStore:
    """An ``OffsetStore`` in ZooKeeper, which drops metadata, since ZooKeeper can't store it.

    Args:
        guard: lets only the owner of a partition commit, and prevents rewinding an offset that
            another member has committed, unless requested. ``fetch`` must then be called after each
            claim, since a commit relies on the node last fetched or committed. None: any offset is
            overwritten, by anyone, as in the original and its tools.

    Raises:
        ConfigError: the group id can't be part of a path.
    """

    storage: Final = "zookeeper"
    expires: Final = False

    def __init__(
        self, store: ZkStore, group_id: str, *, guard: PartitionOwners | None = None
    ) -> None:
        self._store = store
        self._paths = GroupPaths(group_id)
        self._guard = guard
        self._known: dict[TopicPartition, KnownNode] = {}

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """Read committed offsets; a negative one (some tools write -1) counts as none.

        Raises:
            RegistryError: no response in time, or access denied.
            SessionLost: the session ended during the call.
        """
        found = self.nodes(partitions)
        if self._guard is not None:
            self._known |= {tp: KnownNode.of(node) for tp, node in found.items()}
        return {tp: self.fetched(tp, node) for tp, node in found.items()}

    def nodes(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, ZNode | None]:
        """Return the offset nodes; of topics with many partitions read only nodes that exist.

        Raises as ``fetch``.
        """
        counts = Counter(tp.topic for tp in partitions)
        large = [topic for topic, count in counts.items() if count > _FEW]
        listed = self._store.children_many([self._paths.offsets(topic) for topic in large])
        names = {topic: set(found or ()) for topic, found in zip(large, listed, strict=True)}
        requested = [
            tp for tp in partitions if tp.topic not in names or str(tp.partition) in names[tp.topic]
        ]
        nodes = self._store.get_many([self._paths.offset(tp) for tp in requested])
        return dict.fromkeys(partitions) | dict(zip(requested, nodes, strict=True))

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,
        rewind: bool = False,
    ) -> dict[TopicPartition, str | None]:
        """Write offsets; see ``OffsetStore``.

        Args:
            offsets: the offsets to write.
            retry: has no effect, since retriable errors are always retried here.
            rewind: overwrite a larger offset that another member committed, too. Without a guard
                every commit does.

        Raises:
            RegistryError: no response in time: each offset may or may not be committed.
            SessionLost: the session ended, or is not the guard's.
        """
        del retry
        refused = {
            tp: why
            for tp, offset in offsets.items()
            if (why := commit_refusal(tp, offset)) is not None
        }
        wanted = {tp: offset.offset for tp, offset in offsets.items() if tp not in refused}
        if not wanted:
            return dict(refused)
        if self._guard is None:
            outcome = self._overwrite(wanted)
        else:
            outcome = self._fenced(wanted, self._guard, rewind=rewind)
        return {tp: refused[tp] if tp in refused else outcome[tp] for tp in offsets}

    def _fenced(
        self, wanted: Mapping[TopicPartition, int], guard: PartitionOwners, *, rewind: bool
    ) -> dict[TopicPartition, str | None]:
        if self._store.session_id != guard.session_id:
            raise SessionLost(
                f"group {self._paths.group_id}: session {guard.session_id:#x}, which owned the "
                "partitions, has ended: other members may own them now"
            )
        return FencedCommit(self._store, self._paths, guard, self._known, rewind=rewind).run(wanted)

    def _overwrite(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, str | None]:
        items = {self._paths.offset(tp): encode_offset(offset) for tp, offset in wanted.items()}
        return dict(zip(wanted, self._store.set_or_create_many(items), strict=True))

    def fetched(self, tp: TopicPartition, node: ZNode | None) -> FetchedOffset:
        """Return the entry of a partition's node."""
        if node is None:
            return FetchedOffset(None)
        offset = parse_offset(node.data)
        if isinstance(offset, Malformed):
            return FetchedOffset(
                None,
                f"group {self._paths.group_id}: offset of {tp}: {offset.reason}: correct or delete "
                f"the node {self._paths.offset(tp)} (Scala members fail on it, too)",
            )
        return FetchedOffset(offset if offset >= 0 else None, written_zxid=node.mzxid)
