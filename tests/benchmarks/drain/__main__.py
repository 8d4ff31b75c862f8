"""``make bench-drain``: the time and memory to land a topic and to prove it.

ARGS of ``make bench-drain``:
  --quick                 a million records, two rounds: a first impression, no figures to quote
  --records 50000000      of 100 bytes each
  --partitions 4
  --only local,spark      the contestants: jvm, spark, local, local-iceberg
  --rounds 5
  --folder FOLDER         where the topic is landed (needs 200 bytes per record)
  --into FOLDER           the folder for drain.json and drain.md
  --from drain.json       measure nothing, make the tables again
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.drain import report
from tests.benchmarks.drain.landings import all_landings
from tests.benchmarks.drain.session import DrainSession
from tests.benchmarks.plan import CORE_BYTES
from tests.benchmarks.results import Results, this_machine
from tests.benchmarks.session import running_sandbox
from tests.benchmarks.topics import TopicSpec
from zkconsumer.records.codecs import Codec

_BROKER = "3.9.1"
_RECORDS, _QUICK_RECORDS = 50_000_000, 1_000_000


def main(argv: Sequence[str]) -> None:
    """Measure and report."""
    options = _parser().parse_args(argv)
    results = Results.load(options.load) if options.load is not None else measure(options)
    tables = report.tables(results.runs, results.skipped, results.labels)
    results.report([tables], options.into / "drain.md")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench-drain",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--records", type=int)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--rounds", type=int)
    parser.add_argument(
        "--retries", type=int, default=1, help="additional attempts for a disturbed pass"
    )
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--into", type=Path, default=Path("build/bench"))
    parser.add_argument("--from", type=Path, dest="load")
    return parser


def measure(options: argparse.Namespace) -> Results:
    """Measure the selected landings, and save the results."""
    landings = [
        landing for landing in all_landings() if not options.only or landing.name in options.only
    ]
    if not landings:
        raise SystemExit("--only names no landing of make bench-drain")
    spec = TopicSpec(
        value_bytes=CORE_BYTES,
        codec=Codec.NONE,
        partitions=options.partitions,
        records=options.records or (_QUICK_RECORDS if options.quick else _RECORDS),
    )
    with running_sandbox(_BROKER) as sandbox:
        options.folder.mkdir(parents=True, exist_ok=True)
        session = DrainSession(sandbox, landings, options.folder, retries=options.retries)
        session.measure(spec, rounds=options.rounds or (2 if options.quick else 5))
        labels = {landing.name: landing.label for landing in landings}
        results = Results(this_machine(), labels, session.runs, skipped=session.skipped)
        results.save(options.into / "drain.json")
    return results


if __name__ == "__main__":
    main(sys.argv[1:])
