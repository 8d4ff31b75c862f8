"""What the membership core hears and what it wants done: values only, no bytes.

A *step* is an action that must be answered. Every step carries the number of its round and its
answer echoes it, so that what comes after the core has moved on is recognised as late.
``FindCoordinator`` and heartbeats run beside the steps.
"""

from dataclasses import dataclass
from enum import Enum

from zkconsumer.assignment.coordinated.strategy import Shares
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
    CAME_BACK = "the consumer polls again"
    MISFIT = "received assignment does not match the current subscription"
    ASKED = "the caller asked for a rebalance"


# --- events that come from outside -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The caller's topics, patterns expanded: at first, and whenever they have changed.

    Attributes:
        topics: their names.
        open_ended: a pattern chose them, so an assignment may name topics that we don't know yet.
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
    """The deadline that the core named has come."""


@dataclass(frozen=True, slots=True)
class RejoinTriggered:
    """A reason to join again: ``TOPICS`` (heard only by a leader) or ``ASKED``."""

    cause: JoinReason


@dataclass(frozen=True, slots=True)
class CoordinatorLost:
    """The connection to the coordinator broke: nothing in flight will be answered."""


@dataclass(frozen=True, slots=True)
class CoordinatorLocated:
    """The group has a coordinator, and we know where."""

    round: int


@dataclass(frozen=True, slots=True)
class CoordinatorUnknown:
    """Nobody could say; ``code`` is None where no broker answered."""

    round: int
    code: int | None


@dataclass(frozen=True, slots=True)
class HeartbeatCompleted:
    """The answer to the heartbeat sent under that identity."""

    member_id: str
    generation: int
    code: int


@dataclass(frozen=True, slots=True)
class CommitCompleted:
    """An offset commit under that identity was refused, or not: it tells of our membership."""

    member_id: str
    generation: int
    code: int


# --- answers to steps --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CallbackDone:
    """Report that ``RevokePartitions`` or ``TakeOver`` is done, whatever the listener raised."""

    round: int


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member as the coordinator presents it to the leader, its subscription decoded.

    Attributes:
        topics, owned, generation, instance_id: see ``MemberView``.
    """

    member_id: str
    topics: frozenset[str]
    owned: frozenset[TopicPartition] = frozenset()
    generation: int = -1
    instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinCompleted:
    """The answer to ``SendJoin``.

    Attributes:
        code: where it is not 0, only ``member_id`` means something, and that only with
            MEMBER_ID_REQUIRED.
        protocol: the strategy that the group settled on.
        members: the group; filled for the leader only.
        skip_assignment: a static leader that came back, for which nothing changes (KIP-814).
    """

    round: int
    code: int
    member_id: str = ""
    generation: int = -1
    protocol: str = ""
    leader_id: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class AssignmentMade:
    """The leader's work."""

    round: int
    shares: Shares


@dataclass(frozen=True, slots=True)
class AssignmentFailed:
    """The leader could not assign, such as for want of metadata."""

    round: int
    reason: str


@dataclass(frozen=True, slots=True)
class SyncCompleted:
    """The answer to ``SendSync``; ``protocol`` is empty where the version doesn't tell."""

    round: int
    code: int
    partitions: frozenset[TopicPartition] = frozenset()
    protocol: str = ""


Answer = CallbackDone | JoinCompleted | AssignmentMade | AssignmentFailed | SyncCompleted
Wish = Subscribed | Leave | Polled | TimerExpired | RejoinTriggered
News = (
    CoordinatorLost | CoordinatorLocated | CoordinatorUnknown | HeartbeatCompleted | CommitCompleted
)
Event = Wish | News | Answer


# --- actions -----------------------------------------------------------------------------------


class Why(Enum):
    """In what way partitions are given up."""

    REVOKED = "still ours: commit, then call on_partitions_revoked"
    LOST = "others may have them: commit nothing, call on_partitions_lost"


@dataclass(frozen=True, slots=True)
class FindCoordinator:
    """Ask any broker; answered by ``CoordinatorLocated`` or ``CoordinatorUnknown``."""

    round: int


@dataclass(frozen=True, slots=True)
class ForgetCoordinator:
    """Drop the connection: what is in flight on it will not be heard."""

    reason: str


@dataclass(frozen=True, slots=True)
class RevokePartitions:
    """Stop delivering these, then as ``why`` says. A step; in the caller's thread."""

    round: int
    partitions: frozenset[TopicPartition]
    why: Why


@dataclass(frozen=True, slots=True)
class TakeOver:
    """These came to what is ``owned`` now: call on_partitions_assigned, read. A step; as above."""

    round: int
    added: frozenset[TopicPartition]
    owned: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendJoin:
    """JoinGroup. A step; it takes as long as the slowest member of the group.

    The shell gives it the time that a rebalance waits, and 5 s more; after that the connection
    counts as lost. It should have a connection of its own, so that nothing waits behind it.

    Attributes:
        owned, generation: the claim to carry in the subscription.
        remembered: what an eager member had in its last generation, for the data of ``sticky``.
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
    """We lead: share out, by this strategy. A step.

    The shell reads the metadata of all the members' topics, and from now on tells of changes.
    """

    round: int
    protocol: str
    members: tuple[JoinedMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendSync:
    """SyncGroup; ``shares`` is empty unless we lead. A step."""

    round: int
    member_id: str
    generation: int
    protocol: str
    shares: Shares


@dataclass(frozen=True, slots=True)
class SendHeartbeat:
    """Heartbeat."""

    member_id: str
    generation: int


@dataclass(frozen=True, slots=True)
class SendLeave:
    """LeaveGroup; nobody waits for the answer."""

    member_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class FenceMember:
    """Ownership is void, now: deliver nothing more of it and refuse commits.

    The listener hears it at the next poll (``RevokePartitions`` with ``LOST``).
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should read: a log line and a count."""

    text: str


@dataclass(frozen=True, slots=True)
class Raise:
    """The poll under way, or the next one, raises this.

    Attributes:
        code: of the answer; None where no broker said it.
        final: we don't join again until the caller subscribes anew.
    """

    code: int | None
    text: str
    final: bool = False


Action = (
    FindCoordinator
    | ForgetCoordinator
    | RevokePartitions
    | TakeOver
    | SendJoin
    | Assign
    | SendSync
    | SendHeartbeat
    | SendLeave
    | FenceMember
    | Notice
    | Raise
)

NO_SHARES: Shares = {}
