"""``zkconsumer mirror``: copies topics to another cluster; ``mirror verify``: proves it.

Source: Kafka 0.8.2.2 and 0.9 ``MirrorMaker``.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.cli.cluster_arguments import add_zookeeper_argument
from zkconsumer.cli.commands import add_command
from zkconsumer.cli.consume.settings import count_of_messages
from zkconsumer.cli.exit_status import NOT_WELL
from zkconsumer.cli.measured import add_metrics_arguments, serving_metrics
from zkconsumer.cli.mirror import translate, verify
from zkconsumer.cli.mirror.metrics import mirror_families
from zkconsumer.cli.mirror.report import json_of, summary_table
from zkconsumer.cli.numbers import whole_number
from zkconsumer.cli.progress import progress
from zkconsumer.cli.signals import StopRequested, stop_signals
from zkconsumer.errors import ConfigError
from zkconsumer.metrics.consumer import ConsumerMetrics
from zkconsumer.metrics.families import Family
from zkconsumer.mirror.mirror import Mirror, MirrorProgress
from zkconsumer.mirror.routing import Partitioning
from zkconsumer.mirror.settings import (
    BATCH_RECORDS,
    DEFAULT_COMMIT_INTERVAL_MS,
    MirrorSettings,
    consumer_settings,
    target_settings,
)
from zkconsumer.properties_file import load_properties

_COUNT = whole_number(digits=10)
_NO_EFFECT = "accepted without effect: each stream has its own producer here"
DESCRIPTION = """\
Copy topics continuously to another cluster of any version, as a member of a consumer group. An
offset is committed when the target has acknowledged (by all replicas) everything before it; before
partitions go to another member, acknowledged offsets are committed. So nothing is lost, whatever is
killed; messages that were not committed yet are copied again. It can share its group with other
mirrors, including the original MirrorMaker.

It never skips anything silently: a message that the target rejects ends it with an error that names
the offset, and it continues there when it is started again. Ctrl-C and SIGTERM end it cleanly."""

EPILOG = """\
examples:
  zkconsumer mirror --zookeeper zk1:2181/kafka --group mirror --whitelist 'clicks|orders.*' \\
      --target-bootstrap-servers new1:9092 --create-topics
  zkconsumer mirror --consumer.config c.properties --producer.config p.properties \\
      --num.streams 4 --whitelist '.*'
  zkconsumer mirror --zookeeper zk1:2181/kafka --group move --whitelist orders --stop-at-end \\
      --target-bootstrap-servers new1:9092 --offsets-file orders.jsonl
  zkconsumer mirror verify --offsets-file orders.jsonl --zookeeper zk1:2181/kafka --group move \\
      --target-bootstrap-servers new1:9092

