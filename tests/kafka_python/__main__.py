"""``python -m tests.kafka_python [--broker 2.8.2] [--source 3.0.12]``: run, tell what failed."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.kafka_python.run import Result, prepare, run
from tests.kafka_python.sources import SOURCES
from zkconsumer.sandbox import Sandbox

BROKERS = ("0.10.2.2", "2.8.2", "3.9.1")


def run_all(brokers: Sequence[str], versions: Sequence[str]) -> list[Result]:
    """Run the tests of these kafka-pythons on these brokers, one after the other, and tell."""
    results = []
    with tempfile.TemporaryDirectory(prefix="kafka-python-tests-") as folder:
        prepared = []
        for source in SOURCES:
            if source.version in versions:
                home = Path(folder) / source.version
                home.mkdir()
                prepared.append((source, prepare(source, home)))
        for broker in brokers:
            with Sandbox(kafka=broker, brokers=1) as sandbox:
                for source, root in prepared:
                    found = run(source, root, broker, sandbox.bootstrap_servers)
                    sys.stdout.write(f"{found.report()}\n")
                    sys.stdout.flush()
                    results.append(found)
    return results


def main() -> int:
    """Exit status 0: none failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.kafka_python")
    versions = [source.version for source in SOURCES]
    parser.add_argument("--broker", action="append", choices=BROKERS, help="Kafka; all by default")
    parser.add_argument("--source", action="append", choices=versions, help="kafka-python; all")
    options = parser.parse_args()
    results = run_all(options.broker or BROKERS, options.source or versions)
    return 1 if any(found.failed for found in results) else 0


if __name__ == "__main__":
    sys.exit(main())
