"""The diagnoses: values in plain words, with evidence and repair."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import islice

from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.fix import Fix
from zkconsumer.status.model import GroupKey

EVIDENCE_SHOWN = 20
"""The maximum number of evidence lines; further ones are only counted."""


class Severity(IntEnum):
    """The severity of a diagnosis, ascending."""

    NOTE = 0
    """Worth knowing; nothing is lost or delayed."""
    WARNING = 1
    """Something does not work as intended, or soon will not."""
    ERROR = 2
    """Records are not read, are read twice, or are lost."""


class Code(StrEnum):
    """The kind of a diagnosis; the values are stable, for scripts."""

    # cluster
    NOT_LOOKED_AT = "not-looked-at"
    ZOOKEEPER_UNKNOWN = "zookeeper-unknown"
    NO_BROKERS = "no-brokers"
    BROKER_UNUSABLE = "broker-unusable"
    NO_CONTROLLER = "no-controller"
    CLOCK_SKEW = "clock-skew"
    TOPIC_UNREADABLE = "topic-unreadable"
    TOPIC_WITHOUT_PARTITIONS = "topic-without-partitions"
    LEADER_MISSING = "leader-missing"
    UNDER_REPLICATED = "under-replicated"
    # members
    MEMBER_STALE = "member-stale"
    MEMBER_UNREADABLE = "member-unreadable"
    MEMBER_FOREIGN = "member-foreign"
    MEMBER_NOT_UNDERSTOOD = "member-not-understood"
    MEMBER_UNREADABLE_BY_SCALA = "member-unreadable-by-scala"
    MEMBER_TIME_FAR_OFF = "member-time-far-off"
    MEMBER_IDLE = "member-idle"
    # owners
    OWNER_PERSISTENT = "owner-persistent"
    OWNER_OF_DEAD_SESSION = "owner-of-dead-session"
    OWNER_OF_OTHER_SESSION = "owner-of-other-session"
    OWNER_NO_MEMBER = "owner-no-member"
    OWNER_NO_THREAD = "owner-no-thread"
    OWNER_NOT_SUBSCRIBED = "owner-not-subscribed"
    OWNER_MISSING = "owner-missing"
    # subscriptions
    SUBSCRIPTIONS_UNEQUAL = "subscriptions-unequal"
    ASSIGNORS_DIFFER = "assignors-differ"
    TOO_FEW_PARTITIONS = "too-few-partitions"
    SUBSCRIBED_TOPIC_MISSING = "subscribed-topic-missing"
    # offsets
    OFFSET_BELOW_LOG = "offset-below-log"
    OFFSET_BEYOND_END = "offset-beyond-end"
    OFFSETS_SPLIT = "offsets-split"
    OFFSETS_DIFFER = "offsets-differ"
    OFFSETS_OF_DELETED_TOPICS = "offsets-of-deleted-topics"
    COMMITS_PAUSED = "commits-paused"
    READING_STALLED = "reading-stalled"
    # whole groups
    GROUP_PROBLEM = "group-problem"
    PARTITION_PROBLEM = "partition-problem"
    GROUP_OLD_AND_NEW = "group-old-and-new"
    GROUP_STOPPED = "group-stopped"
    GROUP_ABANDONED = "group-abandoned"
    COORDINATOR_MISSING = "coordinator-missing"
    REBALANCE_ENDLESS = "rebalance-endless"
    # readiness for another release
    READY_ZOOKEEPER_GROUPS = "ready-zookeeper-groups"
    READY_ABANDONED_GROUPS = "ready-abandoned-groups"
    READY_BROKERS = "ready-brokers"
    READY_MESSAGE_FORMATS = "ready-message-formats"
    READY_SETTINGS = "ready-settings"
    READY_CLIENTS = "ready-clients"
    READY_NOT_SEEN = "ready-not-seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """A fault, or a note.

    Attributes:
        code: its kind.
        severity: how bad it is.
        what: one or two sentences for readers who do not know the internals.
        evidence: the observations, one per line: numbers, nodes, members; of many only some.
        repair: how to repair it, and what to check first.
        fix: the repair as writes to ZooKeeper, if that is safe to offer.
        group: the affected group, which ``examine_group`` sets where it is not named; None for the
            cluster or a topic. Of two groups with one id it is the one in ZooKeeper.
        about: the affected partitions, if any.
        consequences: diagnoses that follow from it; they disappear with it.
        culprits: the ids of the members or owners that it is about, if any.
    """

    code: Code
    severity: Severity
    what: str
    evidence: Sequence[str]
    repair: str
    fix: Fix | None = None
    group: GroupKey | None = None
    about: frozenset[TopicPartition] = frozenset()
    consequences: "tuple[Diagnosis, ...]" = ()
    culprits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Keep the first lines of evidence, and the number of further ones."""
        object.__setattr__(self, "evidence", shorten(self.evidence))


def shorten(lines: Sequence[str], limit: int = EVIDENCE_SHOWN) -> tuple[str, ...]:
    """Return the first lines of evidence, and the number of further ones if that saves a line."""
    rest = len(lines) - limit
    return tuple(lines) if rest <= 1 else (*lines[:limit], f"... and {rest} more")


def some_of_both(lines: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return the first lines of two kinds of evidence, so that neither crowds out the other."""
    half = EVIDENCE_SHOWN // 2 - 1
    return (*shorten(lines, half), *shorten(others, half))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 member``, ``3 members``."""
    return f"{number} {noun if number == 1 else noun + 's'}"


def first_names(items: Iterable[str], count: int, limit: int = 5) -> str:
    """Return the first names, comma-separated, and the number of further ones."""
    shown = ", ".join(islice(items, limit))
    return shown if count <= limit else f"{shown} and {count - limit} more"


def ago(ms: int) -> str:
    """Return a duration in a readable unit: ``42 s``, ``42 min``, ``5 h``, ``3 d``."""
    for unit_ms, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min")):
        if ms >= 2 * unit_ms:
            return f"{ms // unit_ms} {name}"
    return f"{max(0, ms) // 1000} s"
