"""``zkconsumer offsets update``: does what ``UpdateOffsetsInZK`` does, with the same output."""

import argparse
from collections.abc import Sequence

from zkconsumer.cli.cluster_arguments import add_cluster_arguments
from zkconsumer.cli.formats.offset_plan import OffsetStoreReport
from zkconsumer.cli.formats.scala_lines import UPDATE_USAGE, updated_text
from zkconsumer.cli.offsets.drawing import Goal, draw
from zkconsumer.cli.offsets.jobs import add_writing_arguments, finish, target_of
from zkconsumer.cli.offsets.opening import open_offsets
from zkconsumer.cli.output import show
from zkconsumer.cli.tables import add_format_arguments
from zkconsumer.errors import ConfigError
from zkconsumer.offsets.planning import ToEarliest, ToLatest
from zkconsumer.properties_file import load_properties

DESCRIPTION = """\
Set one group to the start or the end of one topic, as kafka.tools.UpdateOffsetsInZK does, with the
same three arguments. 'zkconsumer offsets set' does the same, and more; its rules about live
members, the roll-back file and reading back apply here, too.

  zkconsumer offsets update earliest consumer.properties orders --format scala
"""
EPILOG = """\
exit status: 0 set and read back (or, with --dry-run, could be set); 1 it failed, or not every
offset is as planned (with --format scala also wrong usage, as in the original); 2 wrong usage, or
refused: nothing was written"""

SUMMARY = "set one topic to earliest or latest (UpdateOffsetsInZK)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    # Validated later: the original has its own messages for invalid values.
    parser.add_argument(
        "goal", metavar="earliest|latest", help="which end of each log to set the offsets to"
    )
    parser.add_argument(
        "properties",
        metavar="consumer.properties",
        help="a file with group.id and zookeeper.connect (or give --zookeeper)",
    )
    parser.add_argument("topic", metavar="topic", help="the topic")
    add_writing_arguments(parser)
    add_cluster_arguments(parser)
    add_format_arguments(parser, scala="UpdateOffsetsInZK of 0.8.2.2")


def run(args: argparse.Namespace) -> int:
    """Set the offsets, and print the result; return the exit status."""
    goals: dict[str, Goal] = {"earliest": ToEarliest(), "latest": ToLatest()}
    if args.goal not in goals:
        if args.format == "scala":
            show(UPDATE_USAGE)
            return 1
        raise ConfigError(f"{args.goal!r} is neither earliest nor latest")
    file = load_properties(args.properties)
    group_id = file.get("group.id")
    if not group_id:
        raise ConfigError(f"{args.properties} has no group.id")
    args.zookeeper = args.zookeeper or file.get("zookeeper.connect")
    with open_offsets(args) as cluster:
        scope = {tp for tp in cluster.partitions if tp.topic == args.topic}
        if not scope:
            if args.format == "scala":
                show(updated_text({}))
                return 0
            raise ConfigError(f"the cluster has no topic {args.topic!r}")
        target = target_of(args, goals[args.goal], scope=scope, storage_of_new="zookeeper")
        return finish(args, cluster, [draw(cluster, group_id, target)], scala=_as_original)


def _as_original(reports: Sequence[OffsetStoreReport]) -> str:
    wanted = {
        move.topic_partition.partition: move.wanted.offset
        for report in reports
        for move in report.plan.plan.moves
        if move.wanted is not None
    }
    return updated_text(wanted)
