"""``make bench-poll``: the poll API's speed compared with other clients', on a modern broker.

ARGS of ``make bench-poll``:
  --quick                 smaller topics, two rounds: a first impression, no figures to quote
  --topics 100-none-p4    the topics to read; all by default
  --only poll,iterate     the contestants; baselines of ratios are not added automatically
  --rounds 5
  --into FOLDER           the folder for poll.json and poll.md
  --from poll.json        measure nothing, make the tables again
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.plan import poll_topics
from tests.benchmarks.poll import report
from tests.benchmarks.poll.catalog import everybody
from tests.benchmarks.results import Results, this_machine
from tests.benchmarks.session import Session, running_sandbox

KAFKA = "3.9.1"


def main(argv: Sequence[str]) -> None:
    """Measure and report."""
    options = _parser().parse_args(argv)
    results = Results.load(options.load) if options.load is not None else measure(options)
    parts = [
        report.overview(results.runs, results.labels),
        report.tables(results.runs, results.skipped, results.labels),
    ]
    results.report(parts, options.into / "poll.md")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench-poll", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )

    def names(text: str) -> list[str]:
        return text.split(",")

    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--topics", type=names, default=[])
    parser.add_argument("--only", type=names, default=[])
    parser.add_argument("--rounds", type=int)
    parser.add_argument(
        "--retries", type=int, default=2, help="additional attempts for a disturbed pass"
    )
    parser.add_argument("--into", type=Path, default=Path("build/bench"))
    parser.add_argument("--from", type=Path, dest="load")
    return parser


def measure(options: argparse.Namespace) -> Results:
    """Measure the selected topics and contestants; save the results after each topic."""
    specs = {spec.name: spec for spec in poll_topics(quick=options.quick)}
    contestants = {program.name: program for program in everybody()}
    unknown = set(options.topics) - set(specs) | set(options.only) - set(contestants)
    if unknown:
        raise SystemExit(f"make bench-poll has no {', '.join(sorted(unknown))}")
    chosen = [contestants[name] for name in options.only or contestants]
    labels = {program.name: program.label for program in chosen}
    with running_sandbox(KAFKA) as sandbox:
        session = Session(sandbox, chosen, retries=options.retries)
        results = Results(this_machine(), labels, session.runs, skipped=session.skipped)
        for name in options.topics or specs:
            session.measure(specs[name], options.rounds or (2 if options.quick else 5))
            results.save(options.into / "poll.json")
    return results


if __name__ == "__main__":
    main(sys.argv[1:])
