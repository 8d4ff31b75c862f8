"""The messages of the control thread's mailbox, besides the events of the rebalance core."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.threads.reply import Reply
from zkconsumer.membership.zookeeper.threads.subscription import StreamSubscription
from zkconsumer.model import OffsetAndMetadata, TopicPartition

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class JoinRequest:
    """Join the group with these streams; replied to when their partitions are being read."""

    subscription: StreamSubscription
    reply: Reply[None] = field(default_factory=Reply)


@dataclass(frozen=True, slots=True, eq=False)
class WithdrawRequest:
    """Leave the group but stay alive: the caller no longer waits for this join.

    Ignored if another join has followed. Replied to when the member has left.
    """

    join: JoinRequest
    reply: Reply[None] = field(default_factory=Reply)


@dataclass(frozen=True, slots=True, eq=False)
class CommitRequest:
    """Commit what was handed over, or the offsets that the caller names.

    Attributes:
        offsets: the offsets by partition; None: everything handed over.
        retry: whether to retry temporary errors.
        reply: the number of partitions written.
        claims: the claims under which these were read: a partition with another claim was lost
            meanwhile, and is refused. None: any claim.
    """

    offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None
    retry: bool = True
    reply: Reply[int] = field(default_factory=Reply)
    claims: Mapping[TopicPartition, PartitionClaim] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CommitAheadRequest:
    """Commit a chunk before its first message is handed over (``at_most_once``).

    ``reply``: False if the chunk must not be handed over.
    """

    claim: PartitionClaim
    offset: int
    reply: Reply[bool] = field(default_factory=Reply)


@dataclass(frozen=True, slots=True, eq=False)
class ControlTask(Generic[T]):
    """A short task that the control thread runs for the caller, between two messages.

    Attributes:
        work: runs the task; its result or error is the reply.
    """

    work: Callable[[], T]
    reply: Reply[T]


@dataclass(frozen=True, slots=True, eq=False)
class CloseRequest:
    """Shut down."""

    reply: Reply[None] = field(default_factory=Reply)


@dataclass(frozen=True, slots=True, eq=False)
class ThreadDied:
    """A thread that the control thread depends on died of an unexpected error."""

    error: BaseException


Message = (
    ev.Event
    | JoinRequest
    | WithdrawRequest
    | CommitRequest
    | CommitAheadRequest
    | ControlTask[Any]
    | CloseRequest
    | ThreadDied
)
