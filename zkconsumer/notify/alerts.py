"""Decides which troubles become alerts: those that last. Pure.

Time in trouble adds up across short good spells, and an alert ends only after one long good spell,
whose length doubles with each alert of the last hours. So a group that flaps causes one alert, not
many.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.notify.troubles import Condition, GroupObservation, GroupTrouble, Subject
from zkconsumer.status.doctor.diagnosis import Severity

_GAP_MS: Final = 60_000
"""The maximum time to count between two states, since the machine may have been suspended."""
_DOUBLINGS: Final = 4
_SEVERITIES: Final = (Severity.WARNING, Severity.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The times after which alerts begin and end.

    Attributes:
        after_ms: how long a subject is in trouble, good spells not counted, before an alert begins.
        resolved_after_ms: how long it is well without a break before the alert ends; doubled for
            each earlier alert within ``flap_window_ms``, but at most four times.
        flap_window_ms: how long an earlier alert counts.
    """

    after_ms: int = 60_000
    resolved_after_ms: int = 300_000
    flap_window_ms: int = 21_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A trouble that lasts.

    Attributes:
        subject: the group, or the cluster.
        severity: the worst severity that lasted.
        trouble: the last trouble of that severity.
        began_ms: when the trouble was first seen, in ms since the epoch.
    """

    subject: Subject
    severity: Severity
    trouble: GroupTrouble
    began_ms: int


@dataclass(slots=True)
class _Watched:
    """The history of a subject that is, or was lately, in trouble.

    Attributes:
        began_ms: when the trouble was first seen, in ms since the epoch.
        bad_ms: how long the trouble was at least that severe, by severity.
        troubles: the last trouble seen that was at least that severe, by severity.
        well_ms: how long it has been well; 0 while it is not.
        blind: the parts that were not read when it was last in trouble.
        last: the trouble at the last read; None: it was well.
        is_read: whether the last read succeeded.
        at_ms: the time of the last read.
        severity: the severity of the alert; None: there is none.
        alerts_ms: when its recent alerts began.
    """

    began_ms: int
    bad_ms: dict[Severity, int] = field(default_factory=dict)
    troubles: dict[Severity, GroupTrouble] = field(default_factory=dict)
    well_ms: int = 0
    blind: frozenset[str] = frozenset()
    last: GroupTrouble | None = None
    is_read: bool = False
    at_ms: int = 0
    severity: Severity | None = None
    alerts_ms: list[int] = field(default_factory=list)

    def pass_to(self, now_ms: int) -> None:
        """Count the time since the last read as time in the state of that read."""
        passed_ms = min(now_ms - self.at_ms, _GAP_MS) if self.is_read else 0
        if self.last is None:
            self.well_ms += passed_ms
        else:
            for severity in _SEVERITIES:
                if severity <= self.last.severity:
                    self.bad_ms[severity] = self.bad_ms.get(severity, 0) + passed_ms
        self.is_read, self.at_ms = True, now_ms


class Alerts:
    """The alerts of a cluster. Thread: one.

    Args:
        timing: see ``Timing``.
    """

    def __init__(self, timing: Timing | None = None) -> None:
        self._timing = timing or Timing()
        self._watched: dict[Subject, _Watched] = {}

    def receive(self, observation: GroupObservation, now_ms: int, wall_ms: int) -> None:
        """Update the alerts with an observation.

        Args:
            observation: the observation of a state.
            now_ms: the time of a monotonic clock.
            wall_ms: the time since the epoch.
        """
        read = {condition.subject for condition in observation.conditions}
        for condition in observation.conditions:
            if condition.trouble is not None:
                self._bad(condition, condition.trouble, now_ms, wall_ms)
            elif condition.subject in self._watched:
                self._well(condition.subject, condition.blind, now_ms)
        for subject in [subject for subject in self._watched if subject not in read]:
            if observation.present is None:
                self._watched[subject].is_read = False
            elif subject not in observation.present:
                self._well(subject, observation.blind, now_ms)

    def current(self) -> Mapping[Subject, Alert]:
        """Return the present alerts by subject."""
        return {
            subject: Alert(
                subject=subject,
                severity=watched.severity,
                trouble=watched.troubles[watched.severity],
                began_ms=watched.began_ms,
            )
            for subject, watched in self._watched.items()
            if watched.severity is not None
        }

    def _bad(self, condition: Condition, trouble: GroupTrouble, now_ms: int, wall_ms: int) -> None:
        watched = self._watched.setdefault(condition.subject, _Watched(wall_ms))
        if not watched.troubles:
            watched.began_ms = wall_ms
        watched.pass_to(now_ms)
        for severity in _SEVERITIES:
            if severity <= trouble.severity:
                watched.troubles[severity] = trouble
                self._begin(watched, severity, now_ms)
        watched.well_ms, watched.blind, watched.last = 0, condition.blind, trouble

    def _begin(self, watched: _Watched, severity: Severity, now_ms: int) -> None:
        lasted = watched.bad_ms.get(severity, 0) >= self._timing.after_ms
        if not lasted or (watched.severity is not None and watched.severity >= severity):
            return
        if watched.severity is None:
            since_ms = now_ms - self._timing.flap_window_ms
            watched.alerts_ms = [*(at for at in watched.alerts_ms if at > since_ms), now_ms]
        watched.severity = severity

    def _well(self, subject: Subject, blind: frozenset[str], now_ms: int) -> None:
        watched = self._watched[subject]
        if not blind <= watched.blind:
            watched.is_read = False
            return
        watched.pass_to(now_ms)
        watched.last = None
        if watched.well_ms >= self._needed_ms(watched):
            # The times of its alerts are kept.
            watched.bad_ms, watched.troubles, watched.severity = {}, {}, None
        if watched.severity is None and watched.well_ms >= self._timing.flap_window_ms:
            del self._watched[subject]

    def _needed_ms(self, watched: _Watched) -> int:
        earlier = len(watched.alerts_ms) - 1 if watched.severity is not None else 0
        return int(self._timing.resolved_after_ms << max(0, min(earlier, _DOUBLINGS)))
