"""The events and actions of the membership core: values only, no bytes.

A *step* is an action whose result must be fed back. Every step carries the number of its round and
its result repeats it, so that a result that arrives after the core has moved on is recognised as
late. ``FindCoordinator`` and heartbeats run alongside the steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from zkconsumer.assignment.coordinated.strategy import Shares
from zkconsumer.assignment.coordinated.view import MemberView
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition


class JoinReason(Enum):
    """Why a member joins or joins again; the coordinator's log shows it (KIP-800)."""

    JOINED = "the consumer subscribed"
    SUBSCRIPTION = "subscription has changed"
    TOPICS = "cached metadata has changed"
    GROUP_REBALANCES = "group is already rebalancing"
    REVOKED = "need to revoke partitions and re-join"
    MEMBER_ID = "need to re-join with the given member-id"
    VOID = "the generation was reset"
    FAILED = "the last try failed"
    POLLED_AGAIN = "the consumer polls again"
    WRONG_ASSIGNMENT = "received assignment does not match the current subscription"
    REQUESTED = "the caller requested a rebalance"


# --- events that come from outside -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The caller's topics, patterns expanded: initially, and after each change.

    Attributes:
        topics: their names.
        open_ended: whether a pattern chose them: an assignment may then name unknown topics.
    """

    topics: frozenset[str]
    open_ended: bool = False


@dataclass(frozen=True, slots=True)
class Leave:
    """The caller unsubscribes or closes."""


@dataclass(frozen=True, slots=True)
class Polled:
    """The caller is in ``poll``: it is alive, and its listener may be called."""


@dataclass(frozen=True, slots=True)
class TimerExpired:
    """The core's deadline has passed."""


@dataclass(frozen=True, slots=True)
class RejoinTriggered:
    """A reason to join again: ``TOPICS`` (for leaders only) or ``REQUESTED``."""

    cause: JoinReason


@dataclass(frozen=True, slots=True)
class CoordinatorLost:
    """The connection to the coordinator broke: no request in flight gets a response."""


@dataclass(frozen=True, slots=True)
class CoordinatorLocated:
    """The group's coordinator was found."""

    round: int


@dataclass(frozen=True, slots=True)
class CoordinatorUnknown:
    """The coordinator was not found; ``code`` is None if no broker responded."""

    round: int
    code: int | None


@dataclass(frozen=True, slots=True)
class HeartbeatCompleted:
    """The response to the heartbeat of this identity."""

    member_id: str
    generation: int
    code: int


@dataclass(frozen=True, slots=True)
class CommitCompleted:
    """The error code of a commit by this identity, which may concern its membership."""

    member_id: str
    generation: int
    code: int


# --- results of steps --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CallbackDone:
    """``RevokePartitions`` or ``TakeOver`` is done, whatever the listener raised."""

    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinCompleted:
    """The response to ``SendJoin``.

    Attributes:
        code: the error code. Unless 0, only ``member_id`` is valid, and only with
            MEMBER_ID_REQUIRED.
        protocol: the strategy that the coordinator chose.
        members: the group's members by member id, their subscriptions decoded; for the leader only.
        skip_assignment: set for a static leader that came back, which changes nothing (KIP-814).
    """

    round: int
    code: int
    member_id: str = ""
    generation: int = -1
    protocol: str = ""
    leader_id: str = ""
    members: Mapping[str, MemberView] = field(default_factory=dict)
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class AssignmentMade:
    """The assignment computed by the leader."""

    round: int
    shares: Shares


@dataclass(frozen=True, slots=True)
class AssignmentFailed:
    """The leader could not assign, for example without metadata."""

    round: int
    reason: str


@dataclass(frozen=True, slots=True)
class SyncCompleted:
    """The response to ``SendSync``; ``protocol`` is empty in versions without it."""

    round: int
    code: int
    partitions: frozenset[TopicPartition] = frozenset()
    protocol: str = ""


StepResult = CallbackDone | JoinCompleted | AssignmentMade | AssignmentFailed | SyncCompleted
CallerEvent = Subscribed | Leave | Polled | TimerExpired | RejoinTriggered
CoordinatorEvent = (
    CoordinatorLost | CoordinatorLocated | CoordinatorUnknown | HeartbeatCompleted | CommitCompleted
)
Event = CallerEvent | CoordinatorEvent | StepResult


# --- actions -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FindCoordinator:
    """Ask any broker for it; leads to ``CoordinatorLocated`` or ``CoordinatorUnknown``."""

    round: int


@dataclass(frozen=True, slots=True)
class ForgetCoordinator:
    """Drop the connection; responses to requests in flight are ignored."""

    reason: str


@dataclass(frozen=True, slots=True)
class RevokePartitions:
    """Stop delivering these partitions; call the listener. A step in the caller's thread."""

    round: int
    partitions: frozenset[TopicPartition]
    why: RevocationKind


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Read the ``added`` partitions; call on_partitions_assigned. A step in the caller's thread."""

    round: int
    added: frozenset[TopicPartition]
    owned: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendJoin:
    """Send JoinGroup. A step; it takes as long as the slowest member of the group.

    The shell allows the rebalance timeout plus 5 s; after that the connection counts as lost. It
    should have a connection of its own, so that no other request queues behind it.

    Attributes:
        owned, generation: the owned partitions in the subscription, and their generation.
        remembered: the partitions of an eager member in its last generation, for the user data of
            ``sticky``.
    """

    round: int
    member_id: str
    topics: frozenset[str]
    owned: frozenset[TopicPartition]
    remembered: frozenset[TopicPartition]
    generation: int
    cause: JoinReason


@dataclass(frozen=True, slots=True)
class Assign:
    """Compute the group's assignment by this strategy, as its leader. A step.

    The shell reads the metadata of all members' topics, and from now on reports changes.
    """

    round: int
    protocol: str
    members: Mapping[str, MemberView]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendSync:
    """Send SyncGroup; ``shares`` is empty unless we lead. A step."""

    round: int
    member_id: str
    generation: int
    protocol: str
    shares: Shares


@dataclass(frozen=True, slots=True)
class SendHeartbeat:
    """Send a heartbeat."""

    member_id: str
    generation: int


@dataclass(frozen=True, slots=True)
class SendLeave:
    """Send LeaveGroup; its response is ignored."""

    member_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class FenceMember:
    """Ownership is void now: deliver nothing more, and refuse commits.

    The listener is called at the next poll (``RevokePartitions`` with ``LOST``).
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the user: a log line."""

    text: str


@dataclass(frozen=True, slots=True)
class Raise:
    """Raise this error from the current poll, or from the next one.

    Attributes:
        code: the error code of the response; None if no broker sent it.
        final: whether the member stays out until the caller subscribes again.
    """

    code: int | None
    text: str
    final: bool = False


GroupOrder = FindCoordinator | SendHeartbeat | SendLeave
JoinStep = SendJoin | Assign | SendSync
HandlerCall = RevokePartitions | TakeOver
MemberChange = ForgetCoordinator | FenceMember | Notice | Raise
Action = GroupOrder | JoinStep | HandlerCall | MemberChange

NO_SHARES: Shares = {}
