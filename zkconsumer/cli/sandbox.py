"""``zkconsumer sandbox up``: a real cluster on this machine until Ctrl-C."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from zkconsumer.cli.numbers import whole_number
from zkconsumer.cli.sandbox_access import advice
from zkconsumer.cli.signals import StopRequested, stop_signals
from zkconsumer.demo.traffic import write_sample
from zkconsumer.digits import is_decimal
from zkconsumer.errors import SandboxError
from zkconsumer.sandbox import DEFAULT_KAFKA, VERSIONS, Sandbox
from zkconsumer.sandbox.jars import missing_jars
from zkconsumer.sandbox.secured import SECURITIES, ZOOKEEPER_SECURITIES
from zkconsumer.sandbox.settings import SandboxOptions
from zkconsumer.scope import WakeEvent

DESCRIPTION = (
    "Run a real ZooKeeper and real Kafka brokers on this machine, to try things out. Their jars "
    "are downloaded at the first start, and verified by checksums."
)

message_count = whole_number("is not a number of messages", least=0)
"""Parses a number of messages."""


class TopicOption(NamedTuple):
    """A topic to create when the cluster is up."""

    name: str
    partitions: int
    replication: int


def parse_topic(text: str) -> TopicOption:
    """Parse ``NAME:PARTITIONS`` or ``NAME:PARTITIONS:REPLICATION``.

    Raises:
        argparse.ArgumentTypeError: the text has another form.
    """
    name, *numbers = text.split(":")
    if not name or len(numbers) not in {1, 2} or not all(map(_is_count, numbers)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME:PARTITIONS or NAME:PARTITIONS:REPLICATION"
        )
    return TopicOption(name, int(numbers[0]), int(numbers[1]) if len(numbers) == 2 else 1)


def _is_count(text: str) -> bool:
    return is_decimal(text, 6) and int(text) > 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's only subcommand, ``up``, with its arguments."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    up = commands.add_parser(
        "up",
        help="start a cluster and keep it until Ctrl-C",
        description="Start a real ZooKeeper and real brokers on loopback, print their addresses, "
        "and stop them on Ctrl-C, SIGTERM, or when this process dies.",
        allow_abbrev=True,
    )
    _add_cluster_options(up)
    _add_security_options(up)
    up.add_argument(
        "--sample-messages",
        type=message_count,
        default=0,
        metavar="N",
        help="write N log lines to each --topic",
    )
    up.add_argument(
        "--play",
        action="store_true",
        help="write to topics and read them in groups that keep up, are slow, stuck or "
        "abandoned, so that serve, lag and doctor have something to show",
    )


def _add_cluster_options(up: argparse.ArgumentParser) -> None:
    """Add the options for the servers and their topics."""
    up.add_argument(
        "--kafka", default=DEFAULT_KAFKA, metavar="VERSION", help=f"one of {', '.join(VERSIONS)}"
    )
    up.add_argument(
        "--brokers", type=int, default=1, metavar="N", help="the number of brokers (default: 1)"
    )
    up.add_argument(
        "--topic",
        dest="topics",
        type=parse_topic,
        action="append",
        default=[],
        metavar="NAME:PARTITIONS[:REPLICATION]",
        help="create this topic; may be repeated",
    )
    up.add_argument(
        "--zookeeper-port", type=int, metavar="PORT", help="ZooKeeper's port (default: a free one)"
    )
    up.add_argument(
        "--broker-port",
        type=int,
        metavar="PORT",
        help="the first broker's port, followed by those of the others (default: free ports)",
    )
    up.add_argument(
        "--chroot",
        default="/kafka",
        metavar="PATH",
        help="the chroot of the cluster (default: /kafka)",
    )
    up.add_argument(
        "--work-dir",
        metavar="DIR",
        help="keep data and logs in this folder (default: a temporary one)",
    )
    up.add_argument(
        "--auto-create-topics", action="store_true", help="let brokers create unknown topics"
    )
    up.add_argument(
        "--listen",
        default="127.0.0.1",
        metavar="HOST",
        help="the address to listen on (default: 127.0.0.1); 0.0.0.0 inside a container",
    )


def _add_security_options(up: argparse.ArgumentParser) -> None:
    """Add the options for authentication."""
    up.add_argument(
        "--security",
        choices=SECURITIES,
        help="how clients authenticate to brokers; their settings are printed (default: no "
        "authentication)",
    )
    up.add_argument(
        "--zookeeper-security",
        choices=ZOOKEEPER_SECURITIES,
        help=(
            "digest: a user authenticates to ZooKeeper by DIGEST-MD5 (default: no authentication)"
        ),
    )


def run(args: argparse.Namespace) -> int:
    """Start the cluster and wait for a signal, which is a success."""
    try:
        with stop_signals():
            _up(args)
    except StopRequested:
        pass
    return 0


def _up(args: argparse.Namespace) -> None:
    if args.sample_messages and not args.topics:
        raise SandboxError("--sample-messages needs a topic to write to: give --topic, too")
    missing = missing_jars(args.kafka) if args.kafka in VERSIONS else 0
    if missing:
        print(f"downloading {missing} jars of Kafka {args.kafka}, only this time", file=sys.stderr)
    if args.play and (args.security or args.zookeeper_security):
        raise SandboxError("--play can't be combined with --security or --zookeeper-security")
    sandbox = Sandbox(args.kafka, args.brokers, **_options(args))
    print("starting ZooKeeper and Kafka, which takes some seconds", file=sys.stderr)
    with (
        sandbox as cluster,
        playing(cluster) if args.play else nullcontext(),
    ):
        for topic in args.topics:
            cluster.create_topic(topic.name, topic.partitions, topic.replication)
            write_sample(cluster.brokers, topic.name, topic.partitions, args.sample_messages)
        print(f"zookeeper.connect={cluster.zookeeper_connect}")
        print(f"metadata.broker.list={cluster.bootstrap_servers}")
        if args.security or args.zookeeper_security:
            if args.security:
                print(f"bootstrap.servers={cluster.access.bootstrap_servers}")
            print(advice(cluster.access, cluster.zookeeper_connect))
        print(f"Kafka {cluster.kafka} is up. Ctrl-C stops it.", flush=True)
        WakeEvent().wait()  # a signal ends this


@contextmanager
def playing(cluster: Sandbox) -> Iterator[None]:
    """Run activity in a cluster, and print a description."""
    from zkconsumer.demo.play import WHAT_PLAYS, Play  # noqa: PLC0415 - few need it

    with Play(cluster):
        print(" ".join(WHAT_PLAYS.split()), flush=True)
        yield


def _options(args: argparse.Namespace) -> SandboxOptions:
    first: int | None = args.broker_port
    return {
        "zookeeper_port": args.zookeeper_port,
        "broker_ports": () if first is None else range(first, first + max(0, args.brokers)),
        "chroot": args.chroot.rstrip("/"),
        "work_dir": args.work_dir,
        "auto_create_topics": args.auto_create_topics,
        "listen_host": args.listen,
        "security": args.security,
        "zookeeper_security": args.zookeeper_security,
    }
