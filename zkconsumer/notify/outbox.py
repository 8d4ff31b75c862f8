"""The undelivered notifications of one target: the present alerts minus those it knows. Pure.

There is no queue that could grow: after an outage of a target, or quiet hours, only the present
state is sent, once. Alerts that began and ended in the meantime are never sent.
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
    """The state of an alert in a message; programs read the values."""

    FIRING = "firing"
    WORSE = "worse"
    REMINDER = "reminder"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A notification about one subject.

    Attributes:
        status: see ``Status``.
        alert: the present alert; for a resolved one, the alert as it was delivered.
        at_ms: the time of the notification, in ms since the epoch.
    """

    status: Status
    alert: Alert
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Which alerts a target wants, and when.

    Attributes:
        severity: the minimum severity.
        silenced: patterns; alerts of groups whose whole id matches one of these are not sent.
        quiet: hours without notifications.
        repeat_ms: the interval of reminders; None: no reminders.
        batch: the maximum number of messages in one delivery.
    """

    severity: Severity = Severity.WARNING
    silenced: tuple[re.Pattern[str], ...] = ()
    quiet: tuple[QuietHours, ...] = ()
    repeat_ms: int | None = None
    batch: int = 50

    def wants(self, alert: Alert) -> bool:
        """Return whether the target gets an alert, quiet hours aside."""
        if alert.severity < self.severity:
            return False
        subject = alert.subject
        return subject is None or not any(
            pattern.fullmatch(subject.group_id) for pattern in self.silenced
        )


@dataclass(frozen=True, slots=True)
class _Delivered:
    alert: Alert
    at_ms: int


class Outbox:
    """The delivered and the present alerts of one target. Thread: one at a time.

    Args:
        policy: the policy of the target.
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self._policy = policy or Policy()
        self._alerts: Mapping[Subject, Alert] = {}
        self._delivered: dict[Subject, _Delivered] = {}
        self._failures = 0
        self._not_before_ms: int | None = None

    def update(self, alerts: Mapping[Subject, Alert]) -> None:
        """Set the present alerts."""
        self._alerts = {
            subject: alert for subject, alert in alerts.items() if self._policy.wants(alert)
        }

    def due(self, now_ms: int, wall_ms: int) -> tuple[Notification, ...]:
        """Return the notifications to send now, worst first, at most one batch."""
        if self._not_before_ms is not None and now_ms < self._not_before_ms:
            return ()
        if any(quiet.covers(wall_ms) for quiet in self._policy.quiet):
            return ()
        found = sorted(self._pending(now_ms, wall_ms), key=_rank)
        return tuple(found[: self._policy.batch])

    def pending(self, now_ms: int) -> int:
        """Return the number of undelivered notifications, due or not."""
        return sum(1 for _ in self._pending(now_ms, 0))

    def delivered(self, messages: Sequence[Notification], now_ms: int) -> None:
        """Record that messages were delivered, or refused for good."""
        self._failures, self._not_before_ms = 0, None
        for message in messages:
            subject = message.alert.subject
            if message.status is Status.RESOLVED:
                self._delivered.pop(subject, None)
            else:
                self._delivered[subject] = _Delivered(message.alert, now_ms)

    def failed(self, now_ms: int) -> int:
        """Record a failed delivery; return the delay before the next attempt, ms."""
        pause_ms = min(_RETRY_MS << min(self._failures, 20), _RETRY_MOST_MS)
        self._failures += 1
        self._not_before_ms = now_ms + pause_ms
        return pause_ms

    def _pending(self, now_ms: int, wall_ms: int) -> Iterator[Notification]:
        for subject, alert in self._alerts.items():
            status = self._status_of(alert, self._delivered.get(subject), now_ms)
            if status is not None:
                yield Notification(status=status, alert=alert, at_ms=wall_ms)
        for subject, last in self._delivered.items():
            if subject not in self._alerts:
                yield Notification(status=Status.RESOLVED, alert=last.alert, at_ms=wall_ms)

    def _status_of(self, alert: Alert, last: _Delivered | None, now_ms: int) -> Status | None:
        if last is None:
            return Status.FIRING
        if alert.severity > last.alert.severity:
            return Status.WORSE
        repeat_ms = self._policy.repeat_ms
        if repeat_ms is not None and now_ms - last.at_ms >= repeat_ms:
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
