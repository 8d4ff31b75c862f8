"""Offsets in ZooKeeper: ``/consumers/<group>/offsets/<topic>/<partition>``, bare decimal text.

The oldest place, shared with every Scala consumer and with OffsetCommit v0 on the broker. Entries
never expire, and outlive their topic. Nobody checks who writes: see ``fence``.
"""

from collections.abc import Callable, Mapping, Sequence

from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.zk.nodes import Malformed, encode_offset, parse_offset
from zkconsumer.zk.paths import GroupPaths, is_topic_name
from zkconsumer.zk.store import ZkStore, ZNode


class ZookeeperOffsetStore:
    """An ``OffsetStore`` in ZooKeeper; metadata has no place there and is dropped.

    Args:
        store: the client.
        group_id: the group.
        fence: gives the session that must be in force for a commit to be sent, such as the one
            that owns the partitions. Without it a commit that was held up through a loss of the
            session would overwrite what the partition's next owner has committed.

    Raises:
        ConfigError: the group id can't be part of a path.
    """

    def __init__(
        self, store: ZkStore, group_id: str, *, fence: Callable[[], int] | None = None
    ) -> None:
        self._store = store
        self._paths = GroupPaths(group_id)
        self._fence = fence

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """Read committed offsets. A negative one (tools leave -1) counts as none.

        Raises:
            RegistryError: no answer in time, or access denied.
            SessionLost: the session ended meanwhile.
        """
        nodes = self._store.get_many([self._paths.offset(tp) for tp in partitions])
        return {tp: self._fetched(tp, node) for tp, node in zip(partitions, nodes, strict=True)}

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> dict[TopicPartition, str | None]:
        """Write offsets, whatever was there; see ``OffsetStore``.

        Raises:
            RegistryError: no answer in time: each offset may or may not be committed.
            SessionLost: the session ended, or is not the fence's.
        """
        refused = {tp: why for tp, it in offsets.items() if (why := _refusal(tp, it)) is not None}
        items = {
            self._paths.offset(tp): encode_offset(it.offset)
            for tp, it in offsets.items()
            if tp not in refused
        }
        fence = None if self._fence is None else self._fence()
        errors = self._store.set_or_create_many(items, session_id=fence) if items else []
        outcome = dict(zip(items, errors, strict=True))
        return {
            tp: refused[tp] if tp in refused else outcome[self._paths.offset(tp)] for tp in offsets
        }

    def _fetched(self, tp: TopicPartition, node: ZNode | None) -> FetchedOffset:
        if node is None:
            return FetchedOffset(None)
        offset = parse_offset(node.data)
        if isinstance(offset, Malformed):
            return FetchedOffset(
                None,
                f"group {self._paths.group_id}: offset of {tp}: {offset.reason}: correct or delete "
                f"the node {self._paths.offset(tp)} (Scala members fail on it, too)",
            )
        return FetchedOffset(offset if offset >= 0 else None)


def _refusal(tp: TopicPartition, it: OffsetAndMetadata) -> str | None:
    if not is_topic_name(tp.topic) or tp.partition < 0:
        return f"{tp} can't be a partition of a topic"
    return None if 0 <= it.offset < 2**63 else f"{it.offset} can't be an offset"
