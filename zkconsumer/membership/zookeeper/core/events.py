"""The events and actions of the rebalance core: values only.

A *step* is an action whose result must be fed back before anything else happens. Every step carries
the number of its round and its result repeats it, so that a result that arrives after the session
ended, or after the member left, is recognised as outdated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.membership.zookeeper.core.plan import Ownership
from zkconsumer.model import TopicPartition


class RebalanceCause(Enum):
    """Why a rebalance started; appears in logs."""

    JOINED = "joined"
    MEMBERS = "members changed"
    TOPICS = "a topic's partitions changed"
    TOPIC_LIST = "topics changed"
    BROKERS = "brokers registered"
    OWNER_GONE = "an owner released a partition"
    REGISTRATION_GONE = "the node that blocked our registration is gone"
    RECONNECTED = "ZooKeeper is back"
    NEW_SESSION = "a new ZooKeeper session"
    RETRY = "another try"
    AUDIT = "an audit"
    COMMIT_FAILED = "a commit was refused"
    REQUESTED = "the caller requested it"


# --- events that come from outside -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Join:
    """The caller created its streams."""


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The caller shuts down, or withdraws after the first rebalance failed."""


@dataclass(frozen=True, slots=True)
class RebalanceTriggered:
    """A change was seen that may change the assignment."""

    cause: RebalanceCause


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """Connected, for the first time or again; the id shows whether it is the same session."""

    session_id: int


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The session of this id expired; its ephemeral nodes are gone."""

    session_id: int


@dataclass(frozen=True, slots=True)
class DeadlineReached:
    """The core's deadline has passed."""


# --- results of steps --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StepDone:
    """The step succeeded."""

    round: int


@dataclass(frozen=True, slots=True)
class StepFailed:
    """The step failed: the network, ZooKeeper, or an invalid value."""

    round: int
    reason: str


@dataclass(frozen=True, slots=True)
class RegistrationBlocked:
    """A node of another session exists at the path of our registration."""

    round: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRead:
    """The state of the group in ZooKeeper.

    Attributes:
        round: the round of the step.
        view: every member's subscription, expanded, and the partitions of their topics.
        registered: whether our own registration is there.
        held: those of our claimed partitions whose owner nodes are still ours.
        broker_count: how many brokers are alive.
        stopped: those being read that stay stopped until started again, such as at a damaged
            message; set in audits only.
        recreated: those being read whose topic was deleted and created again since they were
            started: their records belong to the former topic.
    """

    round: int
    view: GroupView
    registered: bool
    held: frozenset[TopicPartition]
    broker_count: int
    stopped: frozenset[TopicPartition] = frozenset()
    recreated: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class ClaimRefused:
    """Some partitions have another owner; none was claimed.

    Attributes:
        round: the round of the step.
        held_by: the thread id in each owner node that blocks the claim.
        stuck: those whose node belongs to no session, so that it is never deleted by itself, each
            with the remedy.
    """

    round: int
    held_by: Mapping[TopicPartition, str]
    stuck: Mapping[TopicPartition, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OffsetsLoaded:
    """The committed offset of each claimed partition; None if it has none."""

    round: int
    offsets: Mapping[TopicPartition, int | None]


StepResult = StepDone | StepFailed | RegistrationBlocked | GroupRead | ClaimRefused | OffsetsLoaded
Event = (
    Join
    | Withdraw
    | RebalanceTriggered
    | SessionStarted
    | SessionEnded
    | DeadlineReached
    | StepResult
)


# --- steps: each has a result ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Register:
    """Create the registration node, in this session and no other.

    Everything claimed later is bound to the registration's session. The step fails if the client
    has a newer session already, whose start event is still under way.
    """

    round: int
    session_id: int


@dataclass(frozen=True, slots=True)
class ReadGroup:
    """Read the group, set all watches, and check who owns these partitions.

    An audit also looks for partitions without an owner, and for stopped ones of ours.
    """

    round: int
    check: tuple[TopicPartition, ...]
    audit: bool = False


@dataclass(frozen=True, slots=True)
class Revoke:
    """Stop delivering these partitions."""

    round: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """Call the listener and, with auto-commit, commit the consumed offsets of these partitions.

    Those that ``stay`` are started again at once; the listener is not called for them.
    """

    round: int
    partitions: tuple[TopicPartition, ...]
    stay: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class Release:
    """Delete these owner nodes."""

    round: int
    owned: Ownership


@dataclass(frozen=True, slots=True)
class Claim:
    """Create these owner nodes, all or none."""

    round: int
    wanted: Ownership


@dataclass(frozen=True, slots=True)
class LoadOffsets:
    """Read the committed offsets of these partitions, which no other member may commit now."""

    round: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """Call the listener with the group's assignment; fetch and deliver these from these offsets."""

    round: int
    owned: Ownership
    offsets: Mapping[TopicPartition, int | None]
    assignment: Ownership


Step = Register | ReadGroup | Revoke | Commit | Release | Claim | LoadOffsets | Start


# --- actions without a result ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Begun:
    """A round begins."""

    cause: RebalanceCause


@dataclass(frozen=True, slots=True)
class Blocked:
    """These partitions of ours can't be claimed until an operator intervenes; a reason for each.

    ``wanted`` has, at least for these, the threads that they are assigned to.
    """

    reasons: Mapping[TopicPartition, str]
    wanted: Ownership


@dataclass(frozen=True, slots=True)
class Lost:
    """The owner nodes of these partitions are gone or another member's: they are no longer ours."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Recreated:
    """The topics of these partitions were deleted and created again; we read the former ones."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Fence:
    """Ownership is void: stop delivering everything, commit nothing."""

    reason: str


@dataclass(frozen=True, slots=True)
class AwaitOwners:
    """Watch the owner nodes that block the claim."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class AwaitRegistration:
    """Watch the node that blocks our registration."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Every partition of ours is being read."""

    owned: Ownership
    cause: RebalanceCause
    changed: bool


@dataclass(frozen=True, slots=True)
class RetryLater:
    """The try failed; another follows."""

    attempt: int
    delay_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReportFailure:
    """All tries failed: report it to the caller. Tries go on, at longer intervals."""

    attempts: int
    reason: str


@dataclass(frozen=True, slots=True)
class Unregister:
    """Delete the registration node."""


Action = (
    Step
    | Begun
    | Blocked
    | Lost
    | Recreated
    | Fence
    | AwaitOwners
    | AwaitRegistration
    | Settled
    | RetryLater
    | ReportFailure
    | Unregister
)
