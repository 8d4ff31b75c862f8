"""Which troubles last: an alert begins and ends only when a state has held for a while. Pure.

The one rule: time in trouble adds up over short good spells, and an alert ends only after a whole
good spell, which doubles with each alert of the last hours. So a group that goes up and down gives
one alert, not one each time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.notify.troubles import Condition, GroupObservation, GroupTrouble, Subject
from zkconsumer.status.doctor.diagnosis import Severity

_GAP_MS: Final = 60_000
"""The most that one interval between two states counts: the machine may have been asleep."""
_DOUBLINGS: Final = 4
_SEVERITIES: Final = (Severity.WARNING, Severity.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long states have to hold.

    Attributes:
        after_ms: how long a subject is in trouble, good spells left out, before it is an alert.
        resolved_after_ms: how long it is well without a break before the alert ends; doubled
            for each earlier alert within ``flap_window_ms``, up to 16 times.
        flap_window_ms: for how long an earlier alert counts.
    """

    after_ms: int = 60_000
    resolved_after_ms: int = 300_000
    flap_window_ms: int = 21_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A trouble that lasts.

    Attributes:
        subject: the group, or the cluster.
        severity: the worst that lasted.
        trouble: as it was seen last, at that severity.
        began_ms: when it was first seen, since the epoch.
    """

    subject: Subject
    severity: Severity
    trouble: GroupTrouble
    began_ms: int


@dataclass(slots=True)
class _Watched:
    """What is known of a subject that is, or was lately, in trouble.

    Attributes:
        began_ms: when the trouble was first seen, since the epoch.
        bad_ms: for how long it was at least that severe.
        troubles: the last one seen of each severity.
        well_ms: for how long it has been well; 0 while it is not.
        blind: what was not read while it was in trouble.
        last: the trouble when it was read last; None: it was well.
        is_read: whether it could be read last.
        at_ms: when that was.
        severity: of the alert; None: there is none.
        alerts_ms: when its alerts of late began.
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
        """Count the time since it was read last as what it was then."""
        passed_ms = min(now_ms - self.at_ms, _GAP_MS) if self.is_read else 0
        if self.last is None:
            self.well_ms += passed_ms
        else:
            for severity in _SEVERITIES:
                if severity <= self.last.severity:
                    self.bad_ms[severity] = self.bad_ms.get(severity, 0) + passed_ms
        self.is_read, self.at_ms = True, now_ms

    def begin_again(self) -> None:
        """Forget the trouble, not that there was an alert."""
        self.bad_ms, self.troubles, self.severity = {}, {}, None


class Alerts:
    """The alerts of a cluster. Thread: one.

    Args:
        timing: see ``Timing``.
    """

    def __init__(self, timing: Timing | None = None) -> None:
        self._timing = timing or Timing()
        self._watched: dict[Subject, _Watched] = {}

    def receive(self, observation: GroupObservation, now_ms: int, wall_ms: int) -> None:
        """Take in what a state says.

        Args:
            observation: the state's.
            now_ms: by a clock that only goes forward.
            wall_ms: since the epoch.
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
        """Return the alerts."""
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
            watched.begin_again()
        if watched.severity is None and watched.well_ms >= self._timing.flap_window_ms:
            del self._watched[subject]

    def _needed_ms(self, watched: _Watched) -> int:
        earlier = len(watched.alerts_ms) - 1 if watched.severity is not None else 0
        return int(self._timing.resolved_after_ms << max(0, min(earlier, _DOUBLINGS)))
