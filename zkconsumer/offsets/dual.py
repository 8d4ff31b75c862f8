"""Offsets in Kafka and in ZooKeeper, while a group migrates from one to the other.

To Kafka: restart all members, one by one, with ``offsets.storage=kafka`` and
``dual.commit.enabled=true``; then, one by one, with ``dual.commit.enabled=false``. To ZooKeeper:
all with the first two settings again, then all with ``offsets.storage=zookeeper``. Members that
still use ZooKeeper alone continue from the offsets there, so the group never stops. When migrating
to ZooKeeper, each partition must be owned by one of our members for a while: the original copies
only offsets that advance, so it would not copy those of an idle partition.

A group that commits to both can be rewound only by lowering the offset in both.

Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector`` with ``dual.commit.enabled``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import CommittedFurther, FetchedOffset, OffsetStore


class DualOffsetStore:
    """An ``OffsetStore`` over two others.

    Args:
        kafka: committed to first.
        zookeeper: gets what ``kafka`` accepted.
    """

    storage: Final = "both"
    expires: Final = True

    def __init__(self, kafka: OffsetStore, zookeeper: OffsetStore) -> None:
        self._kafka = kafka
        self._zookeeper = zookeeper

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """Return the larger of both offsets, for each partition.

        If one store has an error and the other an offset, the offset counts: it was committed, so
        continuing from it loses nothing; at worst, messages are delivered again. Without an offset,
        the error counts, since an unreadable entry does not mean that there is none.

        Raises:
            ZkConsumerError: a store could not be read at all.
        """
        in_kafka = self._kafka.fetch(partitions)
        in_zookeeper = self._zookeeper.fetch(partitions)
        return {tp: larger(in_kafka[tp], in_zookeeper[tp]) for tp in partitions}

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,
        rewind: bool = False,
    ) -> dict[TopicPartition, str | None]:
        """Commit to Kafka, then what it accepted to ZooKeeper; success means that both have it.

        Raises:
            ZkConsumerError: the outcome in Kafka is unknown; ZooKeeper is untouched.
        """
        outcome = self._kafka.commit(offsets, retry=retry, rewind=rewind)
        accepted = {tp: offset for tp, offset in offsets.items() if outcome[tp] is None}
        try:
            copied = self._zookeeper.commit(accepted, retry=retry, rewind=rewind)
        except ZkConsumerError as error:
            copied = dict.fromkeys(accepted, str(error))
        return {tp: _outcome(outcome[tp], copied.get(tp)) for tp in offsets}


def larger(first: FetchedOffset, second: FetchedOffset) -> FetchedOffset:
    """Merge two stores' results for one partition: see ``DualOffsetStore.fetch``."""
    if first.offset is not None and first.offset == second.offset:
        # One commit wrote both, so the transaction of ZooKeeper's copy dates Kafka's, too.
        return replace(first, written_zxid=first.written_zxid or second.written_zxid)
    if first.offset is not None and second.offset is not None:
        return first if first.offset > second.offset else second
    for read in (first, second):
        if read.offset is not None:
            return read
    errors = [read.error for read in (first, second) if read.error is not None]
    return FetchedOffset(None, "; ".join(errors) if errors else None)


def _outcome(in_kafka: str | None, in_zookeeper: str | None) -> str | None:
    if in_kafka is not None:
        return f"not in Kafka, and so not in ZooKeeper: {in_kafka}"
    if in_zookeeper is None:
        return None
    text = f"in Kafka, but not in ZooKeeper: {in_zookeeper}"
    return CommittedFurther(text) if isinstance(in_zookeeper, CommittedFurther) else text
