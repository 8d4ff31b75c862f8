"""What a connector tells whoever wants to know: events as values, and one protocol to hear them.

Metrics, the structured log and tests hang on this. Events come from whichever thread something
happened in, at that moment; durations are in milliseconds of a monotonic clock.

Source: the measured points of Kafka 0.8.2.2 (``RebalanceRateAndTime``, ``ZooKeeperCommitsPerSec``,
``KafkaCommitsPerSec``, ``BytesPerSec``, ...), with the causes and outcomes that those lack.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from zkconsumer.errors import without_frames
from zkconsumer.model import ConsumerThreadId, TopicPartition

log = logging.getLogger(__name__)


class MemberName(NamedTuple):
    """Whom an event is about: one member of one group.

    Example:
        >>> MemberName("billing", "billing_host-1-abc").group_id
        'billing'
    """

    group_id: str
    consumer_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A connector was put together; what it runs on, see ``build_info.BuildInfo``."""

    version: str
    python: str
    engine: str
    crc: str
    why: str


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """The ZooKeeper session is ``CONNECTED``, ``SUSPENDED`` or ``LOST``."""

    state: str
    session_id: int


@dataclass(frozen=True, slots=True)
class Joined:
    """The first rebalance of a subscription is through; ``duration_ms`` from the request on."""

    duration_ms: int


@dataclass(frozen=True, slots=True)
class Left:
    """The member left the group: everything released, registration deleted (as far as possible)."""


@dataclass(frozen=True, slots=True)
class RebalanceStarted:
    """A round of rebalancing begins, for this reason (see ``RebalanceCause``)."""

    cause: str


@dataclass(frozen=True, slots=True)
class RebalanceStep:
    """One step of a round ended.

    Attributes:
        step: its name (Register, ReadGroup, Revoke, Commit, Release, Claim, LoadOffsets, Start).
        partitions: how many it was about.
        duration_ms: how long it took.
        failure: why it failed; None where it did what it should.
    """

    step: str
    partitions: int
    duration_ms: int
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceFinished:
    """The member is at rest: every partition that falls to it is being read.

    Attributes:
        cause: of the last round.
        duration_ms: since it last left the rest, failed tries and pauses included.
        changed: whether anything changed hands.
        owned: what it reads now, and in which of its threads.
    """

    cause: str
    duration_ms: int
    changed: bool
    owned: Mapping[TopicPartition, ConsumerThreadId]


@dataclass(frozen=True, slots=True)
class RebalanceTryFailed:
    """A try failed; the next one follows after ``delay_ms``, or at the next change."""

    attempt: int
    delay_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class RebalanceGivenUp:
    """``rebalance.max.retries`` tries failed. The streams hear it; slower tries go on."""

    attempts: int
    reason: str


@dataclass(frozen=True, slots=True)
class PartitionsClaimed:
    """Owner nodes were created, or taken over from a thread of the same member."""

    owned: Mapping[TopicPartition, ConsumerThreadId]


@dataclass(frozen=True, slots=True)
class PartitionsReleased:
    """Owner nodes were deleted, so that others can claim."""

    owned: Mapping[TopicPartition, ConsumerThreadId]


@dataclass(frozen=True, slots=True)
class PartitionsLost:
    """Partitions were taken from this member: the session ended, or somebody deleted the node."""

    partitions: Sequence[TopicPartition]
    reason: str


@dataclass(frozen=True, slots=True)
class PartitionsBlocked:
    """Partitions of ours that can't be claimed until somebody steps in: text for each of them."""

    reasons: Mapping[TopicPartition, str]


@dataclass(frozen=True, slots=True)
class OrphansSeen:
    """An audit found partitions of subscribed topics without an owner; empty: no longer."""

    partitions: Sequence[TopicPartition]


@dataclass(frozen=True, slots=True)
class DeliveryPaused:
    """ZooKeeper was silent too long for anyone to be sure of what is owned; streams wait."""

    silent_ms: int


