"""The command line of ``zkconsumer perf``.

Source: Kafka 0.8.2.2 ``ConsumerPerformance``.
"""

import argparse
import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Final

from zkconsumer.cli.cluster_arguments import add_consumer_config_argument, add_zookeeper_argument
from zkconsumer.cli.consume.settings import count_of_messages
from zkconsumer.cli.exit_status import COULD_NOT, INTERRUPTED
from zkconsumer.cli.formats.java_text import DATE_FORMAT, format_time
from zkconsumer.cli.formats.performance import DETAILED_HEADER, HEADER, PerfStyle
from zkconsumer.cli.numbers import whole_number
from zkconsumer.cli.output import note
from zkconsumer.cli.perf.measure import End, Interval, Measurement
from zkconsumer.cli.perf.measuring import PerfLimits, measure
from zkconsumer.cli.perf.report import (
    as_json,
    as_table,
    detail,
    scala_detail,
    scala_row,
)
from zkconsumer.cli.perf.sources import PerfOptions, PerfSource, polled_source, zookeeper_source
from zkconsumer.cli.signals import StopRequested, stop_signals
from zkconsumer.cli.tables import add_format_arguments, json_text
from zkconsumer.errors import ConfigError
from zkconsumer.properties_file import load_properties

log = logging.getLogger(__name__)

_COUNT = whole_number()
_SCALA_STREAMS: Final = 10
_FETCH_SIZE: Final = 1 << 20
"""The default of both consumers."""
_OPENING_MS: Final = 15_000
"""How long brokers may take to report the topic's partitions."""

DESCRIPTION = """\
Read a topic as fast as possible, and report the rate. With --zookeeper it is a member of a group of
its own, which is deleted at the end; with --bootstrap-server it reads all partitions and joins no
group. It commits nothing, writes nothing, and does not affect other groups. On a terminal, it shows
the rate of the last second meanwhile.

  zkconsumer perf --zookeeper zk1:2181 --topic orders --threads 4
  zkconsumer perf --bootstrap-server kafka1:9092 --topic orders --messages 1000000 --json

The measured time is from the creation of the streams to the last message: it includes neither
joining nor waiting for more at the end. Bytes are those of the values, and MB are 1048576 bytes.

The flags of kafka-consumer-perf-test.sh are accepted. The original deletes the data of a --group in
ZooKeeper without asking, and subtracts 5 s from its time even if it did not wait that long; this
command does neither. With --format scala, the columns and rows are the original's, except for the
times.
"""
EPILOG = """\
exit status: 0 measured (even if there was nothing to read); 1 not everything could be read; 2 wrong
usage, the group exists, or the topic does not; 130 stopped by a signal, after printing the result
so far"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    where = parser.add_argument_group("the cluster").add_mutually_exclusive_group(required=True)
    add_zookeeper_argument(where)
    where.add_argument(
        "--bootstrap-server",
        "--broker-list",
        dest="bootstrap_server",
        metavar="HOSTS",
        help="brokers, host1:port1,host2:port2: read without ZooKeeper, and without a group",
    )
    parser.add_argument("--topic", required=True, metavar="TOPIC", help="the topic to read")
    _add_reading(parser)
    _add_reporting(parser)
    add_format_arguments(parser, scala="kafka-consumer-perf-test.sh")


def _add_reading(parser: argparse.ArgumentParser) -> None:
    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--group",
        metavar="GROUP",
        help=(
            "the name of the new group, which must not exist (default: a generated name); with "
            "--zookeeper"
        ),
    )
    reading.add_argument(
        "--delete-consumer-offsets",
        action="store_true",
        help="first delete the data of --group in ZooKeeper, unless it has members",
    )
    reading.add_argument(
        "--from-latest",
        action="store_true",
        help="read only messages written from now on (default: all existing ones)",
    )
    reading.add_argument(
        "--messages",
        type=count_of_messages,
        metavar="N",
        help="end each thread after N messages (default: when all existing ones are read)",
    )
    reading.add_argument(
        "--idle-ms",
        type=_COUNT,
        default=5_000,
        metavar="MS",
        help="end each thread when no message has arrived for this long (default: %(default)s)",
    )
    reading.add_argument(
        "--one-by-one",
        action="store_true",
        help="take messages one at a time, as a simple loop does (default: in lists, which is "
        "faster)",
    )
    add_consumer_config_argument(reading)
    _add_sizes(reading)


def _add_sizes(reading: argparse._ArgumentGroup) -> None:
    reading.add_argument(
        "--threads",
        type=_COUNT,
        metavar="N",
        help=(
            f"the number of reading threads (default: {_SCALA_STREAMS}; with --bootstrap-server 1)"
        ),
    )
    reading.add_argument(
        "--num-fetch-threads",
        type=_COUNT,
        default=1,
        metavar="N",
        help="the number of fetchers per broker, with --zookeeper (default: %(default)s)",
    )
    reading.add_argument(
        "--fetch-size",
        type=_COUNT,
        metavar="BYTES",
        help=(
            "the number of bytes to fetch of each partition per request (default: "
            f"{_FETCH_SIZE}; more for those that lag far behind)"
        ),
    )
    reading.add_argument(
        "--socket-buffer-size",
        type=_COUNT,
        default=2 << 20,
        metavar="BYTES",
        help="the receive buffer of connections (default: %(default)s)",
    )


def _add_reporting(parser: argparse.ArgumentParser) -> None:
    reporting = parser.add_argument_group("what to print")
    reporting.add_argument(
        "--show-detailed-stats",
        action="store_true",
        help="print a line for each thread whenever it has read --reporting-interval messages",
    )
    reporting.add_argument(
        "--reporting-interval",
        type=_COUNT,
        default=5_000,
        metavar="N",
        help="see --show-detailed-stats (default: %(default)s)",
    )
    reporting.add_argument(
        "--hide-header", action="store_true", help="no titles, with --format scala"
    )
    reporting.add_argument(
        "--date-format",
        default=DATE_FORMAT,
        metavar="PATTERN",
        help=f"the format of times, with --format scala (default: {DATE_FORMAT})",
    )
    # The original accepts these, too, without effect.
    for flag in ("--message-size", "--batch-size", "--compression-codec"):
        reporting.add_argument(flag, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Measure, and print the result."""
    is_scala, detailed = args.format == "scala", args.show_detailed_stats
    file = _file_of(args)
    style = PerfStyle(
        fetch_size=_fetch_size(args, file),
        date_format=args.date_format,
        zone=datetime.now(UTC).astimezone().tzinfo or UTC,
    )
    format_time(0, args.date_format)
    opening = _opening(args, file)

    def report(interval: Interval, start_ms: int) -> None:
        if detailed and args.format != "json":
            sys.stdout.write(
                scala_detail(interval, start_ms, style) if is_scala else detail(interval)
            )
            sys.stdout.flush()

    if is_scala and not args.hide_header:
        print(DETAILED_HEADER if detailed else HEADER, flush=True)
    limits = PerfLimits(
        messages=args.messages,
        interval=args.reporting_interval,
        report=report,
        last_too=is_scala,
    )
    try:
        with stop_signals() as stop:
            found = measure(opening, limits, stop)
    except StopRequested:
        return INTERRUPTED
    _print(args, found, style)
    if found.unread is not None:
        note(f"not everything was read: {found.unread}")
        return COULD_NOT
    return INTERRUPTED if found.end is End.INTERRUPTED else 0


