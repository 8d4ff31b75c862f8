"""Writes the structured log: each decision of a rebalance as one line, its fields as attributes.

The line is for people, such as ``group g, member g_host-1: rebalance finished cause="..."``. The
same values are on the log record as ``record.zkconsumer``, a flat dict, for JSON formatters.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.membership.zookeeper.core.plan import own_share
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.observe import (
    CommitFailed,
    Committed,
    Created,
    DeliveryPaused,
    DeliveryResumed,
    ErrorSeen,
    Event,
    Fetched,
    Joined,
    LeaderLost,
    Left,
    MemberName,
    MessagePoisoned,
    OrphansSeen,
    PartitionsBlocked,
    PartitionsClaimed,
    PartitionsLost,
    PartitionsReleased,
    PositionReset,
    RebalanceFinished,
    RebalanceGivenUp,
    RebalanceStarted,
    RebalanceStep,
    RebalanceTryFailed,
    SessionChanged,
)
from zkconsumer.pace import Pace
from zkconsumer.repeats import SETTLE_MS

log = logging.getLogger("zkconsumer.events")

_LEVELS: Mapping[type[Event], int] = {
    Created: logging.INFO,
    SessionChanged: logging.INFO,
    Joined: logging.INFO,
    Left: logging.INFO,
    RebalanceStarted: logging.DEBUG,
    RebalanceStep: logging.DEBUG,
    RebalanceFinished: logging.INFO,
    RebalanceTryFailed: logging.INFO,
    RebalanceGivenUp: logging.ERROR,
    PartitionsClaimed: logging.INFO,
    PartitionsReleased: logging.INFO,
    PartitionsLost: logging.WARNING,
    PartitionsBlocked: logging.ERROR,
    OrphansSeen: logging.WARNING,
    DeliveryPaused: logging.WARNING,
    DeliveryResumed: logging.INFO,
    Committed: logging.DEBUG,
}
_ELSEWHERE = (Fetched, LeaderLost, PositionReset, MessagePoisoned, CommitFailed, ErrorSeen)
"""Too frequent for a log, or logged with their traces where they happen."""

_MOST = 20
"""The maximum number of partitions listed; a group may have thousands."""


@dataclass(slots=True)
class _Interruptions:
    """Counts interruptions of a member's connection: many in a row are one line, then a number.

    Attributes:
        connected_ms: when the connection was last established; None: not yet.
        pace: decides when an interruption is logged again; None: none was logged.
    """

    connected_ms: int | None = None
    pace: Pace | None = None

    def connected(self, now_ms: int) -> bool:
        """Record that the connection is established; return whether to log that."""
        self.connected_ms = now_ms
        return self.pace is None or not self.pace.left_out

    def suspended(self, now_ms: int) -> str | None:
        """Record an interruption; return what to append to its line, or None for no line."""
        if self.pace is None:
            self.pace = Pace(now_ms)
            return ""
        is_calm = self.connected_ms is None or now_ms - self.connected_ms >= SETTLE_MS
        return self.pace.logged(now_ms) if is_calm else self.pace.repeat(now_ms)


class LoggingObserver:
    """Writes the events of one or more connectors to the logger ``zkconsumer.events``.

    Args:
        clock: the time source for pacing repeated events; None: the system's.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._interruptions: dict[MemberName, _Interruptions] = {}

    def observe(self, member: MemberName, event: Event) -> None:
        """See ``Observer``."""
        if isinstance(event, _ELSEWHERE):
            return
        level, more = _level(event), ""
        if isinstance(event, SessionChanged):
            paced = self._paced(member, event)
            level, more = (logging.DEBUG, "") if paced is None else (level, paced)
        if not log.isEnabledFor(level):
            return
        values = {
            attribute.name: _plain(getattr(event, attribute.name)) for attribute in fields(event)
        }
        name = _words(type(event).__name__)
        text = " ".join(f"{key}={value!r}" for key, value in values.items())
        extra = {"event": name, **member._asdict(), **values}
        log.log(
            level,
            "group %s, member %s: %s %s%s",
            *member,
            name,
            text,
            more,
            extra={"zkconsumer": extra},
        )

    def _paced(self, member: MemberName, event: SessionChanged) -> str | None:
        """Return what to append to the line; None to log the event at level DEBUG."""
        if event.state == "LOST":
            self._interruptions.pop(member, None)
            return ""
        interruptions = self._interruptions.setdefault(member, _Interruptions())
        now_ms = self._clock.now_ms()
        if event.state == "CONNECTED":
            return "" if interruptions.connected(now_ms) else None
        return interruptions.suspended(now_ms)


def _level(event: Event) -> int:
    if isinstance(event, RebalanceFinished) and not event.changed:
        return logging.DEBUG
    if isinstance(event, OrphansSeen) and not event.partitions:
        return logging.INFO
    if isinstance(event, SessionChanged) and event.state != "CONNECTED":
        return logging.WARNING
    return _LEVELS[type(event)]


def _words(name: str) -> str:
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in name)
    return spaced.strip()


def _plain(value: object) -> object:
    """Return a value fit for JSON, with long lists truncated."""
    if isinstance(value, Mapping):
        if all(isinstance(thread, ConsumerThreadId) for thread in value.values()):
            return own_share(value)
        pairs = [f"{key}: {item}" for key, item in sorted(value.items())[:_MOST]]
        return _list(pairs, len(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        ordered: list[TopicPartition] = sorted(value)
        return _list([f"{item}" for item in ordered[:_MOST]], len(ordered))
    return value


def _list(shown: Sequence[str], total: int) -> str:
    more = f", ... ({total} in all)" if total > len(shown) else ""
    return ", ".join(shown) + more
