"""``python -m tests.mutants``: tries a sample of mutants and reports those that no test detects.

Nothing is written into the checkout. Exit status 0: all were detected; 1: some were not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest

from tests.mutants.plan import (
    PACKAGES,
    PURE_PATHS,
    PURE_TESTS,
    SERVER_MARKS,
    SERVER_PATHS,
    SERVER_TESTS,
    TESTS,
    TOP,
    UNIT_MARKS,
    Plan,
    again,
    pytest_arguments,
    sample,
)
from tests.mutants.sites import Mutant
from tests.mutants.swap import Change, MutantFinder
from tests.mutants.trials import Outcome, Trial, run_trials
from tests.mutants.warm import GRACE_S, SLOWEST, Reach

_OPEN = {Outcome.SURVIVED, Outcome.UNREACHED, Outcome.NOT_PUT}
_COLD_START_S = 60
_SERVERS, _SERVER_START_S = "servers", 90

Drawn = Sequence[tuple[Mutant, Change]]
Outcomes = dict[int, Outcome]


def write(line: str) -> None:
    """Print a line immediately."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Draw mutants, try them and report; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many mutants")
    parser.add_argument(
        "--seed", type=int, default=1, help="which ones: the same for the same code"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests for a mutant")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, help="of zkconsumer")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="the tests that may notice")
    parser.add_argument("--keep", type=Path, help="a new folder for what was learned and told")
    parser.add_argument("--only", type=Path, help="instead of drawing: those told in a file")
    options = parser.parse_args(arguments)
    os.environ |= {"CI": "1", "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": ""}
    sys.dont_write_bytecode = True
    folder = options.keep or Path(tempfile.mkdtemp(prefix="zkconsumer-mutants-"))
    began = time.perf_counter()
    if options.only is None:
        total, drawn = sample(options.packages, options.count, options.seed)
        write(f"{len(drawn)} of {total} mutants, seed {options.seed}; what happens is in {folder}")
    else:
        gone, drawn = again(options.only.read_text().splitlines())
        for name in gone:
            write(f"no such change any more: {name}")
        write(f"{len(drawn)} mutants of {options.only}; what happens is in {folder}")
    outcomes = _try_all(drawn, folder, options)
    write(f"\n{_table(drawn, outcomes)}\n{time.perf_counter() - began:.0f} s")
    return int(any(outcome in _OPEN for outcome in outcomes.values()))


def _try_all(drawn: Drawn, folder: Path, options: argparse.Namespace) -> Outcomes:
    """Try mutants of functions with both engines, and with a ZooKeeper those that need one.

    Mutants outside functions are then tried in new processes.
    """
    outcomes: Outcomes = {}
    inside = [number for number, (_, change) in enumerate(drawn) if not change.outside]
    for name, paths, tests, marks in (
        ("0", "", options.tests, UNIT_MARKS),
        ("1", PURE_PATHS, PURE_TESTS, UNIT_MARKS),
        (_SERVERS, SERVER_PATHS, SERVER_TESTS, SERVER_MARKS),
    ):
        left = [
            number
            for number in inside
            if outcomes.get(number, Outcome.UNREACHED) in _OPEN
            and drawn[number][0].path.startswith(paths)
        ]
        plan = Plan(
            mutants=[asdict(drawn[number][0]) for number in left],
            tests=tests,
            marks=marks,
            jobs=options.jobs,
            budget_s=options.budget,
            grace_s=_SERVER_START_S if name == _SERVERS else GRACE_S,
        )
        found = _session(folder / f"engine-{name}", plan, name) if left or name == "0" else []
        for number, outcome in zip(left, found, strict=True):
            if outcome is not Outcome.UNREACHED:
                outcomes[number] = outcome
            outcomes.setdefault(number, outcome)
    # Code that no test reaches may have run when the module was imported.
    cold = [
        number
        for number in range(len(drawn))
        if outcomes.get(number) in {None, Outcome.NOT_PUT, Outcome.UNREACHED}
    ]
    _try_cold(drawn, cold, folder, options, outcomes)
    return outcomes


def _session(folder: Path, plan: Plan, engine: str) -> list[Outcome]:
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(plan))
    with (folder / "output").open("wb") as output:
        command = [sys.executable, "-m", "tests.mutants.session", str(folder)]
        environment = {**os.environ, "ZKCONSUMER_PURE": "1" if engine == "1" else "0"}
        subprocess.run(command, cwd=TOP, env=environment, stdout=output, stderr=output, check=True)
    left_out = (folder / "left-out").read_text().splitlines()
    if left_out:
        write(f"{len(left_out)} tests fail here without a mutant and are left out: {left_out[:5]}")
    written = json.loads((folder / "outcomes.json").read_text())
    return [Outcome(written[str(number)]) for number in range(len(plan["mutants"]))]


def _try_cold(
    drawn: Drawn,
    numbers: Sequence[int],
    folder: Path,
    options: argparse.Namespace,
    outcomes: Outcomes,
) -> None:
    """Import the mutant instead of its module, and run the tests that reach its functions."""
    reach = Reach()
    for file in (folder / "engine-0").glob("reach-*.json"):
        reach.add(file)
    trials = []
    for number in numbers:
        mutant = drawn[number][0]
        chosen = reach.quickest(reach.of_module(mutant.path, TOP), options.budget)
        if not chosen:
            outcomes[number] = Outcome.UNREACHED
            continue
        most_s = _COLD_START_S + GRACE_S + reach.seconds_of(chosen) * SLOWEST
        trials.append(Trial(number, partial(_run_cold, mutant, chosen), most_s))
    run_trials(trials, options.jobs, outcomes.__setitem__)


def _run_cold(mutant: Mutant, tests: Sequence[str], folder: Path) -> bool:
    """Run tests in a fork of this process, which has not imported the package."""
    sys.meta_path.insert(0, MutantFinder(TOP, mutant.path, mutant.source))
    os.chdir(TOP)
    return pytest.main([*pytest_arguments(), "-x", f"--basetemp={folder / 't'}", *tests]) == 0


def _table(drawn: Drawn, outcomes: Outcomes) -> str:
    counts = Counter(outcomes.values())
    noticed = counts[Outcome.KILLED] + counts[Outcome.TIMED_OUT]
    lines = [f"{outcome:<24}{counts[outcome]:>6}" for outcome in Outcome]
    lines.append(f"{'noticed':<24}{noticed / max(1, len(outcomes)):>6.1%}")
    lines += sorted(
        f"{outcome}: {drawn[number][0]}"
        for number, outcome in outcomes.items()
        if outcome is not Outcome.KILLED
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
