"""Which offsets to commit, and the book-keeping of what was committed.

Two rules for what a commit covers: one that the connector makes by itself covers *consumed*
messages, those whose successor was asked for. One that the caller makes covers every message that
was handed over: the caller says that they are done.

Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector.commitOffsets``; unlike there, a partition that
could not be written is reported, and the others are written all the same.
"""

import logging
from collections.abc import Callable, Iterable

from zkconsumer.errors import OffsetCommitFailed, ZkConsumerError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import OffsetStore

log = logging.getLogger(__name__)

OffsetOf = Callable[[PartitionClaim], int | None]


def consumed_offset(claim: PartitionClaim) -> int | None:
    """What an automatic commit writes for a claim; None where it has nothing new.

    A caller that committed the message in hand has gone further than what counts as consumed:
    that is not undone. A start that the reset policy found is new, though nothing was read yet:
    the next owner must not look for another one.
    """
    committed = claim.committed_offset
    if committed is not None and committed in (claim.consumed_offset, claim.delivered_offset):
        return None
    return claim.consumed_offset


def delivered_offset(claim: PartitionClaim) -> int | None:
    """What the caller's own commit writes for a claim; None where it has nothing new."""
    delivered = claim.delivered_offset
    offset = claim.consumed_offset if delivered is None else delivered
    return None if offset == claim.committed_offset else offset


class OffsetCommitter:
    """Writes the offsets of claims. Thread: control."""

    def __init__(self, store: OffsetStore, group_id: str) -> None:
        self._store = store
        self._group_id = group_id

    def commit(self, claims: Iterable[PartitionClaim], offset_of: OffsetOf) -> int:
        """Write what is new.

        Returns:
            How many partitions were written.

        Raises:
            OffsetCommitFailed: naming the partitions that were not.
        """
        due: dict[TopicPartition, tuple[PartitionClaim, int]] = {}
        for claim in claims:
            offset = offset_of(claim)
            if offset is not None:
                due[claim.topic_partition] = (claim, offset)
        if not due:
            return 0
        failed = self._write(due)
        if failed:
            raise OffsetCommitFailed(self._group_id, failed)
        log.debug("group %s: committed %d partitions", self._group_id, len(due))
        return len(due)

    def _write(
        self, due: dict[TopicPartition, tuple[PartitionClaim, int]]
    ) -> dict[TopicPartition, str]:
        try:
            outcome = self._store.commit(
                {tp: OffsetAndMetadata(offset) for tp, (_, offset) in due.items()}
            )
        except ZkConsumerError as error:
            return dict.fromkeys(due, str(error))
        failed: dict[TopicPartition, str] = {}
        for tp, (claim, offset) in due.items():
            reason = outcome[tp]
            if reason is None:
                claim.committed_offset = offset
            else:
                failed[tp] = reason
        return failed
