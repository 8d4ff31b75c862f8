"""Decides which offsets to commit, and records what was committed.

There are two rules for what a commit covers. An automatic commit covers what the ``delivery``
setting says (``consumed_offset``, ``start_offset``). A commit by the caller covers every message
that was handed over: the caller declares them processed.

Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector.commitOffsets``; unlike there, a partition that
could not be written is reported, and the others are written all the same.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import OffsetCommitFailed, ZkConsumerError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.observe import SILENT, CommitFailed, Committed, Observation
from zkconsumer.offsets.store import OffsetStore
from zkconsumer.streams.delivery import Delivery

OffsetOf = Callable[[PartitionClaim], int | None]
NOT_READ_HERE: Final = "not currently read by this consumer"
"""Why a commit is refused for a partition that this member does not own."""

Due = Mapping[TopicPartition, tuple[PartitionClaim, OffsetAndMetadata, int]]
"""For each claim, the offset to write, and its ``jumps_back`` from before the offset was read."""


def consumed_offset(claim: PartitionClaim) -> int | None:
    """Return the offset that an automatic commit writes for a claim; None: nothing new.

    A caller may commit its current message, which counts as consumed only later: that commit stays.
    An offset that the caller named stays until consumption has passed both it and the offset that
    was consumed when it was named; or until the position jumps back in a truncated log. A start
    offset from the reset policy counts as new although nothing was read yet: the next owner must
    not reset to another one.
    """
    committed, consumed = claim.committed_offset, claim.consumed_offset
    if claim.jumps_back != claim.committed_jumps:
        return consumed
    if committed is not None and committed in (consumed, claim.delivered_offset):
        return None
    floor = claim.explicit_floor
    return None if floor is not None and consumed is not None and consumed <= floor else consumed


def start_offset(claim: PartitionClaim) -> int | None:
    """Return the offset that an automatic commit writes if chunks are committed ahead.

    That is only a start offset from the reset policy; from there on the streams commit.
    """
    return claim.consumed_offset if claim.committed_offset is None else None


def handed_over_offset(claim: PartitionClaim) -> int | None:
    """Return the offset after the last message handed over; before the first, the start offset."""
    delivered = claim.delivered_offset
    return claim.consumed_offset if delivered is None else delivered


def delivered_offset(claim: PartitionClaim) -> int | None:
    """Return the offset that the caller's own commit writes for a claim; None: nothing new."""
    offset = handed_over_offset(claim)
    return None if offset == claim.committed_offset else offset


@dataclass(frozen=True, slots=True)
class CommitRules:
    """What each kind of commit covers.

    Attributes:
        automatic: returns the offset of an automatic commit.
        callers: returns the offset of a commit by the caller, of everything handed over.
    """

    automatic: OffsetOf
    callers: OffsetOf

    @classmethod
    def of(cls, delivery: Delivery) -> "CommitRules":
        """Return the rules of a delivery mode; at-most-once has committed further already."""
        if delivery.commits_ahead:
            return cls(start_offset, start_offset)
        return cls(consumed_offset, delivered_offset)


class OffsetCommitter:
    """Writes the offsets of claims. Thread: control."""

    def __init__(
        self,
        store: OffsetStore,
        group_id: str,
        *,
        clock: Clock | None = None,
        observation: Observation = SILENT,
    ) -> None:
        self._store = store
        self._group_id = group_id
        self._clock = clock or SystemClock()
        self._observation = observation

    def commit(
        self, claims: Iterable[PartitionClaim], offset_of: OffsetOf, *, retry: bool = False
    ) -> int:
        """Commit the new offsets of these claims; if the store expires offsets, the others, too.

        Returns:
            The number of partitions written.

        Raises:
            OffsetCommitFailed: names the partitions that were not written.
        """
        due: dict[TopicPartition, tuple[PartitionClaim, OffsetAndMetadata, int]] = {}
        for claim in claims:
            jumps, offset = claim.jumps_back, offset_of(claim)
            if offset is None and self._store.expires:
                offset = claim.committed_offset
            if offset is not None:
                # An offset that is committed already keeps the metadata that the caller gave it.
                metadata = claim.committed_metadata if offset == claim.committed_offset else ""
                due[claim.topic_partition] = (claim, OffsetAndMetadata(offset, metadata), jumps)
        return self._commit(due, {}, retry=retry, rewind=False)

    def commit_exactly(
        self,
        claims: Mapping[TopicPartition, PartitionClaim],
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool,
        rewind: bool = True,
    ) -> int:
        """Commit exactly these offsets, forward or back; refuse partitions without a claim.

        Without ``rewind``, a larger offset that another member committed stays.

        Returns:
            The number of partitions written.

        Raises:
            OffsetCommitFailed: names the partitions that were not written.
        """
        refused = {tp: NOT_READ_HERE for tp in offsets if tp not in claims}
        due = {
            tp: (claims[tp], offset, claims[tp].jumps_back)
            for tp, offset in offsets.items()
            if tp in claims
        }
        return self._commit(due, refused, retry=retry, rewind=rewind)

    def _commit(
        self, due: Due, refused: Mapping[TopicPartition, str], *, retry: bool, rewind: bool
    ) -> int:
        failed = dict(refused)
        if due:
            began_ms = self._clock.now_ms()
            failed |= self._write(due, retry=retry, rewind=rewind)
            written = {tp: offset.offset for tp, (_, offset, _) in due.items() if tp not in failed}
            if written:
                took_ms = self._clock.now_ms() - began_ms
                self._observation.report(
                    Committed(storage=self._store.storage, offsets=written, duration_ms=took_ms)
                )
        if failed:
            self._observation.report(CommitFailed(self._store.storage, failed))
            raise OffsetCommitFailed(self._group_id, failed)
        return len(due)

    def _write(self, due: Due, *, retry: bool, rewind: bool) -> dict[TopicPartition, str]:
        offsets = {tp: offset for tp, (_, offset, _) in due.items()}
        try:
            outcome = self._store.commit(offsets, retry=retry, rewind=rewind)
        except ZkConsumerError as error:
            return dict.fromkeys(due, str(error))
        failed: dict[TopicPartition, str] = {}
        for tp, (claim, offset, jumps) in due.items():
            reason = outcome[tp]
            if reason is None:
                claim.committed_offset = offset.offset
                claim.committed_metadata = offset.metadata
                if rewind:
                    claim.explicit_floor = max(offset.offset, claim.consumed_offset or 0)
                elif jumps != claim.committed_jumps:
                    claim.explicit_floor = None
                claim.committed_jumps = jumps
            else:
                failed[tp] = reason
        return failed
