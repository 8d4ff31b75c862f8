"""From single passes to figures: medians over rounds, and ratios within a round."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.benchmarks.contestants.contestant import Pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A pass, and when and under what load it was made.

    Attributes:
        topic: the topic's name.
        contestant: who read it.
        round: in which round.
        result: the pass.
        value_bytes: the length of each value.
        broker_cpu_seconds: what the broker used meanwhile.
        foreign_cpu_seconds: what others used meanwhile, and what was stolen.
        wall_seconds: from the start of the process to its end.
    """

    topic: str
    contestant: str
    round: int
    result: Pass
    value_bytes: int
    broker_cpu_seconds: float
    foreign_cpu_seconds: float
    wall_seconds: float

    @property
    def rate(self) -> float:
        """Records a second."""
        return self.result.records / self.result.seconds

    @property
    def disturbed(self) -> bool:
        """Whether others used more than a tenth of the time, and more than a moment."""
        return self.foreign_cpu_seconds > 0.05 + 0.1 * self.wall_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one contestant reached with one topic; medians over its rounds.

    Attributes:
        lowest: its slowest round, in records a second.
        rate: its median.
        highest: its fastest.
        megabytes: of values a second.
        cpu_seconds: of the client, for a million records.
        broker_cpu_seconds: of the broker, for a million records.
        peak_kb: the largest of all rounds, in KiB.
        join_ms: what joining the group took; None where it joins none, or does not tell.
        first_record_ms: from there to the first record.
        rounds: how many.
        disturbed: how many of them were disturbed by others.
    """

    contestant: str
    lowest: float
    rate: float
    highest: float
    megabytes: float
    cpu_seconds: float
    broker_cpu_seconds: float
    peak_kb: int
    join_ms: float | None
    first_record_ms: float | None
    rounds: int
    disturbed: int


def rows(runs: Iterable[Run]) -> dict[str, dict[str, Row]]:
    """A row for each contestant, by topic, both in the order of their first runs."""
    groups: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        groups.setdefault(run.topic, {}).setdefault(run.contestant, []).append(run)
    return {
        topic: {name: _row(name, of_one) for name, of_one in found.items()}
        for topic, found in groups.items()
    }


def _row(contestant: str, runs: Sequence[Run]) -> Row:
    rates = [run.rate for run in runs]
    rate = statistics.median(rates)
    return Row(
        contestant=contestant,
        lowest=min(rates),
        rate=rate,
        highest=max(rates),
        megabytes=rate * runs[0].value_bytes / 1e6,
        cpu_seconds=statistics.median(
            run.result.cpu_seconds / run.result.records * 1e6 for run in runs
        ),
        broker_cpu_seconds=statistics.median(
            run.broker_cpu_seconds / run.result.records * 1e6 for run in runs
        ),
        peak_kb=max(run.result.peak_kb for run in runs),
        join_ms=_median(run.result.join_ms for run in runs),
        first_record_ms=_median(run.result.first_record_ms for run in runs),
        rounds=len(runs),
        disturbed=sum(run.disturbed for run in runs),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times faster, within a round: median, lowest and highest of the rounds."""

    median: float
    lowest: float
    highest: float


def cpu_rate(run: Run) -> float:
    """Records a second of CPU time."""
    return run.result.records / run.result.cpu_seconds


def ratio(
    runs: Iterable[Run],
    topic: str,
    contestant: str,
    baseline: str,
    *,
    of: Callable[[Run], float] = lambda run: run.rate,
) -> Ratio | None:
    """A contestant's speed over another's, from the rounds that have both; None without any.

    Args:
        runs: all of a session.
        topic: which of them.
        contestant: whose speed.
        baseline: over whose.
        of: what is taken for speed; records a second unless given.
    """
    rates: Mapping[str, dict[int, float]] = {contestant: {}, baseline: {}}
    for run in runs:
        if run.topic == topic and run.contestant in rates:
            rates[run.contestant][run.round] = of(run)
    found = [
        rate / rates[baseline][number]
        for number, rate in rates[contestant].items()
        if number in rates[baseline]
    ]
    return Ratio(statistics.median(found), min(found), max(found)) if found else None
