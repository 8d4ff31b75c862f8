"""Run both libraries side by side on one broker, and hold their outcomes against each other."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.alike.casebook import all_cases
from tests.alike.differences import BY_DECISION
from tests.alike.library import OURS, THEIRS
from tests.alike.outcomes import Outcome, are_alike
from tests.alike.stage import set_up

REPOSITORY = Path(__file__).parents[2]
LIMIT_S = 300
HUNG = {"hung": True}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of each case.

    Attributes:
        outcomes: (theirs, ours) by the case's name.
        seconds: (theirs, ours) it took.
    """

    outcomes: dict[str, tuple[Outcome, Outcome]]
    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def different(self) -> dict[str, tuple[Outcome, Outcome]]:
        """Those that don't come out alike."""
        return {name: pair for name, pair in self.outcomes.items() if not are_alike(*pair)}

    @property
    def share_alike(self) -> float:
        """How many of all come out alike, 0 to 1."""
        return 1 - len(self.different) / len(self.outcomes)

    def report(self) -> str:
        """All that differ, and how many of how many are alike."""
        lines = []
        for name, (theirs, ours) in sorted(self.different.items()):
            decided = " (by decision)" if name in BY_DECISION else ""
            lines += [
                f"different{decided}: {name}",
                f"    theirs: {_short(theirs)}",
                f"    ours:   {_short(ours)}",
            ]
        alike = len(self.outcomes) - len(self.different)
        lines.append(f"{alike} of {len(self.outcomes)} alike ({self.share_alike:.1%})")
        return "\n".join(lines)


def compare(bootstrap: str, words: Sequence[str] = ()) -> Comparison:
    """Fill the broker, run every case with both libraries at the same time, and compare.

    Args:
        bootstrap: a broker that makes topics by itself, and is used for nothing else.
        words: only cases whose names have one of them; all by default.
    """
    set_up(bootstrap)
    workers = {library: _start(library, bootstrap, words) for library in (THEIRS, OURS)}
    told = {library: _outcomes(worker) for library, worker in workers.items()}
    names = [
        one.name for one in all_cases() if not words or any(word in one.name for word in words)
    ]
    missing = (HUNG, 0.0)
    pairs = {
        name: (told[THEIRS].get(name, missing), told[OURS].get(name, missing)) for name in names
    }
    return Comparison(
        {name: (theirs[0], ours[0]) for name, (theirs, ours) in pairs.items()},
        {name: (theirs[1], ours[1]) for name, (theirs, ours) in pairs.items()},
    )


def _start(library: str, bootstrap: str, words: Sequence[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.alike.worker", library, bootstrap, *words],
        cwd=REPOSITORY,
        env={**os.environ, "ZKCONSUMER_CONFIG": "", "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        text=True,
    )


def _outcomes(worker: "subprocess.Popen[str]") -> dict[str, tuple[Outcome, float]]:
    output, _ = worker.communicate(timeout=LIMIT_S)
    lines = map(json.loads, output.splitlines())
    return {name: (outcome, took_s) for name, outcome, took_s in lines}


def _short(outcome: Outcome, width: int = 1500) -> str:
    text = json.dumps(outcome)
    return text if len(text) <= width else f"{text[:width]}..."
