"""What only the poll API raises: groups that a coordinator keeps, and positions."""

from collections.abc import Collection

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors.general import IllegalStateError, ZkConsumerError
from zkconsumer.errors.roots import AuthorizationError, BrokerResponseError, Coded
from zkconsumer.model import OffsetAndMetadata, TopicPartition

_SHOWN = 10


class NotAssigned(IllegalStateError, ValueError, KeyError):
    """The partition is not read by this consumer (now, or yet)."""

    __str__ = BaseException.__str__
    """Not that of a ``KeyError``, which shows a key."""


class Woken(ZkConsumerError):
    """``wakeup()`` ended the wait: of the call under way, or else of the next that would wait.

    Nothing is lost by it: what was about to be handed out comes with the next poll.
    """


class GroupFailed(Coded):
    """The group's coordinator refuses this member; the message says why and what may help.

    Attributes:
        group_id: the group.
        code: the number of the error code; None where no broker said it.
        final: nothing is tried until the caller subscribes again. Otherwise the next poll tries.
    """

    def __init__(
        self, group_id: str, reason: str, *, code: int | None = None, final: bool = False
    ) -> None:
        super().__init__(f"group {group_id}: {reason}", code=code)
        self.group_id = group_id
        self.final = final


class CommitFailedError(ZkConsumerError):
    """The generation in which these offsets were read is over: others may have the partitions.

    Nothing was committed; what was read since the last commit is read again by whoever has the
    partitions now. Go on polling: the listener hears what was lost. If it comes often, work on
    fewer records between two polls (``max.poll.records``) or allow more time for them
    (``max.poll.interval.ms``).

    Source: Kafka's ``CommitFailedException``.
    """


CommitFailed = CommitFailedError


class RebalanceInProgressError(
    CommitFailedError, BrokerResponseError, code=ErrorCode.REBALANCE_IN_PROGRESS
):
    """The group rebalances: nothing was committed, but the partitions may be ours still.

    Poll, which takes part in the rebalance, and commit again what is still ours.

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
    """What partitions should be read from isn't there; with ``auto.offset.reset=none`` only.

    Attributes:
        partitions: which; seek() gives each a position, and poll goes on.
    """

    def __init__(self, partitions: Collection[TopicPartition], reason: str, *args: object) -> None:
        super().__init__(*args)
        self._sentence = f"{reason}; seek() to where reading is to go on"
        self.partitions = frozenset(partitions)


class NoOffsetForPartitionError(PositionInvalid):
    """Nothing is committed for these partitions, and no policy says where to start.

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
    """The log does not have the offset that was to be read (any more, or yet).

    The first of ``args`` is a map from the partition to the offset, as in kafka-python.

    Attributes:
        topic_partition: which.
        offset: what was to be read.
        log_start, log_end: what the log has, [start, end); None where unknown.
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
    """Records that were read are gone: the log was cut back below the position (KIP-320).

    It comes of an unclean leader election. Other records may take the same offsets.

    Attributes:
        topic_partition: which.
        position: where reading stood.
        diverged_at: the first offset that may differ from what was read; None where unknown.
        leader_epoch: of the record before it, -1 if unknown: seek to
            ``OffsetAndMetadata(diverged_at, "", leader_epoch)``, and another cut is noticed, too.
        divergent_offsets: the same as a map from the partition, as in kafka-python.
        is_made_anew: the topic was deleted and created again: nothing that was read is there.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        position: int,
        diverged_at: int | None = None,
        leader_epoch: int = -1,
        *,
        is_made_anew: bool = False,
    ) -> None:
        where = "" if diverged_at is None else f" to {diverged_at}"
        super().__init__(
            (topic_partition,),
            f"{topic_partition}: the log was cut back{where} below the position {position}, and "
            "auto.offset.reset is none",
        )
        self.topic_partition = topic_partition
        self.position = position
        self.diverged_at = diverged_at
        self.leader_epoch = leader_epoch
        self.is_made_anew = is_made_anew
        safe = None if diverged_at is None else OffsetAndMetadata(diverged_at, "", leader_epoch)
        self.divergent_offsets = {topic_partition: safe}


LogTruncated = LogTruncationError
