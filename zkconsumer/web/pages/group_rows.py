"""The row of a group in lists of groups. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from zkconsumer.status.burrow import BurrowStatus
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.lag import TimeLag
from zkconsumer.status.model import GroupKey, GroupState
from zkconsumer.web.pages.words import BURROW_TONES, STATE_MEANINGS, STATE_TONES, Tone
from zkconsumer.web.state import ClusterState

LOOKED_AT: Final = 10_000
"""The maximum of partitions that one page may diagnose: a tenth of a second of work."""


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
        silent_since_ms: since when it has not committed, as far as known.
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
    silent_since_ms: int | None
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
    def trouble_rank(self) -> int:
        """Its rank by the need for attention."""
        tones = {self.state_tone, self.burrow_tone}
        return 2 if Tone.BAD in tones else int(Tone.WARN in tones)

    @property
    def burrow_tone(self) -> Tone:
        """The tone of Burrow's status."""
        tone = BURROW_TONES[self.burrow]
        # A group without members does not fail: it is not being read, which is worth a warning.
        return Tone.WARN if tone is Tone.BAD and self.state is GroupState.EMPTY else tone


@dataclass(frozen=True, slots=True)
class DiagnosisCount:
    """The number of diagnoses of a group; None: it was not examined."""

    errors: int
    warnings: int
    notes: int


def group_row(state: ClusterState, key: GroupKey) -> GroupRow:
    """Return the summary of a group, from values that are computed before a state is published."""
    group, lag, outcome = state.snapshot.groups[key], state.lag(key), state.outcome(key)
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
        silent_since_ms=group.silent_since_ms,
        seen_ms=group.seen_ms,
        problems=group.problems,
    )


def found_in(state: ClusterState, rows: Iterable[GroupRow]) -> dict[GroupKey, DiagnosisCount]:
    """What the doctor has found in these groups, as far as he can look without keeping us waiting.

    Groups are omitted from the one on that would exceed the limit of partitions.
    """
    left, found = LOOKED_AT, {}
    for row in rows:
        left -= row.partitions
        if left < 0:
            break
        severities = [diagnosis.severity for diagnosis in state.findings(row.key)]
        found[row.key] = DiagnosisCount(
            *(severities.count(severity) for severity in reversed(Severity))
        )
    return found
