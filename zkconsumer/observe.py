"""The events of a connector as values, and the protocol of their observers.

Metrics, the structured log and tests observe these. An event is reported on the thread on which it
happened, at that moment; durations are in milliseconds of a monotonic clock.

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
    """The subject of an event: one member of one group.

    Attributes:
        group_id: the group.
        consumer_id: the member of it, as in ``/consumers/<group>/ids``.

    Example:
        >>> MemberName("billing", "billing_host-1-abc").group_id
        'billing'
    """

    group_id: str
    consumer_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A connector was created; for the fields see ``build_info.BuildInfo``."""

    version: str
    python: str
    engine: str
    crc: str
    why: str


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """The ZooKeeper session became ``CONNECTED``, ``SUSPENDED`` or ``LOST``."""

    state: str
    session_id: int


@dataclass(frozen=True, slots=True)
class Joined:
    """The first rebalance of a subscription ended, ``duration_ms`` after it was requested."""

    duration_ms: int


@dataclass(frozen=True, slots=True)
class Left:
    """The member left the group; it released its partitions and deregistered as far as it could."""


@dataclass(frozen=True, slots=True)
class RebalanceStarted:
    """A rebalance round begins, for this reason (see ``RebalanceCause``)."""

    cause: str


@dataclass(frozen=True, slots=True)
class RebalanceStep:
    """One step of a round ended.

    Attributes:
        step: its name (Register, ReadGroup, Revoke, Commit, Release, Claim, LoadOffsets, Start).
        partitions: the number of partitions involved.
        duration_ms: its duration.
        failure: why it failed; None if it succeeded.
    """

    step: str
    partitions: int
    duration_ms: int
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceFinished:
    """The rebalance ended: every partition assigned to the member is being read.

    Attributes:
        cause: the cause of the last round.
        duration_ms: the time since the first round began, including failed attempts and pauses.
        changed: whether a partition changed hands.
        owned: its partitions, each with the consumer thread that reads it.
    """

    cause: str
    duration_ms: int
    changed: bool
    owned: Mapping[TopicPartition, ConsumerThreadId]


@dataclass(frozen=True, slots=True)
class RebalanceTryFailed:
    """A rebalance attempt failed; the next follows after ``delay_ms`` or at the next change."""

    attempt: int
    delay_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class RebalanceGivenUp:
    """``rebalance.max.retries`` attempts failed. The streams raise; slower attempts follow."""

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
    """Partitions were taken from this member: the session ended, or the node was deleted."""

    partitions: Sequence[TopicPartition]
    reason: str


@dataclass(frozen=True, slots=True)
class PartitionsBlocked:
    """Partitions assigned to the member that only an operator can free, with the reason of each."""

    reasons: Mapping[TopicPartition, str]


@dataclass(frozen=True, slots=True)
class OrphansSeen:
    """An audit found partitions of subscribed topics without an owner; empty: there are none."""

    partitions: Sequence[TopicPartition]


@dataclass(frozen=True, slots=True)
class DeliveryPaused:
    """ZooKeeper was silent for so long that ownership is uncertain; streams wait."""

    silent_ms: int


@dataclass(frozen=True, slots=True)
class DeliveryResumed:
    """Streams deliver again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A fetch response of a broker, or several: then all numbers are sums.

    Attributes:
        broker_id: the broker.
        partitions: the number of partitions in it.
        size_bytes: the bytes of their record sets, as received.
        records: the number of records in them.
        duration_ms: the time from request to response, including the broker's wait.
        fetches: the number of responses; the native engine reports once a second.
    """

    broker_id: int
    partitions: int
    size_bytes: int
    records: int
    duration_ms: int
    fetches: int = 1


@dataclass(frozen=True, slots=True)
class LeaderLost:
    """A partition needs a leader again; fetching continues at the same position."""

    partition: TopicPartition
    reason: str


@dataclass(frozen=True, slots=True)
class PositionReset:
    """The log does not have this offset (any more, or yet), so reading continues at another one.

    That is where an unclean leader election truncated the log, if its leader reports it; otherwise
    ``auto.offset.reset`` decides.
    """

    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """Offsets were written.

    Attributes:
        storage: ``zookeeper`` or ``kafka``.
        offsets: the committed offsets.
        duration_ms: the duration of the commit.
    """

    storage: str
    offsets: Mapping[TopicPartition, int]
    duration_ms: int


@dataclass(frozen=True, slots=True)
class CommitFailed:
    """Offsets were not committed, or the outcome is unknown; with the reason for each partition."""

    storage: str
    reasons: Mapping[TopicPartition, str]


@dataclass(frozen=True, slots=True)
class MessagePoisoned:
    """A message that can't be read, and what the policy did: ``raise``, ``skip``, ...

    ``offset`` is its offset, ``next_offset`` where reading continues (None: it stops).
    """

    partition: TopicPartition
    offset: int
    next_offset: int | None
    policy: str
    reason: str


@dataclass(frozen=True, slots=True)
class ErrorSeen:
    """An error that no other event reports; ``where`` names the part of the connector."""

    where: str
    error: BaseException

    def __post_init__(self) -> None:
        """Drop the frames of the error's traceback, since observers may keep events."""
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
    """Receives the events of a connector.

    Example:
        >>> class Counting:
        ...     events = 0
        ...     def observe(self, member, event):
        ...         self.events += 1
        >>> counting: Observer = Counting()
    """

    def observe(self, member: MemberName, event: Event) -> None:
        """Handle an event, quickly: the calling thread has other work.

        It must not call the connector. What it raises is logged and otherwise ignored.

        Args:
            member: the subject of the event.
            event: one of the event classes of ``zkconsumer.observe``.

        Thread: any.
        """
        ...


class Observation:
    """Passes the events of one connector to its observers.

    Args:
        member: the connector's member.
        observers: the observers; may be empty.
    """

    def __init__(self, member: MemberName, observers: Sequence[Observer] = ()) -> None:
        self.member = member
        self._observers = tuple(observers)

    @property
    def has_observers(self) -> bool:
        """Whether there are observers."""
        return bool(self._observers)

    def report(self, event: Event) -> None:
        """Pass an event to all observers, even if one of them fails. Thread: any."""
        for observer in self._observers:
            try:
                observer.observe(self.member, event)
            except Exception:  # foreign code: its faults must not affect the group
                log.exception("observer %r failed on %s", observer, type(event).__name__)


SILENT = Observation(MemberName("", ""))
"""An observation without observers, for parts that are used outside of a connector."""
