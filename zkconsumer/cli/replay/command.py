"""``zkconsumer replay``: prints a range of a topic again, without affecting groups."""

import argparse
import sys
from contextlib import ExitStack, closing
from typing import BinaryIO

from zkconsumer.browse.instants import parse_instant
from zkconsumer.cli.cluster_access import open_cluster
from zkconsumer.cli.cluster_arguments import add_cluster_arguments
from zkconsumer.cli.consume.format import Formatter, TextFormat, base64_line, json_line
from zkconsumer.cli.consume.settings import add_property_argument
from zkconsumer.cli.exit_status import INTERRUPTED, REFUSED
from zkconsumer.cli.files import whole_file
from zkconsumer.cli.numbers import offset_number, partition_numbers, whole_number
from zkconsumer.cli.output import Output, OutputClosed, discard_standard_output, note
from zkconsumer.cli.progress import Advance, nothing, progress
from zkconsumer.cli.replay.ranges import ReplayPlan, plan_replay
from zkconsumer.cli.replay.replay_request import (
    bounds_of,
    logs_of,
    offsets_of_file,
    partitions_of,
)
from zkconsumer.cli.replay.replaying import Replay
from zkconsumer.cli.signals import StopRequested, stop_signals
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.time_lookup import TimeLookup
from zkconsumer.errors import ConfigError, DataLost, ZkConsumerError
from zkconsumer.fetch.range_settings import RangeSettings

_STDOUT = "-"
_TRIES = 3
"""The time limit of all attempts of a lookup, in time-outs of one response."""

