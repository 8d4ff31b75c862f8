"""``zkconsumer offsets set``: moves a group to other offsets, or back again."""

import argparse
from typing import Final

from zkconsumer.browse.instants import parse_duration, parse_instant
from zkconsumer.cli.cluster_arguments import add_cluster_arguments
from zkconsumer.cli.files import read_text
from zkconsumer.cli.formats.offset_files import offsets_of_group, parse_offset_file
from zkconsumer.cli.numbers import offset_number
from zkconsumer.cli.offsets import undo
from zkconsumer.cli.offsets.drawing import Goal, ResetToTime, ToOffset, draw
from zkconsumer.cli.offsets.jobs import add_writing_arguments, finish, target_of
from zkconsumer.cli.offsets.opening import open_offsets
from zkconsumer.cli.tables import add_format_arguments
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConfigError
from zkconsumer.offsets.planning import (
    ShiftBy,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToOffsets,
    named_partitions,
)

_FIRST_MS: Final = 100_000_000_000
"""The minimum time in ms: milliseconds reached it in 1973, seconds will in the year 5138."""

DESCRIPTION = """\
Set the committed offsets of a group, in ZooKeeper, in Kafka, or in both. Without --topic, this
includes every partition that the group has an offset for.

Nothing is done while the group has live members: they would keep their positions, and their next
commit would overwrite the offsets (--force writes anyway). The group's former offsets are written
to a file before anything else, which undoes the change: --roll-back FILE. In ZooKeeper, an offset
that is committed meanwhile is never overwritten. Written offsets are read back.

  zkconsumer offsets set --zookeeper zk1:2181 --group billing --to-time 2026-11-21T06:00 --dry-run
  zkconsumer offsets set --zookeeper zk1:2181 --group billing --topic orders:0,2 --shift-by -100
  zkconsumer offsets set --zookeeper zk1:2181 --roll-back offsets-billing-zookeeper-….json
  zkconsumer offsets set --bootstrap-server kafka1:9092 --group billing --to-earliest
"""
EPILOG = """\
It shows what it would write and asks for the group's name, unless --yes is given; without a
terminal it writes only with --yes.

exit status: 0 set and read back (or, with --dry-run, could be set); 1 it failed, or not every
offset is as planned: the table shows which; 2 wrong usage, or refused: nothing was written"""

SUMMARY = "set offsets to the earliest, the latest, a time or a file, or undo that"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--group", metavar="GROUP", help="the consumer group")
    parser.add_argument(
        "--topic",
        action="append",
        metavar="TOPIC[:0,1]",
        help="only this topic, or these partitions of it; may be repeated",
    )
    parser.add_argument(
        "--all-topics",
        action="store_true",
        help="all partitions that the group has offsets for: the default",
    )
    _add_goals(parser)
    add_writing_arguments(parser)
    parser.add_argument(
        "--execute",
        "--yes",
        action="store_true",
        help="write without confirmation (default: the plan is shown, and the group's name has "
        "to be typed; without a terminal, nothing is written)",
    )
    add_cluster_arguments(parser)
    add_format_arguments(parser)


def _add_goals(parser: argparse.ArgumentParser) -> None:
    goals = parser.add_argument_group(
        "the new offsets (one of these)"
    ).add_mutually_exclusive_group(required=True)
    goals.add_argument("--to-earliest", action="store_true", help="the start of each log")
    goals.add_argument("--to-latest", action="store_true", help="the end of each log")
    goals.add_argument(
        "--to-time",
        "--to-datetime",
        metavar="TIME",
        help="the first record that is not older than this time: ISO 8601 (in UTC if it has no "
        "time zone), milliseconds since 1970, or as in '2h ago'; brokers before 0.10.1 "
        "know only the times of segments, so more is read again",
    )
    goals.add_argument(
        "--by-duration",
        metavar="PERIOD",
        help="like --to-time, with a duration before now: PT90M, P1D, P1DT2H",
    )
    goals.add_argument(
        "--shift-by", type=int, metavar="N", help="N records forward, or back if negative"
    )
    goals.add_argument("--to-offset", type=offset_number, metavar="N", help="this offset")
    goals.add_argument(
        "--to-current",
        action="store_true",
        help="the current offset, or the nearest end if it is out of the log's range",
    )
    goals.add_argument(
        "--from-file",
        metavar="FILE",
        help=(
            "the offsets of a file: TOPIC,PARTITION,OFFSET per line, or a file of 'offsets export'"
        ),
    )
    goals.add_argument(
        "--roll-back",
        metavar="FILE",
        help=(
            "undo the command that wrote this file; offsets that were committed since only with "
            "--force"
        ),
    )


def run(args: argparse.Namespace) -> int:
    """Set offsets, or undo it, and print the result; return the exit status."""
    if args.roll_back is not None:
        return undo.run(args)
    if not args.group:
        raise ConfigError("missing: --group")
    if args.topic and args.all_topics:
        raise ConfigError("--topic and --all-topics exclude each other: give only one")
    goal = _goal(args)
    with open_offsets(args) as cluster:
        scope = named_partitions(args.topic, cluster.partitions) if args.topic else None
        job = draw(cluster, args.group, target_of(args, goal, scope=scope))
        return finish(args, cluster, [job], confirmed_by=None if args.execute else args.group)


def _instant(text: str) -> int:
    """Return a time in ms; refuse small numbers, which are seconds."""
    at_ms = parse_instant(text, SystemClock().wall_ms())
    if text.isdigit() and at_ms < _FIRST_MS:
        raise ConfigError(
            f"{text} milliseconds after 1970 is long before any record: write {text}000 if these "
            "are seconds, or --to-earliest"
        )
    return at_ms


def _goal(args: argparse.Namespace) -> Goal:
    if args.to_earliest:
        return ToEarliest()
    if args.to_latest:
        return ToLatest()
    if args.to_current:
        return ToCurrent()
    if args.to_time is not None:
        return ResetToTime(_instant(args.to_time))
    if args.by_duration is not None:
        return ResetToTime(max(0, SystemClock().wall_ms() - parse_duration(args.by_duration)))
    if args.shift_by is not None:
        return ShiftBy(args.shift_by)
    if args.to_offset is not None:
        return ToOffset(args.to_offset)
    name = args.from_file
    groups = parse_offset_file(read_text(name), name, args.group)
    return ToOffsets(offsets_of_group(groups, name, args.group, rename=True))
