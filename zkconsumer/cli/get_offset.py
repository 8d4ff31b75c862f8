"""``zkconsumer get-offset``: the offsets of a topic, by time."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from zkconsumer.browse.instants import parse_instant
from zkconsumer.cli.cluster_access import open_cluster
from zkconsumer.cli.cluster_arguments import add_cluster_arguments, milliseconds
from zkconsumer.cli.exit_status import COULD_NOT
from zkconsumer.cli.formats.scala_lines import offset_shell_text
from zkconsumer.cli.log_offsets import PartitionLogOffset, offsets_of_topic
from zkconsumer.cli.numbers import partition_numbers, whole_number
from zkconsumer.cli.output import note
from zkconsumer.cli.tables import Cell, Colour, Painted, add_format_arguments, json_text, table
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.cluster_client import EARLIEST, LATEST
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import ConfigError

_COLUMNS: Final = ("TOPIC", ">PARTITION", ">OFFSET", "NOTE")
_ENDS: Final = {"latest": LATEST, "-1": LATEST, "earliest": EARLIEST, "-2": EARLIEST}

DESCRIPTION = """\
Print the start offsets, end offsets, or offsets by time of a topic's partitions, as their leaders
report them.
Nothing is changed; a topic that does not exist is not created by the request.

  zkconsumer get-offset --broker-list b1:9092 --topic orders --time -1
  zkconsumer get-offset --zookeeper zk1:2181 --topic orders --time 2014-05-13T16:00:00Z

For a time, brokers from 0.10.1 on return the offset of the first record that is not older. Older
brokers only know when a segment of the log was last written to: they return the end of the last
segment that was complete by then, marked ~, or nothing. So do newer ones with --offsets, which
requests several, and --format scala, if they still support that request.
"""
EPILOG = """\
exit status: 0 done; 1 the offset of some partition is unknown; 2 wrong usage, or no such topic"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--broker-list",
        metavar="HOSTS",
        help="bootstrap brokers: host1:port1,host2:port2 (or give --zookeeper)",
    )
    add_cluster_arguments(parser)
    parser.add_argument("--topic", required=True, metavar="TOPIC", help="the topic")
    parser.add_argument(
        "--time",
        default="latest",
        metavar="TIME",
        help="-1 or latest, -2 or earliest, milliseconds since 1970, or a time such as "
        "2014-05-13T16:00:00Z or '2h ago' (default: latest)",
    )
    parser.add_argument(
        "--partitions",
        type=partition_numbers,
        metavar="N,N",
        help="only these partitions, separated by commas (default: all)",
    )
    parser.add_argument(
        "--offsets",
        type=whole_number(),
        default=1,
        metavar="N",
        help="the maximum number of offsets per partition (default: %(default)s)",
    )
    parser.add_argument(
        "--max-wait-ms",
        type=milliseconds,
        metavar="MS",
        help="how long one broker may take to respond (default: that of --timeout-ms)",
    )
    add_format_arguments(parser, scala="kafka.tools.GetOffsetShell of 0.8.2.2")


def run(args: argparse.Namespace) -> int:
    """Query and print the offsets; return the exit status."""
    time = _ENDS.get(args.time)
    if time is None:
        time = parse_instant(args.time, SystemClock().wall_ms())
    args.bootstrap_servers = args.broker_list or args.bootstrap_servers
    if args.bootstrap_servers:
        args.zookeeper = None  # only brokers are needed
    with open_cluster(args) as access:
        found = offsets_of_topic(
            access.client,
            args.topic,
            time,
            timeout_ms=args.max_wait_ms or args.timeout_ms,
            by_segment=args.offsets > 1 or args.format == "scala",
            count=args.offsets,
        )
    requested = sorted(found) if args.partitions is None else args.partitions
    if args.format == "scala":
        return _print_as_scala(args.topic, requested, found)
    missing = [number for number in requested if number not in found]
    if missing:
        raise ConfigError(
            f"topic {args.topic} has no partition {', '.join(map(str, missing))}: "
            f"it has {', '.join(map(str, sorted(found)))}"
        )
    shown = {number: found[number] for number in requested}
    text = _as_json if args.format == "json" else _as_table
    print(text(args.topic, time, shown), end="")
    return COULD_NOT if any(log_offset.error is not None for log_offset in shown.values()) else 0


def _print_as_scala(
    topic: str, requested: Sequence[int], found: Mapping[int, PartitionLogOffset]
) -> int:
    """Print the output of Kafka's tool, and the errors that it hides; return the exit status."""
    errors = {
        number: log_offset.error
        for number, log_offset in found.items()
        if log_offset.error is not None and log_offset.error != ErrorCode.LEADER_NOT_AVAILABLE
    }
    lists = {
        number: log_offset.offsets if log_offset.error is None else None
        for number, log_offset in found.items()
        if number not in errors
    }
    reported = [number for number in requested if number not in errors]
    output, hidden = offset_shell_text(topic, lists, reported)
    print(output, end="")
    print(hidden, end="", file=sys.stderr)
    failed = [number for number in requested if number in errors]
    for number in failed:
        note(f"{topic}-{number}: {error_name(errors[number])}")
    return COULD_NOT if failed else 0


def _as_table(topic: str, time: int, found: Mapping[int, PartitionLogOffset]) -> str:
    rows: list[list[Cell]] = []
    for number, log_offset in found.items():
        mark = "~" if log_offset.by_segment and time >= 0 else ""
        offsets = ",".join(f"{mark}{offset}" for offset in log_offset.offsets) or None
        remark = ""
        if log_offset.error is not None:
            remark = error_name(log_offset.error)
        elif offsets is None:
            remark = "no record is that recent" if not mark else "no segment was complete by then"
        rows.append([topic, number, offsets, Painted(remark, Colour.WARN)])
    return table(_COLUMNS, rows)


def _as_json(topic: str, time: int, found: Mapping[int, PartitionLogOffset]) -> str:
    return json_text(
        {
            "topic": topic,
            "time": time,
            "partitions": [
                {
                    "partition": number,
                    "offsets": list(log_offset.offsets),
                    "timestamp_ms": log_offset.timestamp_ms,
                    "by_segment": log_offset.by_segment,
                    "error": None if log_offset.error is None else error_name(log_offset.error),
                }
                for number, log_offset in found.items()
            ],
        }
    )