DESCRIPTION = """\
Print the messages of a topic between two offsets or two times, partition by partition. It joins no
group and commits nothing, so it affects no consumer.

  zkconsumer replay --zookeeper zk1:2181 --topic orders --from-time 2026-11-21T06:00 \\
      --to-time 2026-11-21T07:00 --output json --output-file morning.jsonl
  zkconsumer replay --zookeeper zk1:2181 --topic orders --partitions 3 --from-offset 1200 \\
      --to-offset 1300
  zkconsumer replay --zookeeper zk1:2181 --offsets-file before --to-offsets-file after

The last example prints what a group has read between two runs of 'zkconsumer offsets export'.
Without an end, it reads up to the log end as of the start.

If any of the offsets are no longer in the log, it lists them exactly, and prints no messages,
unless --allow-gaps is given. (Offsets removed by compaction, and transaction markers, are not gaps:
they are counted at the end.) Brokers before 0.10.1 know only the times of whole segments: then more
is printed on both sides than was requested.

An --output-file appears under its name only when it is complete.
"""
EPILOG = """\
exit status: 0 everything was printed; 1 it could not be read, or some of it is gone; 2 wrong usage;
130 interrupted"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--topic", metavar="TOPIC", help="the topic")
    parser.add_argument(
        "--partitions",
        type=partition_numbers,
        metavar="0,1",
        help="only these partitions (default: all)",
    )
    _add_ends(parser)
    _add_output(parser)
    add_cluster_arguments(parser)


def _add_ends(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to print")
    starts, ends = group.add_mutually_exclusive_group(), group.add_mutually_exclusive_group()
    starts.add_argument(
        "--from-offset",
        type=offset_number,
        metavar="N",
        help="the offset to begin at (default: the log start)",
    )
    starts.add_argument(
        "--from-time",
        metavar="TIME",
        help="begin at the first message that is not older than this time: ISO 8601 (in UTC if "
        "it has no time zone), milliseconds since 1970, or as in '15m ago'",
    )
    starts.add_argument(
        "--offsets-file",
        metavar="FILE",
        help="begin at the offsets of a file: TOPIC,PARTITION,OFFSET per line, or a file of "
        "'offsets export'; only its topics and partitions are read",
    )
    ends.add_argument(
        "--to-offset",
        type=offset_number,
        metavar="N",
        help="end before this offset (default: the log end)",
    )
    ends.add_argument(
        "--to-time",
        metavar="TIME",
        help="end before the first message that is not older than this time",
    )
    ends.add_argument("--to-offsets-file", metavar="FILE", help="end before the offsets of a file")
    group.add_argument("--group", metavar="GROUP", help="the group in a file with several groups")
    group.add_argument(
        "--allow-gaps",
        action="store_true",
        help="print the available messages, and list missing offsets on standard error",
    )
    group.add_argument(
        "--max-messages",
        type=whole_number("is not a number of messages", digits=18),
        metavar="N",
        help="end after N messages",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the output format")
    group.add_argument(
        "--output-file",
        metavar="FILE",
        default=_STDOUT,
        help="the file to write (default: standard output)",
    )
    group.add_argument(
        "--output",
        choices=("text", "json", "base64"),
        default="text",
        help="text, as 'consume' prints it; json: one object per line, with keys and values as "
        "text if they are UTF-8; base64: the same with keys and values in base64 (default: "
        "%(default)s)",
    )
    add_property_argument(group)


def run(args: argparse.Namespace) -> int:
    """Replay; return the exit status."""
    formatter = _formatter(args)
    starts = offsets_of_file(args, args.offsets_file)
    ends = offsets_of_file(args, args.to_offsets_file)
    now_ms = SystemClock().wall_ms()
    times = {
        name: None if text is None else parse_instant(text, now_ms)
        for name, text in (("from", args.from_time), ("to", args.to_time))
    }
    if args.topic is None and starts is None:
        raise ConfigError("no topic given: give --topic TOPIC (or --offsets-file FILE)")
    replay, limit_ms = None, args.timeout_ms * _TRIES
    try:
        with stop_signals(), open_cluster(args) as access:
            lookup = TimeLookup(access.client, timeout_ms=limit_ms)
            partitions = partitions_of(args, access.client, starts, timeout_ms=limit_ms)
            logs = logs_of(access.client, partitions, timeout_ms=limit_ms)
            plan = plan_replay(
                logs,
                bounds_of(args.from_offset, times["from"], starts, logs, lookup.since),
                bounds_of(args.to_offset, times["to"], ends, logs, lookup.until),
            )
            if _is_refused(plan, allow_gaps=args.allow_gaps):
                return REFUSED if plan.wrong else 1
            settings = RangeSettings(
                client_id="zkconsumer-replay",
                timeout_ms=args.timeout_ms,
                poll_timeout_ms=limit_ms,
                fail_on_data_loss=not args.allow_gaps,
            )
            replay = Replay(access.client, settings, formatter)
            _copy(args, replay, plan)
    except StopRequested:
        return _notify(replay, INTERRUPTED)
    except OutputClosed:
        discard_standard_output()
    except DataLost as lost:
        _notify(replay, 1)
        raise ZkConsumerError(
            f"{lost.topic_partition} [{lost.from_offset}, {lost.until_offset}) was deleted "
            f"meanwhile: {lost.reason}: --allow-gaps continues without it"
        ) from lost
    except ZkConsumerError:
        _notify(replay, 1)
        raise
    return _notify(replay, 0)


def _formatter(args: argparse.Namespace) -> Formatter:
    if args.output == "text":
        return TextFormat.from_properties(dict(args.property))
    if args.property:
        raise ConfigError("--property is for the text output: it can't be combined with JSON")
    return json_line if args.output == "json" else base64_line


def _is_refused(plan: ReplayPlan, *, allow_gaps: bool) -> bool:
    """Print what can't be replayed; return whether the command is refused."""
    for text in (*plan.wrong, *plan.notes):
        note(text)
    for range_, why in plan.gone.items():
        note(f"{range_} is not available: {why}")
    if plan.wrong:
        return True
    if plan.gone and not allow_gaps:
        note("nothing was printed: --allow-gaps prints the available messages")
        return True
    return False


def _copy(args: argparse.Namespace, replay: Replay, plan: ReplayPlan) -> None:
    with ExitStack() as stack:
        to_terminal = args.output_file == _STDOUT and sys.stdout.isatty()
        # A progress bar would interfere with messages on a terminal.
        advance: Advance = nothing
        if not to_terminal:
            advance = stack.enter_context(progress("replaying", plan.count, unit="offsets"))
        target: Output | BinaryIO
        if args.output_file == _STDOUT:
            target = stack.enter_context(closing(Output()))
        else:
            target = stack.enter_context(whole_file(args.output_file))
        replay.run(plan.ranges, target.write, advance, limit=args.max_messages)


def _notify(replay: Replay | None, status: int) -> int:
    """Print the summary; return the exit status."""
    if replay is not None:
        for line in replay.account():
            note(line)
    return status
