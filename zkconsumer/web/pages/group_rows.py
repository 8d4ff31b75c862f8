"""The row of a group in lists of groups. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from zkconsumer.status.burrow import BurrowStatus
from zkconsumer.status.doctor.diagnosis import Diagnosis, Severity
from zkconsumer.status.lag import TimeLag
from zkconsumer.status.model import GroupKey, GroupState
from zkconsumer.status.rates import GroupRates
from zkconsumer.web.pages.words import (
    BURROW_TONES,
    BURROW_WORDS,
    NOT_KNOWN,
    STATE_MEANINGS,
    STATE_TONES,
    Tone,
    duration,
)
from zkconsumer.web.state import ClusterState

LOOKED_AT: Final = 10_000
"""The maximum of partitions that one page may diagnose: a tenth of a second of work."""

NOW: Final = "now"
NEVER: Final = "not at this rate"
"""When a group is caught up."""
_PACE_S: Final = 10
"""A lag of as many seconds of reading is that of a group which keeps up in each partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A group's summary.

    Attributes:
        key: the group.
        state: its state.
        members: their number.
        partitions: the number of partitions that it reads, owns, or has offsets of.
        lag: the sum of the known lags, in records.
        unknown: the number of partitions without a known lag.
        time: the largest lag in time of a partition.
        burrow: Burrow's status.
        trouble: the number of partitions that Burrow calls neither OK nor WARN.
        rates: how fast it reads, and its topics are written.
        last_commit_ms: when it last committed, as far as known.
        seen_ms: when members and owners were read.
        problems: what could not be read or parsed.
    """

    key: GroupKey
    state: GroupState
    members: int
    partitions: int
    lag: int | None
    unknown: int
    time: TimeLag | None
    burrow: BurrowStatus
    trouble: int
    rates: GroupRates
    last_commit_ms: int | None
    seen_ms: int
    problems: tuple[str, ...]

    @property
    def state_tone(self) -> Tone:
        """The tone of its state."""
        return STATE_TONES[self.state]

    @property
    def state_meaning(self) -> str:
        """A description of its state."""
        return STATE_MEANINGS[self.state]

    @property
    def is_deserted(self) -> bool:
        """Whether it has offsets but no members."""
        return self.state in {GroupState.EMPTY, GroupState.ABANDONED}

    @property
    def suspicion(self) -> tuple[int, int, int]:
        """The order in which groups are examined: those in trouble first, small ones first."""
        return (-int(self.burrow), int(self.state is GroupState.STABLE), self.partitions)

    @property
    def is_silent(self) -> bool:
        """Whether records wait, no commit was seen of late, and it is too early for a verdict."""
        return self.burrow is BurrowStatus.OK and bool(self.lag) and not self.rates.read

    @property
    def burrow_tone(self) -> Tone:
        """The tone of Burrow's status, which needs some minutes: silence is not well before."""
        tone = BURROW_TONES[self.burrow]
        if self.is_silent:
            return Tone.WARN if self.state is GroupState.EMPTY else Tone.CALM
        # A group without members does not fail: it is not being read, which is worth a warning.
        return Tone.WARN if tone is Tone.BAD and self.state is GroupState.EMPTY else tone

    @property
    def word(self) -> str:
        """Burrow's status in plain words."""
        if self.is_deserted and (self.is_silent or self.burrow > BurrowStatus.OK):
            return "nobody reads"
        if self.is_silent:
            return "no commits yet" if self.last_commit_ms is None else "not known yet"
        return BURROW_WORDS[self.burrow]

    @property
    def meaning(self) -> str:
        """What the word means."""
        if self.is_silent and self.is_deserted:
            return "it has no members, though there is something to read"
        if self.is_silent and self.last_commit_ms is None:
            return "no commit was seen yet, though there is something to read"
        if self.is_silent:
            return "its next commit tells, or minutes without one"
        return self.burrow.meaning

    @property
    def caught_up_ms(self) -> int | None:
        """In how long it has read everything at its rate; None if never, or unknown."""
        return self.rates.caught_up_ms(self.lag)

    @property
    def caught_up(self) -> str:
        """The same in words."""
        lag, rates = self.lag, self.rates
        if lag is None or (lag and (rates.read is None or rates.written is None)):
            return NOT_KNOWN
        keeps_up = self.burrow is BurrowStatus.OK
        if not lag or (keeps_up and rates.read and lag <= _PACE_S * rates.read):
            return NOW
        in_ms = self.caught_up_ms
        return NEVER if in_ms is None else duration(max(1_000, in_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisCount:
    """The diagnoses of a group: how many, and the worst one above a note."""

    errors: int
    warnings: int
    worst: Diagnosis | None


def group_row(state: ClusterState, key: GroupKey) -> GroupRow:
    """Return the summary of a group, from values that are computed before a state is published."""
    group, lag, outcome = (
        state.snapshot.groups[key],
        state.judgements.lag(key),
        state.judgements.outcome(key),
    )
    worst = lag.worst_time
    return GroupRow(
        key=key,
        state=group.state,
        members=len(group.members),
        partitions=len(group.partitions),
        lag=lag.total,
        unknown=lag.unknown,
        time=None if worst is None else worst.time,
        burrow=outcome.status,
        trouble=sum(partition.status > BurrowStatus.WARN for partition in outcome.partitions),
        rates=state.judgements.rates(key),
        last_commit_ms=state.last_commit_ms(key),
        seen_ms=group.seen_ms,
        problems=group.problems,
    )


def trouble_rank(row: GroupRow, found: DiagnosisCount | None) -> int:
    """Return a group's rank by the need for attention."""
    tones = {row.state_tone, row.burrow_tone}
    if Tone.BAD in tones or (found is not None and found.errors):
        return 2
    return int(Tone.WARN in tones or (found is not None and found.warnings > 0))


def found_in(state: ClusterState, rows: Iterable[GroupRow]) -> dict[GroupKey, DiagnosisCount]:
    """Return the doctor's findings in these groups, as far as examined without a wait.

    Groups that would exceed the limit of partitions are omitted.
    """
    left, found = LOOKED_AT, {}
    for row in sorted(rows, key=lambda row: row.suspicion):
        if row.partitions > left:
            continue
        left -= row.partitions
        findings = state.judgements.findings(row.key)
        severities = [diagnosis.severity for diagnosis in findings]
        found[row.key] = DiagnosisCount(
            errors=severities.count(Severity.ERROR),
            warnings=severities.count(Severity.WARNING),
            worst=next((finding for finding in findings if finding.severity > Severity.NOTE), None),
        )
    return found
