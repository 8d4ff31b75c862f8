"""``zkconsumer groups``: lists, describes, watches and deletes consumer groups."""

import argparse
import json
from collections.abc import Sequence
from typing import Final

from zkconsumer.cli.actions import add_action, add_action_flags, chosen_action
from zkconsumer.cli.cluster_access import CommandCluster, open_cluster
from zkconsumer.cli.cluster_arguments import add_abandoned_argument, add_cluster_arguments
from zkconsumer.cli.cluster_responses import (
    chosen_groups,
    find_group,
    print_failures,
    print_unknown,
    settled,
)
from zkconsumer.cli.formats.group_command import describe_group_text, group_list_text
from zkconsumer.cli.group_arguments import add_kind_argument, usual_kind
from zkconsumer.cli.groups.delete import delete_groups
from zkconsumer.cli.groups.show import description, group_json, list_json, list_table
from zkconsumer.cli.groups.watch import (
    GroupChanges,
    appended_lines,
    change_json,
    group_screen,
    groups_screen,
)
from zkconsumer.cli.live import Screen, add_watch_arguments, failing_lines, snapshots
from zkconsumer.cli.output import show_as_original
from zkconsumer.cli.tables import add_format_arguments, json_text
from zkconsumer.errors import ConfigError
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind, GroupStatus
from zkconsumer.zk.paths import CONSUMERS, GroupPaths

_ACTIONS: Final = ("list", "describe", "watch", "delete")
_FULL_EVERY: Final = 15
"""The number of partial reads of one group between two full reads of the cluster."""

