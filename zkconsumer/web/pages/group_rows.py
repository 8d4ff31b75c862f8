"""The row of a group in lists of groups. Pure."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from zkconsumer.status.burrow import BurrowPartitionStatus, BurrowStatus
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.headline import headline_of, headline_text
from zkconsumer.status.lag import TimeLag
from zkconsumer.status.model import GroupKey, GroupState
from zkconsumer.status.rates import GroupRates
from zkconsumer.web.pages.formatting import (
    BURROW_TONES,
    BURROW_WORDS,
    NOT_KNOWN,
    SEVERITY_TONES,
    STATE_MEANINGS,
    Tone,
    duration,
)
from zkconsumer.web.state import ClusterState

MAX_EXAMINED_PARTITIONS: Final = 10_000
"""The maximum number of partitions diagnosed for one page: a tenth of a second of work."""

NOW: Final = "now"
NEVER: Final = "not at this rate"
"""The text for a group that will not catch up at its present rate."""
_UNREAD_MS: Final = 60_000
"""The age from which a group counts as not read, if attempts to read it again have failed."""
_PACE_S: Final = 10
"""A lag of up to this many seconds of reading counts as caught up in a group that keeps up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A group's health: by the doctor's worst finding, or by Burrow's rules if these are worse.

    Attributes:
        tone: how bad it is.
        word: the health in a few words, such as ``stuck`` or ``keeps up``.
        sentence: with the group, the cause and the member.
        about: what the word means.
        cause: the cause that the doctor found; "" if the word is not the doctor's.
        more: the number of further findings.
        diagnosis: the finding that it follows from; None: it follows from Burrow's rules.
    """

    tone: Tone
    word: str
    sentence: str
    about: str
    cause: str = ""
    more: int = 0
    diagnosis: Diagnosis | None = None

    @property
    def is_bad(self) -> bool:
        """Whether it needs attention."""
        return self.tone in {Tone.WARN, Tone.BAD}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A group's summary.

    Attributes:
        key: the group.
        state: its state.
        members: the number of its members.
        partitions: the number of partitions that it reads, owns, or has offsets of.
        lag: the sum of the known lags, in records.
        unknown: the number of partitions without a known lag.
        time: the largest lag in time of a partition.
        burrow: Burrow's status.
        late: the partitions that Burrow calls worse than OK, the worst first.
        rates: how fast it reads, and how fast its topics are written.
        last_commit_ms: when it last committed, as far as known.
        seen_ms: when members and owners were read.
        unread_ms: the age of the oldest value that its verdict depends on, if several attempts to
            read it again have failed; 0: all are recent.
        findings: the doctor's findings above a note, the worst first; None: it was not examined.
    """

    key: GroupKey
    state: GroupState
    members: int
    partitions: int
    lag: int | None
    unknown: int
    time: TimeLag | None
    burrow: BurrowStatus
    late: tuple[BurrowPartitionStatus, ...]
    rates: GroupRates
    last_commit_ms: int | None
    seen_ms: int
    unread_ms: int = 0
    findings: tuple[Diagnosis, ...] | None = None

    @property
    def state_tone(self) -> Tone:
        """The tone of its state; a stable group may be stuck, so that no state is good."""
        return Tone.WARN if self.state is GroupState.REBALANCING else Tone.CALM

    @property
    def state_meaning(self) -> str:
        """A description of its state."""
        return STATE_MEANINGS[self.state]

    @property
    def is_deserted(self) -> bool:
        """Whether it has no members."""
        return self.state in {GroupState.EMPTY, GroupState.DEAD, GroupState.ABANDONED}

    @property
    def suspicion(self) -> tuple[int, int, int]:
        """The sort key by which groups are examined: those in trouble first, then small ones."""
        return (-int(self.burrow), int(self.state is GroupState.STABLE), self.partitions)

    @property
    def is_silent(self) -> bool:
        """Whether it does not commit though it may have a lag, and it is too early to judge.

        A group whose lag is unknown may have one, such as a group that has not committed yet.
        """
        may_wait = self.partitions > 0 if self.lag is None else self.lag > 0
        return self.burrow is BurrowStatus.OK and may_wait and not self.rates.read

    @property
    def verdict(self) -> Verdict:
        """Its health: the same on all pages and in notifications.

        If the group could not be read, a bad verdict remains; any other becomes "not read".
        """
        found = self._last_verdict
        if not self.unread_ms or found.is_bad:
            return found
        about = (
            f"it could not be read for {duration(self.unread_ms)}; what was known then: "
            f"{found.word}"
        )
        return Verdict(
            tone=Tone.CALM,
            word="not read",
            sentence=f"{self.key.group_id}: {about}",
            about=about,
        )

    @property
    def _last_verdict(self) -> Verdict:
        tone, word, meaning = self._progress
        worst = self.findings[0] if self.findings else None
        if worst is None or (tone is Tone.BAD and worst.severity < Severity.ERROR):
            return Verdict(
                tone=tone,
                word=word,
                sentence=f"{self.key.group_id}: {meaning}",
                about=f"{meaning} (Burrow: {self.burrow.name})",
            )
        short, more = headline_of(worst), len(self.findings or ()) - 1
        state = short.state.removeprefix("is ")
        if not state and worst.severity is Severity.WARNING and tone is not Tone.WARN:
            word = "warning"
        elif not state and worst.severity is Severity.ERROR:
            word = "in trouble"
        return Verdict(
            tone=SEVERITY_TONES[worst.severity],
            word=state or word,
            sentence=headline_text(worst),
            about=worst.what,
            cause=short.cause,
            more=more,
            diagnosis=worst,
        )

    @property
    def rank(self) -> int:
        """The need for attention, from 0 (none) to 2."""
        if self.verdict.tone is Tone.BAD:
            return 2
        return int(Tone.WARN in {self.verdict.tone, self.state_tone})

    @property
    def _progress(self) -> tuple[Tone, str, str]:
        """Its progress by Burrow's rules: tone, plain words, and their meaning.

        The rules need some minutes; silence before that does not count as healthy. They do not
        apply to a group without members: whether that needs a warning is for the doctor to decide.
        """
        if self.is_deserted:
            if self.burrow is BurrowStatus.NOTFOUND:
                return Tone.CALM, BURROW_WORDS[self.burrow], self.burrow.meaning
            waits = (
                "though there is something to read" if self.lag else "and there is nothing to read"
            )
            return Tone.CALM, "nobody reads", f"it has no members, {waits}"
        if not self.is_silent:
            meaning = self.burrow.meaning
            if self.late:
                meaning = f"{self.late[0].status.meaning} ({self._latest})"
            return BURROW_TONES[self.burrow], BURROW_WORDS[self.burrow], meaning
        if self.last_commit_ms is None:
            why = "though there is something to read" if self.lag else "so no lag is known"
            return Tone.CALM, "no commits yet", f"no commit was seen yet, {why}"
        return (
            Tone.CALM,
            "not known yet",
            "known after its next commit, or after some minutes without one",
        )

    @property
    def is_beyond(self) -> bool:
        """Whether an offset is beyond the end of its log, so that its lag of 0 is meaningless."""
        return any(finding.code is Code.OFFSET_BEYOND_END for finding in self.findings or ())

    @property
    def hindrance(self) -> str:
        """The reason that it never catches up: partitions of the worst status; "" if it may."""
        if not any(partition.status is not BurrowStatus.REWIND for partition in self.late):
            return ""
        return f"{BURROW_WORDS[self.late[0].status]}: {self._latest}"

    @property
    def _latest(self) -> str:
        """The partition of the worst status, and the number of others with the same."""
        first, *others = [
            partition for partition in self.late if partition.status is self.late[0].status
        ]
        tp = first.topic_partition
        return f"{tp.topic}-{tp.partition}{f' and {len(others)} more' if others else ''}"

    @property
    def caught_up_ms(self) -> int | None:
        """The time until it has read everything at its rate; None if never, or unknown.

        Also None if a partition falls behind, which a decreasing total does not show.
        """
        if self.unread_ms or (self.lag and (self.is_deserted or self.hindrance)):
            return None
        return self.rates.caught_up_ms(self.lag)

    @property
    def caught_up(self) -> str:
        """The time until it has caught up, in words."""
        lag, rates = self.lag, self.rates
        if lag is None or self.is_beyond or self.unread_ms:
            return NOT_KNOWN
        if lag and (rates.read is None or rates.written is None):
            return NOT_KNOWN
        keeps_up = self.burrow is BurrowStatus.OK and not self.is_deserted
        if not lag or (keeps_up and rates.read and lag <= _PACE_S * rates.read):
            return NOW
        in_ms = self.caught_up_ms
        return NEVER if in_ms is None else duration(max(1_000, in_ms))

    @property
    def caught_up_label(self) -> str:
        """The label in front of ``caught_up`` if the column's heading is not visible."""
        return "Caught up" if self.caught_up in {NOW, NEVER, NOT_KNOWN} else "Caught up in"


