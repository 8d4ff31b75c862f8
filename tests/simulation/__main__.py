"""``python -m tests.simulation --schedules n --seed s [--verbose]``."""

import argparse
import sys
import time
from collections.abc import Callable

from tests.simulation.schedule import Outcome, run_schedule


def main(arguments: list[str] | None = None, run: Callable[[int], Outcome] = run_schedule) -> int:
    """Run schedules; print the trace of the first that fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="print the trace of every schedule")
    given = parser.parse_args(arguments)
    started = time.perf_counter()
    for count, seed in enumerate(range(given.seed, given.seed + given.schedules), start=1):
        outcome = run(seed)
        if given.verbose or outcome.failure is not None:
            _show(outcome)
        if outcome.failure is not None:
            return 1
        if count % 500 == 0 or count == given.schedules:
            took_s = time.perf_counter() - started
            _say(f"{count} schedules, {took_s:.1f} s, {1000 * took_s / count:.1f} ms each")
    return 0


def _show(outcome: Outcome) -> None:
    for time_ms, what, *about in outcome.trace:
        _say(f"{time_ms:9} {what:16} {' '.join(map(str, about))}")
    _say(f"seed {outcome.seed}: {outcome.failure or 'all is well'}; trace {outcome.digest[:16]}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
