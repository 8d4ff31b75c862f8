"""``zkconsumer assign plan``: the assignment that further members or streams would cause."""

import argparse
from collections.abc import Mapping
from typing import Final

from zkconsumer.assignment.coordinated.strategy import STRATEGIES
from zkconsumer.assignment.strategy import CannotAssign
from zkconsumer.cli.cluster_access import open_cluster
from zkconsumer.cli.cluster_arguments import add_cluster_arguments
from zkconsumer.cli.cluster_responses import find_group, print_failures
from zkconsumer.cli.exit_status import NOT_WELL
from zkconsumer.cli.formats.share_plan import share_plan_json, share_plan_text
from zkconsumer.cli.group_arguments import add_kind_argument
from zkconsumer.cli.numbers import whole_number
from zkconsumer.cli.output import note
from zkconsumer.cli.tables import add_format_arguments
from zkconsumer.errors import ConfigError
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind, GroupStatus
from zkconsumer.status.scaling import Scale, plan_scaling
from zkconsumer.topic_name import is_topic_name

_COUNT = whole_number(digits=6)
_DEFAULT_STRATEGY: Final = "range"
_MOST_READERS: Final = 100_000

DESCRIPTION = """\
Compute which partitions each reader would get from the group's assignor. Nothing is changed, and
the group is not affected.
"""
_PLAN = """\
Show who would read what if the group had other numbers of members and streams: which readers would
be idle, which partitions would change owners, and which nobody would read.

  zkconsumer assign plan --zookeeper zk1:2181 --group billing --members 12
  zkconsumer assign plan --group planned --topic orders:40 --members 6 --streams 4

With fewer members than now, the last ones by id leave; new ones subscribe as the first member does.
Ids of new members are invented: with real ones, the same shares may go to other readers. The second
example needs no cluster: it gives the topic's number of partitions.
"""
_EPILOG = """\
exit status: 0 planned; 1 the cluster could not be read; 2 wrong usage; 3 no assignment is possible
with such members"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's only subcommand, ``plan``, with its arguments."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    parser = commands.add_parser(
        "plan", help="for another number of members or streams", description=_PLAN, epilog=_EPILOG
    )
    parser.add_argument("--group", metavar="GROUP", required=True, help="the consumer group")
    add_kind_argument(parser)
    parser.add_argument(
        "--members",
        type=_COUNT,
        metavar="N",
        help="the number of members (default: as now)",
    )
    parser.add_argument(
        "--streams",
        type=_COUNT,
        metavar="N",
        help="the number of streams of each member for each topic, in a ZooKeeper group "
        "(default: as now, or 1)",
    )
    parser.add_argument(
        "--topic",
        action="append",
        type=_topic,
        metavar="TOPIC[:N]",
        help="what all members are to read (default: what they read now); with N: as if it had N "
        "partitions; may be repeated",
    )
    parser.add_argument(
        "--strategy",
        choices=list(STRATEGIES),
        help="the assignor (default: the current one if it is known, else range); for a "
        "ZooKeeper group, its partition.assignment.strategy: range or roundrobin",
    )
    add_cluster_arguments(parser)
    add_format_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Plan and print; return the exit status."""
    topics: Mapping[str, int | None] = dict(args.topic or ())
    group, partition_ids = _known(args, topics)
    strategy = args.strategy or _strategy(group)
    scale = _scale(args, group, tuple(topics) or None)
    missing = sorted(topic for topic in topics if not partition_ids.get(topic))
    if missing:
        raise ConfigError(
            f"the cluster has no topic {', '.join(missing)}: give TOPIC:N to plan as if it had"
        )
    plan = plan_scaling(group, partition_ids, scale, strategy)
    if isinstance(plan, CannotAssign):
        note(f"group {args.group}: {plan.reason}")
        return NOT_WELL
    show = share_plan_json if args.format == "json" else share_plan_text
    print(show(args.group, plan), end="")
    return 0


def _known(
    args: argparse.Namespace, topics: Mapping[str, int | None]
) -> tuple[GroupStatus, Mapping[str, tuple[int, ...]]]:
    """Return the group, and the partitions of the known topics."""
    counted = {name: tuple(range(count)) for name, count in topics.items() if count is not None}
    if not (args.zookeeper or args.bootstrap_servers):
        if not topics or len(counted) != len(topics):
            raise ConfigError(
                "without a cluster (--zookeeper, --bootstrap-server), give the topics that the "
                "members read with their numbers of partitions: --topic TOPIC:N"
            )
        return _nobody(args), counted
    with open_cluster(args) as access:
        snapshot = access.snapshot([args.group])
    print_failures(snapshot)
    ids = {**snapshot.partition_ids(), **counted}
    return _group(args, snapshot, is_planned=bool(topics)), ids


def _group(args: argparse.Namespace, snapshot: ClusterSnapshot, *, is_planned: bool) -> GroupStatus:
    kinds = list(GroupKind) if args.kind is None else [args.kind]
    if is_planned and not any(GroupKey(kind, args.group) in snapshot.groups for kind in kinds):
        note(f"there is no group {args.group} yet")
        return _nobody(args)
    return find_group(snapshot, args.group, args.kind)


def _nobody(args: argparse.Namespace) -> GroupStatus:
    """Return a group that does not exist yet."""
    return GroupStatus(group_id=args.group, kind=args.kind or GroupKind.ZOOKEEPER, seen_ms=0)


def _strategy(group: GroupStatus) -> str:
    """Return the members' strategy; members of ZooKeeper groups don't report it."""
    protocol = group.protocol
    if group.kind is GroupKind.ZOOKEEPER or protocol is None or protocol not in STRATEGIES:
        return _DEFAULT_STRATEGY
    return protocol


def _scale(args: argparse.Namespace, group: GroupStatus, topics: tuple[str, ...] | None) -> Scale:
    members = args.members or len(group.members)
    if not members:
        raise ConfigError(
            f"group {args.group} has no members now: give their number with --members N"
        )
    if group.kind is GroupKind.COORDINATOR and args.streams is not None:
        raise ConfigError("members of a coordinator's group have no streams: leave out --streams")
    if members * (args.streams or 1) > _MOST_READERS:
        raise ConfigError(
            f"{members} members with {args.streams or 1} streams are too many to plan"
        )
    return Scale(members=members, streams=args.streams, topics=topics)


def _topic(text: str) -> tuple[str, int | None]:
    name, colon, count = text.partition(":")
    if not is_topic_name(name):
        raise argparse.ArgumentTypeError(f"{name!r} can't be the name of a topic")
    return name, _COUNT(count) if colon else None
