"""What the control thread's mailbox takes, besides the events of the rebalance core."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from zkconsumer.connector import rebalance_events as ev
from zkconsumer.connector.reply import Reply
from zkconsumer.connector.subscription import StreamSubscription
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import OffsetAndMetadata, TopicPartition


@dataclass(frozen=True, slots=True, eq=False)
class JoinRequest:
    """The caller created its streams; answered when their partitions are being read."""

    subscription: StreamSubscription
    reply: Reply[None] = field(default_factory=Reply)


@dataclass(frozen=True, slots=True, eq=False)
class WithdrawRequest:
    """The caller waits for this join no longer: leave the group, stay alive.

    Late news, where another join has followed, is no news. Answered when it has left.
    """

    join: JoinRequest
    reply: Reply[None] = field(default_factory=Reply)


@dataclass(frozen=True, slots=True, eq=False)
class CommitRequest:
    """The caller commits what it was given, or the offsets that it names.

    Attributes:
        offsets: for which partitions what; None: all that was handed over.
        retry: try again where that may help.
        reply: how many partitions were written.
        claims: under which these were read: where another one took its place since, the partition
            was lost in between, and is refused. None: whichever is there.
    """

    offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None
    retry: bool = True
    reply: Reply[int] = field(default_factory=Reply)
    claims: Mapping[TopicPartition, PartitionClaim] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CommitAheadRequest:
    """A stream commits a chunk before it hands over its first message (``at_most_once``).

    ``reply``: False where the claim is no longer ours.
    """

    claim: PartitionClaim
    offset: int
    reply: Reply[bool] = field(default_factory=Reply)


@dataclass(frozen=True, slots=True, eq=False)
class ControlTask:
    """Something short that the control thread shall do for the caller, between two messages.

    Attributes:
        work: does it, and answers whoever waits.
        refuse: answers him with this error, where there is nobody any more who could do it.
    """

    work: Callable[[], None]
    refuse: Callable[[BaseException], None]


@dataclass(frozen=True, slots=True, eq=False)
class CloseRequest:
    """Shut down."""

    reply: Reply[None] = field(default_factory=Reply)


@dataclass(frozen=True, slots=True, eq=False)
class ThreadDied:
    """A thread that this one can't do without died of an error that nobody foresaw."""

    error: BaseException


Message = (
    ev.Event
    | JoinRequest
    | WithdrawRequest
    | CommitRequest
    | CommitAheadRequest
    | ControlTask
    | CloseRequest
    | ThreadDied
)
