"""One line about a group, for lists of groups. Pure."""

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
"""In how many partitions of groups one page lets the doctor look: a tenth of a second of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A group at a glance.

    Attributes:
        key: which.
        state: how it stands.
        members: how many.
        partitions: how many it reads, owns, or has offsets of.
        lag: in records, of what is known.
        unknown: of how many partitions it is not known.
        time: that of the partition which is behind the longest.
        burrow: Burrow's word.
        trouble: partitions that Burrow calls neither OK nor WARN.
        silent_since_ms: since when it has not committed, as far as that is known.
        seen_ms: when members and owners were read.
        problems: what could not be read or understood.
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
        """How its state is shown."""
        return STATE_TONES[self.state]

    @property
    def state_meaning(self) -> str:
        """What its state says."""
        return STATE_MEANINGS[self.state]

    @property
    def is_deserted(self) -> bool:
        """Whether nobody is in it, though it has offsets."""
        return self.state in {GroupState.EMPTY, GroupState.ABANDONED}

    @property
    def trouble_rank(self) -> int:
        """How much it needs somebody to look at it."""
        tones = {self.state_tone, self.burrow_tone}
        return 2 if Tone.BAD in tones else int(Tone.WARN in tones)

    @property
    def burrow_tone(self) -> Tone:
        """How Burrow's word is shown."""
        tone = BURROW_TONES[self.burrow]
        # Of a group that nobody is in nothing fails: nobody reads it, which is a warning's worth.
        return Tone.WARN if tone is Tone.BAD and self.state is GroupState.EMPTY else tone


@dataclass(frozen=True, slots=True)
class DiagnosisCount:
    """How many findings the doctor has about a group; None: it was not asked."""

    errors: int
    warnings: int
    notes: int


def group_row(state: ClusterState, key: GroupKey) -> GroupRow:
    """Return a group of the snapshot at a glance; only what is made before a state is published."""
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

    Groups are left out from the one on with which it would be too many partitions.
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
