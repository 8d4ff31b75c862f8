"""Runs both libraries side by side on one broker, and compares their outcomes."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.alike.casebook import all_cases
from tests.alike.differences import BY_DECISION
from tests.alike.library import OURS, THEIRS
from tests.alike.outcomes import HUNG, Outcome, are_alike, is_no_outcome

REPOSITORY = Path(__file__).parents[2]
LIMIT_S = 300
ENVIRONMENT = {**os.environ, "ZKCONSUMER_CONFIG": "", "PYTHONWARNINGS": "ignore"}
NOTHING: tuple[Outcome, float] = (HUNG, 0.0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcomes of all cases with both libraries.

    Attributes:
        outcomes: (theirs, ours) by the case's name.
        seconds: (theirs, ours) durations by the case's name.
    """

    outcomes: dict[str, tuple[Outcome, Outcome]]
    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def different(self) -> dict[str, tuple[Outcome, Outcome]]:
        """The cases whose outcomes differ."""
        return {name: pair for name, pair in self.outcomes.items() if not are_alike(*pair)}

    @property
    def share_alike(self) -> float:
        """The share of cases with equal outcomes, 0 to 1."""
        return 1 - len(self.different) / len(self.outcomes)

    def report(self) -> str:
        """List all differences, and the number of cases that are alike."""
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

    A case in which kafka-python waits in vain is repeated once: on a busy machine it may not read a
    new topic for half a minute. A difference that was not decided is also repeated once with both,
    since some cases depend on what another thread does at that moment.

    Args:
        bootstrap: a broker that creates topics automatically, and is used for nothing else.
        words: only run cases whose names contain one of these; all by default.
    """
    subprocess.run(
        [sys.executable, "-m", "tests.alike.writing", bootstrap],
        cwd=REPOSITORY,
        env=ENVIRONMENT,
        timeout=LIMIT_S,
        check=True,
    )
    names = [
        case.name for case in all_cases() if not words or any(word in case.name for word in words)
    ]
    with ExitStack() as workers:
        theirs, ours = (
            workers.enter_context(_Worker(library, bootstrap, names)) for library in (THEIRS, OURS)
        )
        reported, told_by_ours = theirs.outcomes(), ours.outcomes()
    again = [name for name in names if is_no_outcome(reported.get(name, NOTHING)[0])]
    if again:
        with _Worker(THEIRS, bootstrap, again) as once_more:
            reported |= once_more.outcomes()
    doubted = [
        name
        for name in names
        if name not in BY_DECISION
        and not are_alike(reported.get(name, NOTHING)[0], told_by_ours.get(name, NOTHING)[0])
    ]
    if doubted:
        with ExitStack() as workers:
            both = [
                workers.enter_context(_Worker(library, bootstrap, doubted))
                for library in (THEIRS, OURS)
            ]
            reported |= both[0].outcomes()
            told_by_ours |= both[1].outcomes()
    pairs = {name: (reported.get(name, NOTHING), told_by_ours.get(name, NOTHING)) for name in names}
    return Comparison(
        {name: (theirs[0], ours[0]) for name, (theirs, ours) in pairs.items()},
        {name: (theirs[1], ours[1]) for name, (theirs, ours) in pairs.items()},
    )


class _Worker:
    """A process that runs cases with one library; killed at the end of its context."""

    def __init__(self, library: str, bootstrap: str, names: Sequence[str]) -> None:
        self._output = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed below
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.alike.worker"),
                *(library, bootstrap, "\n".join(names)),
            ],
            cwd=REPOSITORY,
            env=ENVIRONMENT,
            stdout=self._output,
        )

    def outcomes(self) -> dict[str, tuple[Outcome, float]]:
        """Outcome and duration (s) by the case's name; cases that hung are missing."""
        self._process.wait(LIMIT_S)
        self._output.seek(0)
        lines = map(json.loads, self._output)
        return {name: (outcome, took_s) for name, outcome, took_s in lines}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._output.close()


def _short(outcome: Outcome, width: int = 1500) -> str:
    text = json.dumps(outcome)
    return text if len(text) <= width else f"{text[:width]}..."
