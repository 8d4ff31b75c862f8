"""``bounds.json``: what is to be reached, and what CI never lets it fall below. All are ratios."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.figures import Ratio, Run, cpu_rate, ratio

FILE = Path(__file__).parent / "bounds.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How many times faster a contestant is to be than another one, in the same round."""

    contestant: str
    baseline: str
    at_least: float

    def found(self, runs: Iterable[Run], topic: str) -> Ratio | None:
        """What was measured; None where one of the two is missing."""
        return ratio(runs, topic, self.contestant, self.baseline)


def bounds(kind: str) -> list[Bound]:
    """Those of a kind: what ends in ``goals`` is for a whole suite, in ``floors`` for CI."""
    return [Bound(**bound) for bound in json.loads(FILE.read_text("utf-8"))[kind]]


def spark_goals() -> list[tuple[str, Bound]]:
    """What is to be reached with Spark, by kind of work (``aggregate``, ``parquet``)."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["spark_goals"]
    return [(kind, Bound(**bound)) for kind, bound in found.items()]


def mirror_goals() -> dict[str, float]:
    """How many times more messages than theirs our mirror is to write in a second, by case."""
    found: dict[str, float] = json.loads(FILE.read_text("utf-8"))["mirror_goals"]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedGoal:
    """How many times more rows one is to manage than another, in the same round.

    Attributes:
        contestant: which drain, or source of Spark.
        baseline: than which.
        cpu_at_least: with a second of CPU time.
        wall_at_least: in a second.
    """

    contestant: str
    baseline: str
    cpu_at_least: float
    wall_at_least: float

    def spoken(self, runs: Sequence[Run], topic: str) -> list[str]:
        """A line for each of the two units, with its verdict; none where one is missing."""
        pair = (self.contestant, self.baseline)
        found = (
            ("rows per CPU second", ratio(runs, topic, *pair, of=cpu_rate), self.cpu_at_least),
            ("rows per second", ratio(runs, topic, *pair), self.wall_at_least),
        )
        return [
            f"- {self.contestant} to {self.baseline}, {unit}: {times.median:.2f} "
            f"({times.lowest:.2f} - {times.highest:.2f}), at least {least:g}: "
            f"{'reached' if times.median >= least else 'MISSED'}"
            for unit, times, least in found
            if times is not None
        ]


def older_spark_goal() -> PairedGoal:
    """How much of its speed the source may lose on a Spark without sources in Python."""
    return PairedGoal(**json.loads(FILE.read_text("utf-8"))["older_spark_goal"])


def drain_goals() -> list[PairedGoal]:
    """What is to be reached by drains."""
    return [PairedGoal(**goal) for goal in json.loads(FILE.read_text("utf-8"))["drain_goals"]]


def drain_peak_mb() -> float:
    """The memory that a drain of the local engine may hold."""
    return float(json.loads(FILE.read_text("utf-8"))["drain_peak_mb"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is to be reached apart from speed, by one contestant.

    Attributes:
        contestant: whom they are about.
        cpu_baseline: whose CPU time a record it is compared with.
        cpu_at_most: which part of that it may use.
        latency_baseline: whose delays it is compared with.
        latency_p99_at_most: how many times theirs its own may be.
        first_record_ms: how long after the group was joined the first record may come.
        peak_mb_without_answers: the memory it may hold besides one answer of its broker: the
            queues' budget of 64 MB, and 40 MB.
    """

    contestant: str
    cpu_baseline: str
    cpu_at_most: float
    latency_baseline: str
    latency_p99_at_most: float
    first_record_ms: float
    peak_mb_without_answers: float


def limits() -> Limits:
    """The file's ``limits``."""
    return Limits(**json.loads(FILE.read_text("utf-8"))["limits"])
