"""``make bench``: measure, print the tables, write JSON and the chart.

ARGS of ``make bench``:
  --quick                  smaller topics, two rounds: a first impression, no figures to quote
  --sections core,latency  what to measure
  --only raw,one-by-one    the contestants; baselines of ratios are not added automatically
  --rounds 5
  --into FOLDER            the folder for results.json, results.md and benchmarks.svg
  --from results.json      measure nothing, make the tables and the chart again
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks import chart, table
from tests.benchmarks.contestants.catalog import everybody, listeners
from tests.benchmarks.latency import LatencyRun, LatencySession
from tests.benchmarks.plan import DEFAULT_SECTIONS, SECTIONS, latencies, topics
from tests.benchmarks.processes import REPOSITORY
from tests.benchmarks.results import Results, this_machine
from tests.benchmarks.session import Session, running_sandbox

_CHARTED = (
    ("100-none-p4", "100-byte messages, 4 partitions, one broker"),
    ("100-none-p1", "100-byte messages, 1 partition"),
)


def main(argv: Sequence[str]) -> None:
    """Measure and report."""
    options = _parser().parse_args(argv)
    if options.load is not None:
        results = Results.load(options.load)
    else:
        results = measure(options)
        results.save(options.into / "results.json")
    report(results, options.into)
    if options.load is None and "rebalance" in options.sections:
        measure_rebalances(options.into / "rebalance.json")


def measure_rebalances(file: Path) -> None:
    """Measure how long rebalances stop a group, in a separate session, by members, not passes."""
    argv = ["-m", "tests.benchmarks.rebalance", "--delay-ms", "0,2", "--json", str(file.absolute())]
    subprocess.run([sys.executable, *argv], cwd=REPOSITORY, check=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )

    def names(text: str) -> list[str]:
        return text.split(",")

    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sections", type=names, default=list(DEFAULT_SECTIONS))
    parser.add_argument(
        "--only", type=names, default=[contestant.name for contestant in everybody()]
    )
    parser.add_argument("--rounds", type=int)
    parser.add_argument(
        "--retries", type=int, default=2, help="additional attempts for a disturbed pass"
    )
    parser.add_argument("--into", type=Path, default=Path("build/bench"))
    parser.add_argument("--from", type=Path, dest="load")
    return parser


def measure(options: argparse.Namespace) -> Results:
    """Measure the selected sections with the selected contestants."""
    unknown = set(options.sections) - set(SECTIONS)
    unknown |= set(options.only) - {contestant.name for contestant in everybody()}
    if unknown:
        raise SystemExit(f"make bench has no {', '.join(sorted(unknown))}")
    rounds = options.rounds or (2 if options.quick else 5)
    contestants = [contestant for contestant in everybody() if contestant.name in options.only]
    hearing = [listener for listener in listeners() if listener.name in options.only]
    received: list[LatencyRun] = []
    with ExitStack() as stack:
        session = Session(
            stack.enter_context(running_sandbox()), contestants, retries=options.retries
        )
        for contestant in (*contestants, *hearing):
            stack.callback(contestant.close)
        latency = LatencySession(session, received)
        for section in options.sections:
            for spec in topics(section, quick=options.quick):
                session.measure(spec, rounds)
            for plan in latencies(section, quick=options.quick):
                latency.measure(plan, hearing, rounds)
    labels = {contestant.name: contestant.label for contestant in contestants}
    return Results(this_machine(), labels, session.runs, received, session.skipped)


def report(results: Results, into: Path) -> None:
    """Print the tables, and write them and the chart."""
    parts = []
    if results.runs:
        parts.append(table.overview(results.runs, results.labels))
        parts.append(table.throughput(results.runs, results.skipped, results.labels))
    if results.latency:
        parts.append(table.latency(results.latency, results.labels))
    results.report(parts, into / "results.md")
    (into / "benchmarks.svg").write_text(chart.draw(results, _CHARTED), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