exit status: 0 ended cleanly; 1 it failed; 2 wrong usage; 3 messages were dropped (only
with --abort.on.send.failure false), or verify found a fault."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments, and its subcommands."""
    _add_source(parser)
    _add_target(parser)
    _add_work(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_command(commands, "verify", verify, verify.SUMMARY)
    add_command(commands, "translate", translate, translate.SUMMARY)


def _add_source(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the source")
    group.add_argument(
        "--consumer.config",
        dest="consumer_config",
        action="append",
        default=[],
        metavar="FILE",
        help="a .properties file with settings of the consumer; once for each source cluster",
    )
    add_zookeeper_argument(group)
    group.add_argument(
        "--source-bootstrap-servers",
        metavar="HOSTS",
        help="instead of --zookeeper: brokers of 0.9 or later, which then coordinate the group",
    )
    group.add_argument("--group", metavar="GROUP", help="the consumer group")
    group.add_argument(
        "--whitelist", metavar="REGEX", help="mirror the topics whose whole name matches"
    )
    group.add_argument("--blacklist", metavar="REGEX", help="mirror all other topics")
    group.add_argument(
        "--num.streams",
        dest="streams",
        type=_COUNT,
        default=1,
        metavar="N",
        help="the number of members of the group in this process, each with a thread (default: 1)",
    )
    group.add_argument(
        "--queue.size",
        dest="batch_records",
        type=_COUNT,
        default=BATCH_RECORDS,
        metavar="N",
        help="the maximum number of buffered messages per stream (default: 50000)",
    )
    group.add_argument(
        "--max-in-flight",
        type=_COUNT,
        metavar="BYTES",
        help="how many bytes a stream prefetches from a broker (default: 52428800)",
    )


def _add_target(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the target")
    group.add_argument(
        "--producer.config",
        dest="producer_config",
        metavar="FILE",
        help="a .properties file with settings of the producer (metadata.broker.list, "
        "compression.codec, ...)",
    )
    group.add_argument(
        "--target-bootstrap-servers", metavar="HOSTS", help="bootstrap brokers of the target"
    )
    group.add_argument(
        "--target-config",
        metavar="FILE",
        help="a .properties file with security settings of the target: security.protocol, sasl.*, "
        "ssl.*; it wins over --producer.config",
    )
    group.add_argument(
        "--partitions",
        type=Partitioning,
        choices=list(Partitioning),
        default=Partitioning.SAME,
        metavar="HOW",
        help="how a message's partition is chosen: same (that of the source), key (by the key, "
        "as the Java producer does) or round-robin (default: same)",
    )
    _add_target_topics(group)
    group.add_argument(
        "--num.producers", dest="producers", type=_COUNT, metavar="N", help=_NO_EFFECT
    )
    group.add_argument("--new.producer", dest="new_producer", action="store_true", help=_NO_EFFECT)


def _add_target_topics(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--topic-prefix",
        default="",
        metavar="TEXT",
        help="a prefix for topic names in the target",
    )
    group.add_argument(
        "--create-topics",
        action="store_true",
        help="create topics that the target lacks, with as many partitions as the source has",
    )
    group.add_argument(
        "--replication-factor",
        type=_COUNT,
        metavar="N",
        help="of topics that are created (default: the target's own)",
    )
    group.add_argument(
        "--drop-headers",
        action="store_true",
        help=(
            "drop headers: brokers before 0.11 don't support them, and reject messages with headers"
        ),
    )


def _add_work(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("commits and limits")
    group.add_argument(
        "--offset.commit.interval.ms",
        dest="commit_interval_ms",
        type=_COUNT,
        metavar="MS",
        help="the time between two commits (default: auto.commit.interval.ms of "
        f"--consumer.config, else {DEFAULT_COMMIT_INTERVAL_MS})",
    )
    group.add_argument(
        "--abort.on.send.failure",
        dest="abort",
        choices=("true", "false"),
        default="true",
        help="true: end at a message that the target can never accept. false: drop it, report "
        "its offset, and count it (default: true)",
    )
    group.add_argument(
        "--max-messages", type=count_of_messages, metavar="N", help="end after N messages"
    )
    group.add_argument(
        "--stop-at-end",
        action="store_true",
        help="end at the log ends of the source as of the start",
    )
    group.add_argument(
        "--offsets-file",
        type=Path,
        metavar="FILE",
        help="append the offsets in the target of all copied messages to this file, a JSON "
        "object per line, before they are committed; 'mirror verify' needs it",
    )
    group.add_argument(
        "--json",
        action="store_true",
        help="print the progress every second and at the end, a JSON object per line",
    )
    add_metrics_arguments(group)


def settings_of(args: argparse.Namespace) -> MirrorSettings:
    """Return the settings of the command line and its files.

    Raises:
        ConfigError: settings contradict each other, or are incomplete.
    """
    consumers, interval_ms = _consumers(args)
    producer = load_properties(args.producer_config) if args.producer_config else {}
    security = load_properties(args.target_config) if args.target_config else {}
    return MirrorSettings(
        topics=_topics(args),
        consumers=consumers,
        target=target_settings({**producer, **security}, args.target_bootstrap_servers),
        streams=args.streams,
        partitioning=args.partitions,
        topic_prefix=args.topic_prefix,
        create_topics=args.create_topics,
        replication=args.replication_factor,
        with_headers=not args.drop_headers,
        batch_records=args.batch_records,
        commit_interval_ms=args.commit_interval_ms or interval_ms or DEFAULT_COMMIT_INTERVAL_MS,
        abort_on_send_failure=args.abort == "true",
        max_messages=args.max_messages,
        stop_at_end=args.stop_at_end,
        offsets_file=args.offsets_file,
    )


def _topics(args: argparse.Namespace) -> Whitelist | Blacklist:
    if (args.whitelist is None) == (args.blacklist is None):
        raise ConfigError("exactly one of --whitelist and --blacklist says which topics to mirror")
    return Blacklist(args.blacklist) if args.whitelist is None else Whitelist(args.whitelist)


def _consumers(args: argparse.Namespace) -> tuple[tuple[Mapping[str, object], ...], int | None]:
    """Return the consumer settings of each source cluster, and the shortest commit interval."""
    given: dict[str, object] = {}
    if args.zookeeper and args.source_bootstrap_servers:
        raise ConfigError(
            "give either --zookeeper or --source-bootstrap-servers: the group is kept there"
        )
    if args.zookeeper:
        given["zookeeper.connect"] = args.zookeeper
    if args.source_bootstrap_servers:
        given["bootstrap.servers"] = args.source_bootstrap_servers
    if given and len(args.consumer_config) > 1:
        raise ConfigError("with several --consumer.config, each file has to name its cluster")
    if args.group:
        given["group.id"] = args.group
    if args.max_in_flight:
        given["fetch.max.bytes"] = args.max_in_flight
    files = [consumer_settings(load_properties(name)) for name in args.consumer_config]
    files = files or [consumer_settings({})]
    consumers = tuple({**file.settings, **given} for file in files)
    for consumer in consumers:
        if "group.id" not in consumer:
            raise ConfigError("no group is given: give --group, or group.id in --consumer.config")
        if not {"zookeeper.connect", "bootstrap.servers"} & consumer.keys():
            raise ConfigError(
                "no source is given: give --zookeeper HOST:PORT/CHROOT, or zookeeper.connect in "
                "--consumer.config"
            )
    intervals = [file.commit_interval_ms for file in files if file.commit_interval_ms]
    return consumers, min(intervals, default=None)


def run(args: argparse.Namespace) -> int:
    """Mirror until stopped, or until the limit is reached.

    Raises:
        ConfigError: a setting is invalid; nothing was started.
        ZkConsumerError: the mirror failed; acknowledged offsets are committed.
    """
    metrics = ConsumerMetrics()
    mirror = Mirror(settings_of(args), on_consumer=metrics.add)

    def families() -> Iterator[Family]:
        yield from metrics.families()
        yield from mirror_families(mirror.progress())

    with serving_metrics(args, families):
        return _mirror(args, mirror)


def _mirror(args: argparse.Namespace, mirror: Mirror) -> int:
    try:
        with stop_signals() as stop:
            stop.wake = partial(_end, mirror)
            with progress("mirrored", None, unit="messages") as advance:
                done = 0

                def notify(now: MirrorProgress) -> None:
                    nonlocal done
                    count = now.total.acknowledged
                    advance(count - done)
                    done = count
                    if args.json:
                        _print_json(now, ended=False)

                try:
                    mirror.run(notify)
                finally:
                    stop.leave()
    except StopRequested:
        return 0
    finally:
        _report(mirror.progress(), as_json=args.json)
    return NOT_WELL if mirror.progress().total.dropped else 0


def _end(mirror: Mirror) -> None:
    """Handle a signal: end in order, or immediately if nothing is being copied.

    Raises:
        StopRequested: nothing is being copied.
    """
    if not mirror.is_copying:
        raise StopRequested
    mirror.stop()


def _report(end: MirrorProgress, *, as_json: bool) -> None:
    """Print the final progress, also after an error."""
    if as_json:
        _print_json(end, ended=True)
    elif any(end.sources.values()):
        sys.stdout.write(summary_table(end))
        sys.stdout.flush()


def _print_json(now: MirrorProgress, *, ended: bool) -> None:
    print(json.dumps(json_of(now, ended=ended), separators=(",", ":")), flush=True)