def group_row(state: ClusterState, key: GroupKey) -> GroupRow:
    """Return the summary of a group, with the doctor's findings."""
    return _examined(state, _unexamined(state, key))


def group_rows(state: ClusterState, keys: Collection[GroupKey]) -> list[GroupRow]:
    """Return the summaries of groups, examined only as far as a page can wait.

    Groups that would exceed the limit of partitions are not examined; those in trouble come first.
    """
    left, rows = MAX_EXAMINED_PARTITIONS, {}
    for row in sorted((_unexamined(state, key) for key in keys), key=lambda row: row.suspicion):
        is_small = row.partitions <= left
        rows[row.key] = _examined(state, row) if is_small else row
        left -= row.partitions if is_small else 0
    return [rows[key] for key in keys]


def _unexamined(state: ClusterState, key: GroupKey) -> GroupRow:
    """Return the summary of a group from values computed before the state is published."""
    group, lag = state.snapshot.groups[key], state.judgements.lag(key)
    worst, outcome = lag.worst_time, state.judgements.outcome(key)
    late: list[BurrowPartitionStatus] = []
    if outcome.status > BurrowStatus.OK:
        late = [partition for partition in outcome.partitions if partition.status > BurrowStatus.OK]
    return GroupRow(
        key=key,
        state=group.state,
        members=len(group.members),
        partitions=len(group.partitions),
        lag=lag.total,
        unknown=lag.unknown,
        time=None if worst is None else worst.time,
        burrow=outcome.status,
        late=tuple(sorted(late, key=lambda partition: -partition.status)),
        rates=state.judgements.rates(key),
        last_commit_ms=state.last_commit_ms(key),
        seen_ms=group.seen_ms,
        unread_ms=_unread_ms(state, key),
    )


def _unread_ms(state: ClusterState, key: GroupKey) -> int:
    """Return the age of a group's oldest value; 0 if it is younger than several reads take."""
    old_ms = max(_UNREAD_MS, 3 * (state.interval_ms + 2 * state.read_duration_ms))
    age_ms = state.judgements.age_ms(key)
    return age_ms if age_ms > old_ms else 0


def _examined(state: ClusterState, row: GroupRow) -> GroupRow:
    found = state.judgements.findings(row.key)
    return replace(
        row, findings=tuple(finding for finding in found if finding.severity > Severity.NOTE)
    )
