"""``python -m tests.benchmarks.imports``: the import times of clients, in fresh processes.

They alternate; the first process of each, which writes bytecode, does not count.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.benchmarks.environments import OTHERS
from tests.benchmarks.processes import REPOSITORY

GOAL_MS = 100


@dataclass(frozen=True, slots=True)
class Import:
    """A program that only imports, and the interpreter that runs it."""

    code: str
    python: str

    def run(self) -> float:
        """Return how long the process lives, in ms.

        Raises:
            CalledProcessError: it fails.
        """
        environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        began = time.perf_counter()
        subprocess.run([self.python, "-c", self.code], env=environ, cwd=REPOSITORY, check=True)
        return (time.perf_counter() - began) * 1_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="runs of each (default: 15)")
    rounds = max(1, parser.parse_args(arguments).rounds)
    others = OTHERS.python()
    wanted = (
        Import("pass", sys.executable),
        Import("import zkconsumer", sys.executable),
        Import("from zkconsumer import KafkaConsumer", sys.executable),
        Import("pass", others),
        Import("from kafka import KafkaConsumer", others),
        Import("from confluent_kafka import Consumer", others),
    )
    for each in wanted:
        each.run()
    times = [[each.run() for each in wanted] for _ in range(rounds)]
    sys.stdout.write(_report([each.code for each in wanted], [*zip(*times, strict=True)]))


def _report(codes: Sequence[str], times: Sequence[Sequence[float]]) -> str:
    lines = ["| program | ms, median | lowest - highest |", "|---|---:|---:|"]
    for code, taken in zip(codes, times, strict=True):
        middle = statistics.median(taken)
        lines.append(f"| `{code}` | {middle:.0f} | {min(taken):.0f} - {max(taken):.0f} |")
    ours = statistics.median(times[1])
    verdict = "reached" if ours <= GOAL_MS else "missed"
    lines += ["", f"- `{codes[1]}` in {ours:.0f} ms, at most {GOAL_MS}: {verdict}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
