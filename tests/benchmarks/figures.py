"""Computes figures from single passes: medians over rounds, and ratios within a round."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.benchmarks.contestants.contestant import Pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A pass, with its round and the load of the machine meanwhile.

    Attributes:
        topic: the topic's name.
        contestant: the contestant that read it.
        round: the number of the round.
        result: the pass.
        value_bytes: the length of each value.
        broker_cpu_seconds: CPU time that the broker used meanwhile.
        foreign_cpu_seconds: CPU time that other processes used meanwhile, and stolen time.
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
        """Records per second."""
        return self.result.records / self.result.seconds

    @property
    def disturbed(self) -> bool:
        """Whether others used more CPU time than 50 ms plus a tenth of the wall time."""
        return self.foreign_cpu_seconds > 0.05 + 0.1 * self.wall_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The figures of one contestant with one topic: medians over its rounds.

    Attributes:
        contestant: its name.
        lowest: its slowest round, in records per second.
        rate: its median, in records per second.
        highest: its fastest round, in records per second.
        megabytes: megabytes of values per second.
        cpu_seconds: CPU time of the client per million records.
        broker_cpu_seconds: CPU time of the broker per million records.
        peak_kb: the largest peak of all rounds, in KiB.
        join_ms: the time to join the group; None if it joins none, or does not report it.
        first_record_ms: from then to the first record; None if not reported.
        rounds: the number of rounds.
        disturbed: the number of rounds that other processes disturbed.
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
    """Return a row for each contestant, by topic, both in the order of their first runs."""
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
    """The ratio of two contestants' speeds within a round: median, lowest and highest of all."""

    median: float
    lowest: float
    highest: float


def cpu_rate(run: Run) -> float:
    """Return the records per second of CPU time."""
    return run.result.records / run.result.cpu_seconds


def ratio(
    runs: Iterable[Run],
    topic: str,
    contestant: str,
    baseline: str,
    *,
    of: Callable[[Run], float] = lambda run: run.rate,
) -> Ratio | None:
    """Return the ratio of two contestants' speeds; None if there is no round with both.

    Args:
        runs: all runs of a session.
        topic: the topic to compare.
        contestant: the numerator.
        baseline: the denominator.
        of: returns the speed of a run; records per second unless given.
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
