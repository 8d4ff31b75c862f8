"""Errors of the poll API alone: about coordinators' groups, and about positions."""

from collections.abc import Collection

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors.general import IllegalStateError, ZkConsumerError
from zkconsumer.errors.roots import AuthorizationError, BrokerResponseError, Coded
from zkconsumer.model import OffsetAndMetadata, TopicPartition

_SHOWN = 10


class NotAssigned(IllegalStateError, ValueError, KeyError):
    """The partition is not assigned to this consumer (any more, or yet)."""

    __str__ = BaseException.__str__
    """Without this, ``KeyError`` would show the message as a key, in quotes."""


class Woken(ZkConsumerError):
    """``wakeup()`` ended the wait of the current call, or of the next call that waits.

    No record is lost: the next poll returns those that this one was about to return.
    """


class GroupFailed(Coded):
    """The group's coordinator rejected this member; the message says why, and what may help.

    Attributes:
        group_id: the group.
        code: the number of the error code; None if no broker sent one.
        final: whether the member stays out of the group until the caller subscribes again.
            Otherwise the next poll tries again.
    """

    def __init__(
        self, group_id: str, reason: str, *, code: int | None = None, final: bool = False
    ) -> None:
        super().__init__(f"group {group_id}: {reason}", code=code)
        self.group_id = group_id
        self.final = final


class CommitFailedError(ZkConsumerError):
    """The generation of these offsets has ended: other members may own the partitions.

    Nothing was committed; records since the last commit are read again by the present owners of the
    partitions. Continue to poll: the listener gets the partitions that were lost. If this
    happens often, process fewer records between two polls (``max.poll.records``) or allow more
    time for them (``max.poll.interval.ms``).

    Source: Kafka's ``CommitFailedException``.
    """


CommitFailed = CommitFailedError


class RebalanceInProgressError(
    CommitFailedError, BrokerResponseError, code=ErrorCode.REBALANCE_IN_PROGRESS
):
    """The group is rebalancing: nothing was committed, but the partitions may still be ours.

    Call ``poll``, which takes part in the rebalance; then commit the partitions that are still
    assigned.

    Source: Kafka's ``RebalanceInProgressException``.
    """


RebalanceInProgress = RebalanceInProgressError


class TopicAuthorizationFailedError(AuthorizationError, code=ErrorCode.TOPIC_AUTHORIZATION_FAILED):
    """The brokers don't let this client read these topics.

    Attributes:
        topics: their names; also the first of ``args``, as in kafka-python.
    """

    def __init__(self, topics: Collection[str] = ()) -> None:
        self.topics = frozenset(topics)
        super().__init__(set(topics))
        names = ", ".join(sorted(topics)[:_SHOWN])
        self._sentence = (
            f"no permission to read {names}: an ACL must grant READ and DESCRIBE on them"
        )


TopicAuthorizationFailed = TopicAuthorizationFailedError


class PositionInvalid(ZkConsumerError):
    """Partitions have no valid position; raised only with ``auto.offset.reset=none``.

    Attributes:
        partitions: the partitions without a valid position; ``seek`` each of them to continue.
    """

    def __init__(self, partitions: Collection[TopicPartition], reason: str, *args: object) -> None:
        super().__init__(*args)
        self._sentence = f"{reason}; seek() to where reading is to go on"
        self.partitions = frozenset(partitions)


class NoOffsetForPartitionError(PositionInvalid):
    """No offset is committed for these partitions, and no policy says where to start.

    The first of ``args`` is the set of them, as in kafka-python.
    """

    def __init__(self, partitions: Collection[TopicPartition]) -> None:
        names = ", ".join(map(format, sorted(partitions)[:_SHOWN]))
        super().__init__(
            partitions,
            f"no committed offset for {names}, and auto.offset.reset is none",
            set(partitions),
        )


NoOffsetForPartition = NoOffsetForPartitionError


class OffsetOutOfRangeError(
    PositionInvalid, BrokerResponseError, code=ErrorCode.OFFSET_OUT_OF_RANGE
):
    """The log does not have the position's offset (any more, or yet).

    The first of ``args`` is a map from the partition to the offset, as in kafka-python.

    Attributes:
        topic_partition: the partition.
        offset: the position.
        log_start, log_end: the offsets of the log, [start, end); None if unknown.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        offset: int,
        log_start: int | None = None,
        log_end: int | None = None,
    ) -> None:
        has = "" if log_start is None or log_end is None else f" [{log_start}, {log_end})"
        super().__init__(
            (topic_partition,),
            f"{topic_partition}: offset {offset} is not in the log{has}, and auto.offset.reset "
            "is none",
            {topic_partition: offset},
        )
        self.topic_partition = topic_partition
        self.offset = offset
        self.log_start = log_start
        self.log_end = log_end


OffsetOutOfRange = OffsetOutOfRangeError


class LogTruncationError(PositionInvalid):
    """Records that were read are gone: the log was truncated below the position (KIP-320).

    The cause is an unclean leader election. Other records may take the same offsets.

    Attributes:
        topic_partition: the partition.
        position: the position at that time.
        diverged_at: the first offset whose record may differ from the one that was read; None if
            unknown.
        leader_epoch: the leader epoch of the record before that offset, -1 if unknown. Seek to
            ``OffsetAndMetadata(diverged_at, "", leader_epoch)``, so that another truncation is
            detected, too.
        divergent_offsets: ``diverged_at`` in a map from the partition, as in kafka-python.
        is_recreated: whether the topic was deleted and created again, so that no record is the
            same.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        position: int,
        diverged_at: int | None = None,
        leader_epoch: int = -1,
        *,
        is_recreated: bool = False,
    ) -> None:
        where = "" if diverged_at is None else f" to {diverged_at}"
        super().__init__(
            (topic_partition,),
            f"{topic_partition}: the log was truncated{where} below the position {position}, and "
            "auto.offset.reset is none",
        )
        self.topic_partition = topic_partition
        self.position = position
        self.diverged_at = diverged_at
        self.leader_epoch = leader_epoch
        self.is_recreated = is_recreated
        safe = None if diverged_at is None else OffsetAndMetadata(diverged_at, "", leader_epoch)
        self.divergent_offsets = {topic_partition: safe}


LogTruncated = LogTruncationError
