"""``python -m tests.alike [--broker 2.8.2] [WORDS]``: compare, and print what differs."""

import argparse
import sys

from tests.alike.comparison import compare
from tests.alike.differences import BY_DECISION
from zkconsumer.sandbox import Sandbox

SHORT_SESSIONS = {"group.min.session.timeout.ms": "500"}


def main() -> int:
    """Return exit status 0 if all differences are decided ones."""
    parser = argparse.ArgumentParser(prog="python -m tests.alike")
    parser.add_argument("--broker", default="2.8.2", help="the Kafka version")
    parser.add_argument("--slow", action="store_true", help="print how long each case took")
    parser.add_argument("words", nargs="*", help="only cases whose names have one of these")
    options = parser.parse_args()
    with Sandbox(
        kafka=options.broker, brokers=1, auto_create_topics=True, broker_properties=SHORT_SESSIONS
    ) as sandbox:
        comparison = compare(sandbox.bootstrap_servers, options.words)
    if options.slow:
        for name, (theirs, ours) in sorted(
            comparison.seconds.items(), key=lambda entry: -max(entry[1])
        )[:30]:
            sys.stdout.write(f"{theirs:6.2f} s  {ours:6.2f} s  {name}\n")
    sys.stdout.write(f"{comparison.report()}\n")
    return 0 if comparison.different.keys() <= BY_DECISION else 1


if __name__ == "__main__":
    sys.exit(main())
