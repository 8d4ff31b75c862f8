"""Offsets in Kafka and in ZooKeeper, while a group moves from one to the other.

To Kafka: let all members, one after the other, run with ``offsets.storage=kafka`` and
``dual.commit.enabled=true``; then, one after the other, without the latter. To ZooKeeper: all with
both again, then all with ``offsets.storage=zookeeper``. Members that still know ZooKeeper alone go
on from what is written there, so the group never stops. On the way to ZooKeeper let each partition
be held by a member of this kind for a while: the original copies only offsets that move, so that
of an idle partition would not get there.

A group that commits to both can be set back only by lowering the offset in both.

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
        kafka: is committed to first.
        zookeeper: gets what ``kafka`` accepted.
    """

    storage: Final = "both"

    def __init__(self, kafka: OffsetStore, zookeeper: OffsetStore) -> None:
        self._kafka = kafka
        self._zookeeper = zookeeper

    @property
    def expires(self) -> bool:
        """See ``OffsetStore``: one that forgets is enough."""
        return self._kafka.expires or self._zookeeper.expires

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """The larger offset of the two, for each partition.

        Where one is in error and the other has an offset, that one counts: it was committed, so
        going on from it loses nothing; at worst, messages come again. Where the other has none,
        the error stands: what can't be read is not "nothing".

        Raises:
            ZkConsumerError: one of them could not be read at all.
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
        """Commit to Kafka, then what it accepted to ZooKeeper; committed is what both have.

        Raises:
            ZkConsumerError: nothing is known about Kafka; ZooKeeper is untouched.
        """
        outcome = self._kafka.commit(offsets, retry=retry, rewind=rewind)
        accepted = {tp: offset for tp, offset in offsets.items() if outcome[tp] is None}
        try:
            copied = self._zookeeper.commit(accepted, retry=retry, rewind=rewind)
        except ZkConsumerError as error:
            copied = dict.fromkeys(accepted, str(error))
        return {tp: _outcome(outcome[tp], copied.get(tp)) for tp in offsets}


def larger(one: FetchedOffset, other: FetchedOffset) -> FetchedOffset:
    """What two stores say about one partition, in one: see ``DualOffsetStore.fetch``."""
    if one.offset is not None and one.offset == other.offset:
        # Written as one: what ZooKeeper knows of the write holds for Kafka's copy, too.
        return replace(one, written_zxid=one.written_zxid or other.written_zxid)
    if one.offset is not None and other.offset is not None:
        return one if one.offset > other.offset else other
    for read in (one, other):
        if read.offset is not None:
            return read
    errors = [read.error for read in (one, other) if read.error is not None]
    return FetchedOffset(None, "; ".join(errors) if errors else None)


def _outcome(in_kafka: str | None, in_zookeeper: str | None) -> str | None:
    if in_kafka is not None:
        return f"not in Kafka, and so not in ZooKeeper: {in_kafka}"
    if in_zookeeper is None:
        return None
    text = f"in Kafka, but not in ZooKeeper: {in_zookeeper}"
    return CommittedFurther(text) if isinstance(in_zookeeper, CommittedFurther) else text