def _print(args: argparse.Namespace, found: Measurement, style: PerfStyle) -> None:
    if args.format == "json":
        shown = as_json(found, topic=args.topic, fetch_size=style.fetch_size)
        sys.stdout.write(json_text(shown))
    elif args.format == "table":
        sys.stdout.write(as_table(found))
    elif not args.show_detailed_stats:
        sys.stdout.write(scala_row(found, style))


def _file_of(args: argparse.Namespace) -> dict[str, str]:
    return load_properties(args.consumer_config) if args.consumer_config else {}


def _fetch_size_key(args: argparse.Namespace) -> str:
    return "max.partition.fetch.bytes" if args.zookeeper is None else "fetch.message.max.bytes"


def _fetch_size(args: argparse.Namespace, file: Mapping[str, str]) -> int:
    """Return the fetch size to report: the given one, or the default."""
    given = args.fetch_size or file.get(_fetch_size_key(args), "")
    return int(given) if str(given).isdecimal() else _FETCH_SIZE


def _opening(
    args: argparse.Namespace, file: dict[str, str]
) -> Callable[[], AbstractContextManager[PerfSource]]:
    """Return a function that opens the source.

    Raises:
        ConfigError: flags contradict each other.
    """
    sizes = {}
    if args.fetch_size is not None:
        # Only if given: an explicit fetch size does not grow for partitions that lag far behind.
        sizes[_fetch_size_key(args)] = str(args.fetch_size)
    if args.zookeeper is not None:
        own = {
            "zookeeper.connect": args.zookeeper,
            "socket.receive.buffer.bytes": str(args.socket_buffer_size),
            "num.consumer.fetchers": str(args.num_fetch_threads),
            **sizes,
        }
        options = _options(args, file | own, args.threads or _SCALA_STREAMS)
        if args.delete_consumer_offsets and args.group is None:
            raise ConfigError("--delete-consumer-offsets deletes a group: name it with --group")
        deleting = args.delete_consumer_offsets
        return lambda: zookeeper_source(options, args.group, deleting=deleting)
    if args.group is not None or args.delete_consumer_offsets:
        raise ConfigError(
            "--group and --delete-consumer-offsets are for --zookeeper: with --bootstrap-server "
            "no group is joined"
        )
    own = {
        "bootstrap.servers": args.bootstrap_server,
        "receive.buffer.bytes": str(args.socket_buffer_size),
        **sizes,
    }
    deadline = {"default.api.timeout.ms": str(_OPENING_MS)}
    options = _options(args, deadline | file | own, args.threads or 1)
    return lambda: polled_source(options)


def _options(args: argparse.Namespace, settings: dict[str, str], streams: int) -> PerfOptions:
    return PerfOptions(
        topic=args.topic,
        streams=streams,
        timeout_ms=args.idle_ms,
        from_latest=args.from_latest,
        one_by_one=args.one_by_one,
        settings=settings,
    )
