"""What one target is still to be told: the difference between what is and what it knows. Pure.

There is no queue that could grow: whatever happened while a target was away, or in quiet hours, it
is told how things are then, once. What came and went meanwhile it never hears of.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from zkconsumer.notify.alerts import Alert
from zkconsumer.notify.quiet import QuietHours
from zkconsumer.notify.troubles import Subject
from zkconsumer.status.doctor.diagnosis import Severity

_RETRY_MS: Final = 1_000
_RETRY_MOST_MS: Final = 300_000


class Status(StrEnum):
    """What a message says of an alert; the values are what programs read."""

    FIRING = "firing"
    WORSE = "worse"
    REMINDER = "reminder"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """What a target is told about one subject.

    Attributes:
        status: see ``Status``.
        alert: as it is; of a resolved one, as it was told.
        at_ms: when it was said, since the epoch.
    """

    status: Status
    alert: Alert
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a target wants to hear, and when.

    Attributes:
        severity: of this or worse.
        silenced: nothing about groups whose id one of them matches as a whole.
        quiet: nothing within these hours.
        repeat_ms: how often it is reminded; None: never.
        batch: how many messages it takes at a time.
    """

    severity: Severity = Severity.WARNING
    silenced: tuple[re.Pattern[str], ...] = ()
    quiet: tuple[QuietHours, ...] = ()
    repeat_ms: int | None = None
    batch: int = 50

    def wants(self, alert: Alert) -> bool:
        """Return whether it is to be told of an alert, at whatever time."""
        if alert.severity < self.severity:
            return False
        subject = alert.subject
        return subject is None or not any(
            pattern.fullmatch(subject.group_id) for pattern in self.silenced
        )


@dataclass(frozen=True, slots=True)
class _Told:
    alert: Alert
    at_ms: int


class Outbox:
    """What one target knows, and is to know. Thread: one at a time.

    Args:
        policy: the target's.
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self._policy = policy or Policy()
        self._alerts: Mapping[Subject, Alert] = {}
        self._told: dict[Subject, _Told] = {}
        self._failures = 0
        self._not_before_ms: int | None = None

    def update(self, alerts: Mapping[Subject, Alert]) -> None:
        """Take in the alerts that there are now."""
        self._alerts = {
            subject: alert for subject, alert in alerts.items() if self._policy.wants(alert)
        }

    def due(self, now_ms: int, wall_ms: int) -> tuple[Notification, ...]:
        """Return what to send now, the worst first, and no more than a target takes at a time."""
        if self._not_before_ms is not None and now_ms < self._not_before_ms:
            return ()
        if any(quiet.covers(wall_ms) for quiet in self._policy.quiet):
            return ()
        found = sorted(self._pending(now_ms, wall_ms), key=_rank)
        return tuple(found[: self._policy.batch])

    def pending(self, now_ms: int) -> int:
        """Return how much is left to be told, whether it may be told now or not."""
        return sum(1 for _ in self._pending(now_ms, 0))

    def delivered(self, messages: Sequence[Notification], now_ms: int) -> None:
        """Record that the target knows this now, or never wants to."""
        self._failures, self._not_before_ms = 0, None
        for message in messages:
            subject = message.alert.subject
            if message.status is Status.RESOLVED:
                self._told.pop(subject, None)
            else:
                self._told[subject] = _Told(message.alert, now_ms)

    def failed(self, now_ms: int) -> int:
        """Record that it could not be told; return after how many ms it is tried again."""
        pause_ms = min(_RETRY_MS << min(self._failures, 20), _RETRY_MOST_MS)
        self._failures += 1
        self._not_before_ms = now_ms + pause_ms
        return pause_ms

    def _pending(self, now_ms: int, wall_ms: int) -> Iterator[Notification]:
        for subject, alert in self._alerts.items():
            status = self._news(alert, self._told.get(subject), now_ms)
            if status is not None:
                yield Notification(status=status, alert=alert, at_ms=wall_ms)
        for subject, told in self._told.items():
            if subject not in self._alerts:
                yield Notification(status=Status.RESOLVED, alert=told.alert, at_ms=wall_ms)

    def _news(self, alert: Alert, told: _Told | None, now_ms: int) -> Status | None:
        if told is None:
            return Status.FIRING
        if alert.severity > told.alert.severity:
            return Status.WORSE
        repeat_ms = self._policy.repeat_ms
        if repeat_ms is not None and now_ms - told.at_ms >= repeat_ms:
            return Status.REMINDER
        return None


def _rank(message: Notification) -> tuple[int, bool, bool, tuple[str, ...]]:
    subject = message.alert.subject
    return (
        -message.alert.severity,
        message.status in {Status.REMINDER, Status.RESOLVED},
        subject is not None,
        tuple(subject or ()),
    )
