"""``python -m tests.simulation --schedules n --seed s [--jobs j] [--verbose]``."""

import argparse
import gc
import multiprocessing
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing

from tests.simulation.schedule import Outcome, run_schedule

MS_AN_HOUR = 3_600_000
PROGRESS_EVERY = 500
SEEDS_A_TASK = 20
OBJECTS_A_COLLECTION = 100_000
"""More objects than a schedule leaves behind.

With Python's default of 700, a tenth of the time went into garbage collection.
"""

Run = Callable[[int], Outcome]


def main(arguments: list[str] | None = None, run: Run = run_schedule) -> int:
    """Run schedules and print the trace of the first one that fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes that run schedules")
    parser.add_argument("--verbose", action="store_true", help="print the trace of every schedule")
    given = parser.parse_args(arguments)
    gc.freeze()
    gc.set_threshold(OBJECTS_A_COLLECTION)
    started = time.perf_counter()
    seeds = range(given.seed, given.seed + given.schedules)
    simulated_ms = 0
    with closing(_outcomes(run, seeds, given.jobs)) as outcomes:
        for count, outcome in enumerate(outcomes, start=1):
            simulated_ms += outcome.simulated_ms
            if given.verbose or outcome.failure is not None:
                _show(run(outcome.seed))
            if outcome.failure is not None:
                return 1
            if count % PROGRESS_EVERY == 0 or count == given.schedules:
                took_s = time.perf_counter() - started
                hours = simulated_ms / MS_AN_HOUR
                _write(f"{count} schedules, {hours:.1f} simulated hours, {took_s:.1f} s")
    return 0


def _outcomes(run: Run, seeds: range, jobs: int) -> Generator[Outcome]:
    """Yield the outcome of each seed in order, without its trace."""
    task = _WithoutTrace(run)
    if jobs == 1:
        yield from map(task, seeds)
        return
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        yield from pool.imap(task, seeds, chunksize=SEEDS_A_TASK)


class _WithoutTrace:
    """Runs a schedule and drops its trace: any seed can be replayed exactly to get one."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, seed: int) -> Outcome:
        outcome = self._run(seed)
        outcome.trace.clear()
        return outcome


def _show(outcome: Outcome) -> None:
    for time_ms, what, *about in outcome.trace:
        _write(f"{time_ms:9} {what:16} {' '.join(map(str, about))}")
    _write(f"seed {outcome.seed}: {outcome.failure or 'all is well'}; trace {outcome.digest[:16]}")


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
