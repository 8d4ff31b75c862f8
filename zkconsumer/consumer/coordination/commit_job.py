"""One commit on its way: what is left of it, and what became of the rest. Pure."""

from collections.abc import Iterable, Mapping

from zkconsumer.consumer.coordination.claims import Stints
from zkconsumer.consumer.membership import CommitDone
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
from zkconsumer.model import OffsetAndMetadata, TopicPartition

OVER = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
    }
)
"""Codes of a member that is none any more."""

_OF_GROUP = frozenset({ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.INVALID_GROUP_ID})


class CommitJob:
    """What one call of ``commit`` or ``commit_async`` asked for.

    Attributes:
        offsets: all of it.
        stints: since when the partitions are ours; None where no group gave them to us.
        deadline_ms: until when it is tried.
        done: whom to tell what became of it; None: nobody.
        number: its place in the line, counted from the first job ever.
        left: what has no final answer yet.
        settled: whether all has one; then ``error`` says what went wrong, None for nothing.
        ended: whether it is settled, and all jobs before it as well.
    """

    def __init__(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        stints: Stints | None,
        deadline_ms: int,
        done: CommitDone | None = None,
    ) -> None:
        self._group_id = group_id
        self.offsets = dict(offsets)
        self.stints = stints
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
    def settled(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.error is not None or not self.left

    def committed(self, tp: TopicPartition) -> None:
        """That one is stored."""
        self.left.pop(tp, None)
        self._finish()

    def refused(self, tp: TopicPartition, code: int) -> None:
        """That one will not be stored."""
        if self.left.pop(tp, None) is not None:
            self._refused[tp] = code
        self._finish()

    def postponed(self, reason: str, *, doubtful: bool = False) -> None:
        """What is left is tried again.

        Args:
            reason: why it did not work.
            doubtful: it was sent and not answered: it may be stored or not.
        """
        self._reason = reason
        self._doubtful = self._doubtful or doubtful

    def over(self, gone: Iterable[TopicPartition]) -> None:
        """These are no longer ours: nothing of the rest is sent."""
        names = ", ".join(map(format, gone))
        self.error = CommitFailed(
            f"group {self._group_id}: not committed, since {names} is not this member's now: "
            "others may have read on. Poll, to hear what is"
        )

    def expire(self) -> None:
        """The time is over."""
        doubt = ", and it is not known whether it is stored" if self._doubtful else ""
        failed = dict.fromkeys(self.left, f"no success in time: {self._reason}{doubt}")
        failed |= {tp: error_name(code) for tp, code in self._refused.items()}
        self.error = OffsetCommitTimedOut(self._group_id, failed)

    def _finish(self) -> None:
        if not self.left and self._refused and self.error is None:
            self.error = self._outcome()

    def _outcome(self) -> ZkConsumerError:
        codes = {ErrorCode.of(code) for code in self._refused.values()}
        group = f"group {self._group_id}"
        if self.stints is None and codes & OVER:
            return CommitFailed(
                f"{group}: not committed, since the group has members: only those may commit. A "
                "consumer that assigns partitions to itself needs a group.id of its own, or "
                "subscribe() instead of assign()"
            )
        if over := codes & OVER:
            why = ", ".join(sorted(code.text for code in over))
            return CommitFailed(
                f"{group}: the commit came too late ({why}): others may have the partitions now. "
                "Poll, to hear which are lost; to be in time, set a smaller max.poll.records or a "
                "longer max.poll.interval.ms"
            )
        if ErrorCode.REBALANCE_IN_PROGRESS in codes:
            return RebalanceInProgress(
                f"{group}: not committed, the group rebalances: poll, then commit again what is "
                "still yours"
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
    """The code, where there is no other."""
    return int(next(iter(codes))) if len(codes) == 1 else None
