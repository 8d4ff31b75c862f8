"""Reads ``bounds.json``: the goals, and the floors that CI enforces. Most of them are ratios."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.figures import Ratio, Run, cpu_rate, ratio

FILE = Path(__file__).parent / "bounds.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How many times faster a contestant must be than its baseline, in the same round."""

    contestant: str
    baseline: str
    at_least: float

    def found(self, runs: Iterable[Run], topic: str) -> Ratio | None:
        """Return the measured ratio; None if there is no round with both."""
        return ratio(runs, topic, self.contestant, self.baseline)


def bounds(kind: str) -> list[Bound]:
    """Return the bounds of a kind: ``..goals`` are for a whole suite, ``..floors`` for CI."""
    return [Bound(**bound) for bound in json.loads(FILE.read_text("utf-8"))[kind]]


def spark_goals() -> list[tuple[str, Bound]]:
    """Return the goals with Spark, each with its kind of work (``aggregate``, ``parquet``)."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["spark_goals"]
    return [(kind, Bound(**bound)) for kind, bound in found.items()]


def mirror_goals() -> dict[str, float]:
    """Return how many times the original's messages per second our mirror must reach, by case."""
    found: dict[str, float] = json.loads(FILE.read_text("utf-8"))["mirror_goals"]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedGoal:
    """How many times the baseline's rows a contestant must manage, in the same round.

    Attributes:
        contestant: a drain, or a source of Spark.
        baseline: the one that it is compared with.
        cpu_at_least: the ratio of rows per second of CPU time.
        wall_at_least: the ratio of rows per second.
    """

    contestant: str
    baseline: str
    cpu_at_least: float
    wall_at_least: float

    def spoken(self, runs: Sequence[Run], topic: str) -> list[str]:
        """Return a line for each of the two units with its outcome; none for what is missing."""
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
    """Return how much of its speed our source must keep on a Spark without Python data sources."""
    return PairedGoal(**json.loads(FILE.read_text("utf-8"))["older_spark_goal"])


def drain_goals() -> list[PairedGoal]:
    """Return the goals of drains."""
    return [PairedGoal(**goal) for goal in json.loads(FILE.read_text("utf-8"))["drain_goals"]]


def drain_peak_mb() -> float:
    """Return the limit of a drain's memory with the local engine, in MB."""
    return float(json.loads(FILE.read_text("utf-8"))["drain_peak_mb"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The goals of one contestant apart from speed.

    Attributes:
        contestant: its name.
        cpu_baseline: the contestant with whose CPU time per record its own is compared.
        cpu_at_most: the limit of that ratio.
        latency_baseline: the contestant with whose delays its own are compared.
        latency_p99_at_most: the limit of the ratio of the 99th percentiles.
        first_record_ms: the limit of the time from joining the group to the first record.
        peak_mb_without_answers: the limit of its memory besides one response of its broker: the
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
    """Return the ``limits`` of the file."""
    return Limits(**json.loads(FILE.read_text("utf-8"))["limits"])