DESCRIPTION = """\
Show consumer groups, both in ZooKeeper and at a coordinator: all groups (list), the members and
partitions of one (describe), or its changes as they happen, with every rebalance and its causes
(watch). Or delete a group without members (delete), after confirmation.

  zkconsumer groups --zookeeper zk1:2181 list
  zkconsumer groups --zookeeper zk1:2181 describe --group billing
  zkconsumer groups --zookeeper zk1:2181 watch --group billing --interval 1
  zkconsumer groups --zookeeper zk1:2181 delete --group old-reports
  zkconsumer groups --bootstrap-server kafka1:9092 list             (without a ZooKeeper)

Only delete changes anything, and never a group with live members: of a ZooKeeper group it deletes
registrations, owners and offsets (with --topic, those of a topic); a group at a coordinator is
deleted by the coordinator (Kafka 1.1 and later). --list, --describe and --delete of
kafka-consumer-groups.sh 0.9 are accepted, too.
"""
EPILOG = """\
exit status: 0 done; 1 it could not be read or done; 2 wrong usage, no such group, or refused:
nothing was deleted; 130 a watch was interrupted"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_action(parser, _ACTIONS)
    add_cluster_arguments(parser)
    add_action_flags(parser, ("list", "describe", "delete"))
    parser.add_argument(
        "--group", action="append", metavar="GROUP", help="the group; may be repeated"
    )
    parser.add_argument(
        "--topic",
        action="append",
        metavar="TOPIC",
        help="delete only the groups' data of this topic, in ZooKeeper; may be repeated; without "
        "--group: of all groups without members",
    )
    add_kind_argument(parser)
    add_abandoned_argument(parser)
    parser.add_argument(
        "--new-consumer",
        dest="kind",
        action="store_const",
        const=GroupKind.COORDINATOR,
        help="the same as --kind coordinator",
    )
    parser.add_argument("--yes", action="store_true", help="delete without asking")
    add_watch_arguments(parser.add_argument_group("watching"))
    add_format_arguments(parser, scala="kafka.admin.ConsumerGroupCommand of 0.9.0.1")


def run(args: argparse.Namespace) -> int:
    """Run the action; return the exit status."""
    action = _action(args)
    with open_cluster(args) as access:
        match action:
            case "delete":
                return delete_groups(args, access)
            case "watch":
                return _watch(args, access)
            case _ if args.format == "scala":
                show_as_original(_as_original(action, args, access))
                return 0
            case "describe":
                return _describe(args, access)
            case _:
                return _list(args, access)


def _action(args: argparse.Namespace) -> str:
    action = chosen_action(args) or "list"
    if action == "describe" and not args.group:
        raise ConfigError("describe needs a --group")
    if action == "list" and args.group:
        raise ConfigError("list shows all groups; use 'describe' for one")
    if args.topic and action != "delete":
        raise ConfigError(f"--topic needs delete, not {action}")
    if action == "watch":
        if args.format == "scala":
            raise ConfigError("--format scala: the original has no watch")
        if args.group and len(args.group) > 1:
            raise ConfigError("watch shows one --group, or all")
    return action


def _list(args: argparse.Namespace, access: CommandCluster) -> int:
    snapshot = access.snapshot()
    print_failures(snapshot)
    print_unknown(snapshot, args.kind)
    groups = chosen_groups(snapshot, (), args.kind)
    if args.format == "json":
        print(json_text(list_json(groups, snapshot)), end="")
    else:
        print(list_table(groups), end="")
    return settled(0, snapshot)


def _describe(args: argparse.Namespace, access: CommandCluster) -> int:
    snapshot = access.snapshot(args.group)
    print_failures(snapshot)
    groups = chosen_groups(snapshot, args.group, args.kind)
    if args.format == "json":
        print(json_text({"groups": [group_json(group) for group in groups]}), end="")
        return settled(0, snapshot)
    print("\n".join(description(group, snapshot) for group in groups), end="")
    return settled(0, snapshot)


def _as_original(action: str, args: argparse.Namespace, access: CommandCluster) -> str:
    """Return the output of the original, but with groups sorted by name, not as in ZooKeeper."""
    kind = usual_kind(args)
    if action == "list" and kind is GroupKind.ZOOKEEPER:
        return group_list_text(access.store.children_many([CONSUMERS])[0] or [])
    snapshot = access.snapshot(args.group or [])
    if action == "list":
        print_unknown(snapshot, args.kind)
        return group_list_text(group.group_id for group in chosen_groups(snapshot, (), args.kind))
    text = ""
    for group_id in args.group:
        topics: Sequence[str] = ()
        if kind is GroupKind.ZOOKEEPER:
            topics = access.store.children_many([f"{GroupPaths(group_id).root}/owners"])[0] or []
        group = snapshot.groups.get(GroupKey(kind, group_id))
        if group is None and kind is GroupKind.COORDINATOR:
            group = GroupStatus(group_id=group_id, kind=kind, seen_ms=0)
        text += describe_group_text(snapshot, group, group_id, topics)
    return text


def _watch(args: argparse.Namespace, access: CommandCluster) -> int:
    snapshot = access.snapshot(args.group or [])
    key = None
    if args.group:
        key = find_group(snapshot, args.group[0], args.kind).key
    watch = GroupChanges(key)
    screen = Screen()
    for number in snapshots(args.interval_ms, args.count):
        if number:
            is_quick = key is not None and number % _FULL_EVERY
            snapshot = (
                access.read_groups([key]) if key and is_quick else access.snapshot(args.group or [])
            )
        screen.show(_snapshot_of(args, snapshot, watch, key, redraws=screen.redraws, number=number))
    return settled(0, snapshot)


def _snapshot_of(
    args: argparse.Namespace,
    snapshot: ClusterSnapshot,
    watch: GroupChanges,
    key: GroupKey | None,
    *,
    redraws: bool,
    number: int,
) -> str:
    """Return the text of one refresh."""
    at_ms = snapshot.taken_ms
    changes = [change for change in watch.receive(snapshot) if args.kind in {None, change.key.kind}]
    if args.format == "json":
        return "".join(
            json.dumps(change_json(change, at_ms), ensure_ascii=False) + "\n" for change in changes
        )
    failures = failing_lines(snapshot)
    if not redraws:
        return failures + appended_lines(changes, at_ms, always=not number)
    if key is None or not changes:
        return failures + groups_screen(changes, at_ms)
    rebalances = watch.rebalances(key)
    return failures + group_screen(changes[0], rebalances, at_ms)
