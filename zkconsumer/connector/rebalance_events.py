"""What the rebalance core hears and what it wants done: values only.

A *step* is an action that must be answered before anything else happens. Every step carries the
number of its round and its answer echoes it, so that an answer that comes after the session ended,
or after the member left, is recognised as one to another question.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.connector.plan import Ownership
from zkconsumer.model import TopicPartition


class RebalanceCause(Enum):
    """Why a rebalance started; appears in logs."""

    JOINED = "joined"
    MEMBERS = "members changed"
    TOPICS = "a topic's partitions changed"
    TOPIC_LIST = "topics changed"
    BROKERS = "brokers came"
    OWNER_GONE = "an owner released a partition"
    REGISTRATION_GONE = "the node in our registration's way is gone"
    RECONNECTED = "ZooKeeper is back"
    NEW_SESSION = "a new ZooKeeper session"
    RETRY = "another try"
    AUDIT = "an audit"
    COMMIT_FAILED = "a commit was refused"
    ASKED = "the caller asked for it"


# --- events that come from outside -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Join:
    """The caller created its streams."""


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Shut down, or withdraw after the first rebalance failed."""


@dataclass(frozen=True, slots=True)
class RebalanceTriggered:
    """Something was seen that may change who owns what."""

    cause: RebalanceCause


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """Connected, or connected again: the id tells whether it is still the same session."""

    session_id: int


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The session of this id expired; its ephemeral nodes are gone."""

    session_id: int


@dataclass(frozen=True, slots=True)
class DeadlineReached:
    """The deadline that the core named has come."""


# --- answers to steps --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StepDone:
    """The step did what it should."""

    round: int


@dataclass(frozen=True, slots=True)
class StepFailed:
    """The step failed: the network, ZooKeeper, or a value that made no sense."""

    round: int
    reason: str


@dataclass(frozen=True, slots=True)
class RegistrationBlocked:
    """A node of another session stands where our registration belongs."""

    round: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRead:
    """What ZooKeeper holds of the group.

    Attributes:
        round: the step's.
        view: every member's subscription, expanded, and the partitions of their topics.
        registered: whether our own registration is there.
        held: those of our claimed partitions whose owner nodes are ours.
        broker_count: how many brokers are alive.
        stopped: those being read that stand still for good, such as behind a damaged message;
            looked at in an audit only.
        recreated: those being read whose topic was deleted and created again since they were
            started: what was read of them is of the former topic.
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
        round: the step's.
        held_by: the thread id in each owner node that was in the way.
        stuck: those of them whose node belongs to no session, so that it never goes by itself,
            with what to do about it.
    """

    round: int
    held_by: Mapping[TopicPartition, str]
    stuck: Mapping[TopicPartition, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OffsetsLoaded:
    """The committed offset of each claimed partition, None where there is none."""

    round: int
    offsets: Mapping[TopicPartition, int | None]


Answer = StepDone | StepFailed | RegistrationBlocked | GroupRead | ClaimRefused | OffsetsLoaded
Event = (
    Join | Withdraw | RebalanceTriggered | SessionStarted | SessionEnded | DeadlineReached | Answer
)


# --- steps: each is answered ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Register:
    """Create the registration node, in this session and no other.

    All that is claimed later is bound to the registration's session. If the client is in a newer
    one already, whose start is still on its way here, the step fails.
    """

    round: int
    session_id: int


@dataclass(frozen=True, slots=True)
class ReadGroup:
    """Read the group and set all watches; look who owns these.

    An audit also looks for partitions that nobody owns, and for those of ours that stand still.
    """

    round: int
    check: tuple[TopicPartition, ...]
    audit: bool = False


@dataclass(frozen=True, slots=True)
class Revoke:
    """Stop delivering these."""

    round: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """Tell the listener, and commit the consumed offsets of these where auto-commit is on.

    Those that ``stay`` are started anew at once; of them the listener hears nothing.
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
    """Read the committed offsets of these, now that nobody else may move them."""

    round: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """Tell the listener who owns what in the group; fetch and deliver these, from these offsets."""

    round: int
    owned: Ownership
    offsets: Mapping[TopicPartition, int | None]
    assignment: Ownership


Step = Register | ReadGroup | Revoke | Commit | Release | Claim | LoadOffsets | Start


# --- actions without an answer -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Begun:
    """A round begins."""

    cause: RebalanceCause


@dataclass(frozen=True, slots=True)
class Blocked:
    """These partitions of ours can't be claimed until somebody steps in: text for each.

    ``wanted`` says, of these at least, which of our threads they fall to.
    """

    reasons: Mapping[TopicPartition, str]
    wanted: Ownership


@dataclass(frozen=True, slots=True)
class Lost:
    """The owner nodes of these are gone, or another's: they are not ours any more."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Recreated:
    """The topics of these were deleted and created again: what was read is of former ones."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Fence:
    """Ownership is void: stop delivering everything, commit nothing."""

    reason: str


@dataclass(frozen=True, slots=True)
class AwaitOwners:
    """Watch the owner nodes that are in the way."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class AwaitRegistration:
    """Watch the registration node that is in the way."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Every partition of ours is being read."""

    owned: Ownership
    cause: RebalanceCause
    changed: bool


@dataclass(frozen=True, slots=True)
class RetryLater:
    """The try failed; there will be another."""

    attempt: int
    delay_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReportFailure:
    """All tries failed: the caller must hear it. Tries go on, at longer intervals."""

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
