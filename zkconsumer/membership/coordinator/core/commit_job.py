"""One commit in progress: the offsets left, and the outcome of the others. Pure."""

from collections.abc import Iterable, Mapping

from zkconsumer.error_codes import ErrorCode, error_name, explained
from zkconsumer.errors import (
    CommitFailed,
    GroupFailed,
    OffsetCommitFailed,
    OffsetCommitTimedOut,
    RebalanceInProgress,
    TopicAuthorizationFailed,
    ZkConsumerError,
)
from zkconsumer.membership.coordinator.core.claims import TakeOvers
from zkconsumer.membership.protocol import CommitDone
from zkconsumer.model import OffsetAndMetadata, TopicPartition

OVER = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
    }
)
"""Error codes for a member that the group has removed."""

_OF_GROUP = frozenset({ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.INVALID_GROUP_ID})


class CommitJob:
    """The job of one call to ``commit`` or ``commit_async``.

    Attributes:
        offsets: all its offsets.
        take_overs: the take-overs of its partitions; None if they were not assigned by a group.
        deadline_ms: until when it is retried.
        done: called with the outcome; None: no callback.
        number: its sequence number, counted from the queue's first job.
        left: the offsets without a final result.
        is_settled: whether no offset is left; then ``error`` is the error, or None.
        ended: whether it and all jobs before it are settled.
    """

    def __init__(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        take_overs: TakeOvers | None,
        deadline_ms: int,
        done: CommitDone | None = None,
    ) -> None:
        self._group_id = group_id
        self.offsets = dict(offsets)
        self.take_overs = take_overs
        self.deadline_ms = deadline_ms
        self.done = done
        self.ended = False
        self.number = 0
        self.left = dict(offsets)
        self.error: ZkConsumerError | None = None
        self._refused: dict[TopicPartition, int] = {}
        self._reason = "it was not sent in time"
        self._doubtful = False

    @property
    def is_settled(self) -> bool:
        """Whether its outcome is final."""
        return self.error is not None or not self.left

    def on_committed(self, tp: TopicPartition) -> None:
        """Record that this partition's offset is stored."""
        self.left.pop(tp, None)
        self._finish()

    def on_refused(self, tp: TopicPartition, code: int) -> None:
        """Record that this partition's offset will not be stored."""
        if self.left.pop(tp, None) is not None:
            self._refused[tp] = code
        self._finish()

    def on_postponed(self, reason: str, *, doubtful: bool = False) -> None:
        """Record that the remaining offsets will be retried.

        Args:
            reason: why the request failed.
            doubtful: whether a request was sent and got no response: they may be stored.
        """
        self._reason = reason
        self._doubtful = self._doubtful or doubtful

    def fail_as_lost(self, gone: Iterable[TopicPartition]) -> None:
        """Fail: these partitions are no longer ours, so nothing more is sent."""
        names = ", ".join(map(format, gone))
        self.error = CommitFailed(
            f"group {self._group_id}: not committed, since this member no longer owns {names}: "
            "others may have read on. Poll to learn which partitions it owns"
        )

    def expire(self) -> None:
        """Fail at the deadline."""
        doubt = ", and it is not known whether it is stored" if self._doubtful else ""
        failed = dict.fromkeys(self.left, f"not confirmed in time: {self._reason}{doubt}")
        failed |= {tp: error_name(code) for tp, code in self._refused.items()}
        self.error = OffsetCommitTimedOut(self._group_id, failed)

    def _finish(self) -> None:
        if not self.left and self._refused and self.error is None:
            self.error = self._outcome()

    def _outcome(self) -> ZkConsumerError:
        codes = {ErrorCode.of(code) for code in self._refused.values()}
        group = f"group {self._group_id}"
        if self.take_overs is None and codes & OVER:
            return CommitFailed(
                f"{group}: not committed, since the group has members: only those may commit. A "
                "consumer that assigns partitions to itself needs a group.id of its own, or "
                "subscribe() instead of assign()"
            )
        if over := codes & OVER:
            why = ", ".join(sorted(code.text for code in over))
            return CommitFailed(
                f"{group}: the commit came too late ({why}): others may have the partitions now. "
                "Poll to learn which are lost; to avoid this, set a smaller max.poll.records or a "
                "longer max.poll.interval.ms"
            )
        if ErrorCode.REBALANCE_IN_PROGRESS in codes:
            return RebalanceInProgress(
                f"{group}: not committed, the group is rebalancing: poll, then commit again for "
                "the partitions that are still yours"
            )
        if of_group := codes & _OF_GROUP:
            code = of_group.pop()
            return GroupFailed(
                self._group_id, f"OffsetCommit was refused: {code.text}", code=int(code)
            )
        if (
            codes == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
            and self._refused.keys() == self.offsets.keys()
        ):
            return TopicAuthorizationFailed({tp.topic for tp in self._refused})
        return OffsetCommitFailed(
            self._group_id,
            {tp: explained(code) for tp, code in self._refused.items()},
            code=_one_of(codes) if self._refused.keys() == self.offsets.keys() else None,
        )


def _one_of(codes: set[ErrorCode]) -> int | None:
    """Return the code if there is only one."""
    return int(next(iter(codes))) if len(codes) == 1 else None