@dataclass(frozen=True, slots=True)
class DeliveryResumed:
    """Streams deliver again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """One answer of a broker, or several in a row: then all numbers are sums.

    Attributes:
        broker_id: who answered.
        partitions: how many partitions it was about.
        size_bytes: of their record sets, as received.
        records: how many records came out.
        duration_ms: from sending the request to having the answer, the broker's wait included.
        fetches: how many answers; the native engine tells once a second.
    """

    broker_id: int
    partitions: int
    size_bytes: int
    records: int
    duration_ms: int
    fetches: int = 1


@dataclass(frozen=True, slots=True)
class LeaderLost:
    """A partition needs its leader again; fetching goes on where it stood."""

    partition: TopicPartition
    reason: str


@dataclass(frozen=True, slots=True)
class PositionReset:
    """The log does not have this offset (any more, or yet): ``auto.offset.reset`` decides."""

    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """Offsets were written.

    Attributes:
        storage: ``zookeeper`` or ``kafka``.
        offsets: what was written.
        duration_ms: how long it took.
    """

    storage: str
    offsets: Mapping[TopicPartition, int]
    duration_ms: int


@dataclass(frozen=True, slots=True)
class CommitFailed:
    """Offsets were not written (or nobody knows); the reason for each partition."""

    storage: str
    reasons: Mapping[TopicPartition, str]


@dataclass(frozen=True, slots=True)
class MessagePoisoned:
    """A message that can't be read, and what the policy did: ``raise``, ``skip``, ...

    ``offset`` is where the log has it, ``next_offset`` where reading goes on (None: nowhere).
    """

    partition: TopicPartition
    offset: int
    next_offset: int | None
    policy: str
    reason: str


@dataclass(frozen=True, slots=True)
class ErrorSeen:
    """Something went wrong that nobody else reports; ``where`` names the part of the connector."""

    where: str
    error: BaseException

    def __post_init__(self) -> None:
        """Let go of what the error passed on its way: observers may keep events."""
        without_frames(self.error)


Event = (
    Created
    | SessionChanged
    | Joined
    | Left
    | RebalanceStarted
    | RebalanceStep
    | RebalanceFinished
    | RebalanceTryFailed
    | RebalanceGivenUp
    | PartitionsClaimed
    | PartitionsReleased
    | PartitionsLost
    | PartitionsBlocked
    | OrphansSeen
    | DeliveryPaused
    | DeliveryResumed
    | Fetched
    | LeaderLost
    | PositionReset
    | Committed
    | CommitFailed
    | MessagePoisoned
    | ErrorSeen
)


class Observer(Protocol):
    """Hears everything that a connector does.

    Example:
        >>> class Counting:
        ...     events = 0
        ...     def observe(self, member, event):
        ...         self.events += 1
        >>> counting: Observer = Counting()
    """

    def observe(self, member: MemberName, event: Event) -> None:
        """Take note, quickly: the thread that calls has work to do. Thread: any.

        It must not call the connector. What it raises is logged and otherwise ignored.

        Args:
            member: whom the event is about.
            event: one of the classes of this module.
        """
        ...


class Observation:
    """What the parts of one connector report to: gives each event to every observer.

    Args:
        member: the connector's member.
        observers: whom to tell; none is fine.
    """

    def __init__(self, member: MemberName, observers: Sequence[Observer] = ()) -> None:
        self.member = member
        self._observers = tuple(observers)

    @property
    def has_observers(self) -> bool:
        """Whether there is anybody to tell."""
        return bool(self._observers)

    def report(self, event: Event) -> None:
        """Tell everybody; one that fails does not keep it from the others. Thread: any."""
        for observer in self._observers:
            try:
                observer.observe(self.member, event)
            except Exception:  # a stranger's code: its faults are not the group's
                log.exception("observer %r failed on %s", observer, type(event).__name__)


SILENT = Observation(MemberName("", ""))
"""Tells nobody: for parts that are used outside of a connector."""
