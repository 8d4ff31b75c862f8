"""``make bench-spark``: Spark's speed with our source and with its own.

ARGS of ``make bench-spark``:
  --quick                 smaller topics, two rounds: a first impression, no figures to quote
  --topics 100-none-p4    the topics to read; all by default
  --only jvm,zkconsumer   the contestants
  --rounds 5
  --into FOLDER           the folder for spark.json and spark.md
  --from spark.json       measure nothing, make the tables again
  --planning 1000         also measure the planning of micro-batches over that many partitions
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.plan import spark_topics
from tests.benchmarks.results import Results, this_machine
from tests.benchmarks.session import running_sandbox
from tests.benchmarks.spark import planning, report
from tests.benchmarks.spark.session import SparkSession
from tests.benchmarks.spark.sources import all_sources

_MODERN = "3.9.1"


def main(argv: Sequence[str]) -> None:
    """Measure and report."""
    options = _parser().parse_args(argv)
    results = Results.load(options.load) if options.load is not None else measure(options)
    parts = [report.tables(results.runs, results.skipped, results.labels)]
    if options.planning:
        parts.append(planning.measure(options.planning))
    results.report(parts, options.into / "spark.md")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench-spark",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )

    def names(text: str) -> list[str]:
        return text.split(",")

    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--topics", type=names, default=[])
    parser.add_argument("--only", type=names, default=[])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--warm-ups", type=int, default=3)
    parser.add_argument(
        "--retries", type=int, default=1, help="additional attempts for a disturbed pass"
    )
    parser.add_argument("--into", type=Path, default=Path("build/bench"))
    parser.add_argument("--from", type=Path, dest="load")
    parser.add_argument("--planning", type=int, default=0)
    return parser


def measure(options: argparse.Namespace) -> Results:
    """Measure the selected topics and sources; save the results after each topic."""
    sources = [
        source for source in all_sources() if not options.only or source.name in options.only
    ]
    specs = [
        spec
        for spec in spark_topics(quick=options.quick)
        if not options.topics or spec.name in options.topics
    ]
    if not sources or not specs:
        raise SystemExit("make bench-spark has none of these topics, or none of these sources")
    with ExitStack() as stack:
        session = SparkSession(
            old=stack.enter_context(running_sandbox()),
            new=stack.enter_context(running_sandbox(_MODERN)),
            sources=sources,
            retries=options.retries,
        )
        for source in sources:
            stack.callback(source.engine.close)
        labels = {source.name: source.label for source in sources}
        results = Results(this_machine(), labels, session.runs, skipped=session.skipped)
        for number, spec in enumerate(specs):
            session.measure(
                spec,
                rounds=options.rounds or (2 if options.quick else 5),
                # A session that has read one topic is warm for the next.
                warm_ups=1 if number else options.warm_ups,
            )
            results.save(options.into / "spark.json")
    return results


if __name__ == "__main__":
    main(sys.argv[1:])
