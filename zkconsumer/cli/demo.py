"""``zkconsumer demo``: plays the main use case live on a sandbox, with an audit at the end."""

import argparse
import sys
import tempfile
from contextlib import closing
from pathlib import Path

_CLEAR = "\x1b[H\x1b[2J"

DESCRIPTION = (
    "Start a real ZooKeeper and two Kafka 0.8.2.2 brokers, write log lines at a steady rate, "
    "and let the original Scala console consumer and two of ours share a group. Kill a member, "
    "restart a broker, and prove by counting that nothing was lost. It takes less than two "
    "minutes and leaves nothing running."
)
ALLOW_ABBREV = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--migrate",
        action="store_true",
        help="show the migration to Kafka 4 instead: mirror, migrate the group, verify, switch, "
        "while a producer writes; every message is counted (docs/leaving.md)",
    )
    parser.add_argument(
        "--rate", type=int, default=200, metavar="N", help="lines per second (default: 200)"
    )


def run(args: argparse.Namespace) -> int:
    """Play the demo; return 0 if no message was lost."""
    if args.migrate:
        return _migrate(max(1, args.rate))
    # The sandbox is an optional extra, needed only by this command and `sandbox`.
    from zkconsumer.demo.story import Story, audit_lines  # noqa: PLC0415
    from zkconsumer.sandbox import Sandbox  # noqa: PLC0415

    _write("starting ZooKeeper and two Kafka 0.8.2.2 brokers (downloading them the first time) ...")
    with (
        tempfile.TemporaryDirectory(prefix="zkconsumer-demo-") as folder,
        Sandbox(kafka="0.8.2.2", brokers=2) as cluster,
    ):
        _write(f"zookeeper.connect={cluster.zookeeper_connect}")
        rate = max(1, args.rate)
        with closing(Story(cluster, Path(folder), _write, lines_per_second=rate)) as story:
            outcome = story.play()
    for line in audit_lines(outcome):
        _write(line)
    return 0 if outcome.lost_count == 0 else 1


def _migrate(lines_per_second: int) -> int:
    # Another optional extra.
    from zkconsumer.demo.leaving import Leaving, leaving_lines  # noqa: PLC0415
    from zkconsumer.sandbox import Sandbox  # noqa: PLC0415
    from zkconsumer.sandbox.kraft import KRAFT, KraftNode  # noqa: PLC0415

    _write(f"starting Kafka 0.8.2.2 with its ZooKeeper, and Kafka {KRAFT.name} without one ...")
    with (
        tempfile.TemporaryDirectory(prefix="zkconsumer-demo-") as folder,
        Sandbox(kafka="0.8.2.2", brokers=1) as old,
        KraftNode() as new,
    ):
        _write(f"old: zookeeper.connect={old.zookeeper_connect}; new: {new.bootstrap_servers}")
        leaving = Leaving(old, new, Path(folder), _write, lines_per_second=lines_per_second)
        with closing(leaving):
            outcome = leaving.play()
    for line in leaving_lines(outcome):
        _write(line)
    return 0 if outcome.audit.lost_count == 0 and outcome.is_proven else 1


def _write(text: str) -> None:
    """Print; on a terminal the picture replaces the previous one."""
    if text.startswith("== ") and sys.stdout.isatty():
        text = _CLEAR + text
    print(text, flush=True)
