"""``bounds.json``: what is to be reached, and what CI never lets it fall below. All are ratios."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.figures import Ratio, Run, ratio

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
    """``goals`` and ``compressed_goals`` for the whole suite, ``floors`` for CI."""
    return [Bound(**one) for one in json.loads(FILE.read_text("utf-8"))[kind]]
