"""What only the poll API raises: groups that a coordinator keeps, and positions."""

from collections.abc import Collection

from zkconsumer.errors.general import ZkConsumerError
from zkconsumer.model import TopicPartition

_SHOWN = 10


class IllegalState(ZkConsumerError):
    """A call that does not fit what was called before; the message says which call would.

    Source: Kafka's and kafka-python's ``IllegalStateException``/``IllegalStateError``.
    """


class Woken(ZkConsumerError):
    """``wakeup()`` ended the wait: of the call under way, or else of the next that would wait.

    Nothing is lost by it: what was about to be handed out comes with the next poll.
    """


class AuthenticationFailed(ZkConsumerError):
    """A broker and we don't agree on who we are or how to say it (SASL, TLS). Not tried again."""


class GroupFailed(ZkConsumerError):
    """The group's coordinator refuses this member; the message says why and what may help.

    Attributes:
        group_id: the group.
        code: the number of the error code; None where no broker said it.
        final: nothing is tried until the caller subscribes anew. Otherwise the next poll tries.
    """

    def __init__(
        self, group_id: str, reason: str, *, code: int | None = None, final: bool = False
    ) -> None:
        super().__init__(f"group {group_id}: {reason}")
        self.group_id = group_id
        self.code = code
        self.final = final


class CommitFailed(ZkConsumerError):
    """The generation in which these offsets were read is over: others may have the partitions.

    Nothing was committed; what was read since the last commit is read again by whoever has the
    partitions now. Go on polling: the listener hears what was lost. If it comes often, work on
    fewer records between two polls (``max.poll.records``) or allow more time for them
    (``max.poll.interval.ms``).

    Source: Kafka's ``CommitFailedException``.
    """


class RebalanceInProgress(CommitFailed):
    """The group rebalances: nothing was committed, but the partitions may be ours still.

    Poll, which takes part in the rebalance, and commit again what is still ours.

    Source: Kafka's ``RebalanceInProgressException``.
    """


class TopicAuthorizationFailed(ZkConsumerError):
    """The brokers don't let this client read these topics.

    Attributes:
        topics: their names.
    """

    def __init__(self, topics: Collection[str]) -> None:
        names = ", ".join(sorted(topics)[:_SHOWN])
        super().__init__(
            f"no permission to read {names}: an ACL must grant READ and DESCRIBE on them"
        )
        self.topics = frozenset(topics)


class PositionInvalid(ZkConsumerError):
    """What partitions should be read from isn't there; with ``auto.offset.reset=none`` only.

    Attributes:
        partitions: which; seek() gives each a position, and poll goes on.
    """

    def __init__(self, partitions: Collection[TopicPartition], reason: str) -> None:
        super().__init__(f"{reason}; seek() to where reading is to go on")
        self.partitions = frozenset(partitions)


class NoOffsetForPartition(PositionInvalid):
    """Nothing is committed for these partitions, and no policy says where to start."""

    def __init__(self, partitions: Collection[TopicPartition]) -> None:
        names = ", ".join(map(str, sorted(partitions)[:_SHOWN]))
        super().__init__(
            partitions, f"no committed offset for {names}, and auto.offset.reset is none"
        )


class OffsetOutOfRange(PositionInvalid):
    """The log does not have the offset that was to be read (any more, or yet).

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
        )
        self.topic_partition = topic_partition
        self.offset = offset
        self.log_start = log_start
        self.log_end = log_end


class LogTruncated(PositionInvalid):
    """Records that were read are gone: the log was cut back below the position (KIP-320).

    It comes of an unclean leader election. Other records may take the same offsets.

    Attributes:
        topic_partition: which.
        position: where reading stood.
        diverged_at: the first offset that may differ from what was read; None where unknown.
        leader_epoch: of the leader that wrote what lies in front of it, -1 if not known: seek to
            ``OffsetAndMetadata(diverged_at, "", leader_epoch)``, and another cut is noticed, too.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        position: int,
        diverged_at: int | None = None,
        leader_epoch: int = -1,
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
