"""``zkconsumer lag``: how far groups are behind, in records and in seconds."""

import argparse
from collections.abc import Collection, Sequence
from typing import Final

from zkconsumer.cli.cluster_access import CommandCluster, open_cluster
from zkconsumer.cli.cluster_arguments import (
    add_abandoned_argument,
    add_cluster_arguments,
    milliseconds,
)
from zkconsumer.cli.cluster_responses import (
    chosen_groups,
    print_failures,
    print_unknown,
    print_unseen,
    settled,
)
from zkconsumer.cli.exit_status import COULD_NOT, NOT_WELL
from zkconsumer.cli.formats.offset_checker import checker_text, no_group_text
from zkconsumer.cli.group_arguments import add_groups_argument, add_kind_argument, usual_kind
from zkconsumer.cli.lag.rows import LagRow, lag_json, lag_rows, lag_table
from zkconsumer.cli.lag.seconds import TIMES_MOST, LagSeconds
from zkconsumer.cli.live import Screen, add_watch_arguments, failing_lines, pause, snapshots
from zkconsumer.cli.numbers import whole_number
from zkconsumer.cli.output import note, show, show_as_original
from zkconsumer.cli.tables import add_format_arguments, instant, json_text
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.sightings import Sightings, SightingsByGroup
from zkconsumer.status.lag import OffsetPlacement, placement_of
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind, GroupStatus
from zkconsumer.zk.paths import GroupPaths

FEW_GROUPS: Final = 20
"""The maximum number of doubtful groups, unless they are named, to read without the rest of the
cluster: a partial read has little time."""
_WHOLE = whole_number("is not a whole number", least=0, digits=18)

DESCRIPTION = """\
Show how far consumer groups are behind, for every partition that they own or have an offset of:
groups in ZooKeeper and groups at a coordinator, with offsets in ZooKeeper or in Kafka. SECONDS is
the age of the next record to read if the log has timestamps; otherwise it is estimated from the
growth of the log, and marked ~; unknown values are -. Nothing is changed.

  zkconsumer lag --zookeeper zk1:2181 --group billing
  zkconsumer lag --zookeeper zk1:2181 --max-lag 10000 --max-seconds 300      (as a check)
  zkconsumer lag --zookeeper zk1:2181 --group billing --watch
  zkconsumer lag --bootstrap-server kafka1:9092                  (without a ZooKeeper)

All flags of ConsumerOffsetChecker are accepted. The original needs a --group; here all groups are
shown without one.
"""
EPILOG = """\
exit status: 0 done; 1 it could not be read, or a limit was given and some lag is unknown; 2 wrong
usage, or no such group; 3 a limit is exceeded; 130 a --watch was interrupted"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_cluster_arguments(parser)
    add_groups_argument(parser, "only this group")
    add_kind_argument(parser)
    add_abandoned_argument(parser)
    parser.add_argument(
        "--topic",
        metavar="TOPIC,TOPIC",
        help="only these topics, separated by commas, and all of their partitions (default: all "
        "that the group owns or has offsets of)",
    )
    parser.add_argument(
        "--broker-info", action="store_true", help="also list the brokers that were queried"
    )
    parser.add_argument(
        "--socket.timeout.ms",
        dest="timeout_ms",
        type=milliseconds,
        metavar="MS",
        default=argparse.SUPPRESS,
        help="the same as --timeout-ms",
    )
    parser.add_argument(
        "--retry.backoff.ms",
        dest="retry_backoff_ms",
        type=milliseconds,
        default=3000,
        metavar="MS",
        help="how long to wait before retrying a coordinator that could not return a group's "
        "offsets (default: %(default)s)",
    )
    _add_request_options(parser)
    add_format_arguments(parser, scala="kafka.tools.ConsumerOffsetChecker of 0.8.2.2")


def _add_request_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sample-ms",
        type=_WHOLE,
        default=2000,
        metavar="MS",
        help="how long to measure the growth of logs without timestamps, to estimate seconds; 0: "
        "don't (default: %(default)s)",
    )
    parser.add_argument(
        "--no-seconds",
        action="store_true",
        help="leave the column of seconds empty: read no records, and don't wait",
    )
    limits = parser.add_argument_group("limits (for checks: exit status 3 if one is exceeded)")
    limits.add_argument(
        "--max-lag", type=_WHOLE, metavar="N", help="the maximum lag of a partition in records"
    )
    limits.add_argument(
        "--max-seconds",
        type=_WHOLE,
        metavar="N",
        help="the maximum lag of a partition in seconds",
    )
    watch = parser.add_argument_group("watching")
    watch.add_argument("--watch", action="store_true", help="show it repeatedly")
    add_watch_arguments(watch)


def run(args: argparse.Namespace) -> int:
    """Print the lag; return the exit status."""
    if args.format == "scala":
        if len(args.group) != 1 or args.watch:
            raise ConfigError("--format scala needs one --group, and does not support --watch")
        with open_cluster(args) as access:
            return _run_scala(args, access)
    if args.count is not None and not args.watch:
        raise ConfigError("--count needs --watch")
    if args.no_seconds and args.max_seconds is not None:
        raise ConfigError("--max-seconds can't be checked with --no-seconds")
    with open_cluster(args, times_most=0 if args.no_seconds else TIMES_MOST) as access:
        seconds = LagSeconds(access)
        if args.watch:
            return _watch(args, access, seconds)
        snapshot, sightings = _decided(args, access)
        print_failures(snapshot)
        if not args.group:
            print_unknown(snapshot, args.kind)
        seconds.note(snapshot)
        rows = _rows(args, snapshot, sightings)
        if not args.no_seconds:
            rows = seconds.timed(rows, snapshot)
            seconds.sample(rows, args.sample_ms)
            rows = seconds.timed(rows, snapshot)
    show(_text(args, rows, snapshot))
    return settled(_status(args, rows, snapshot), snapshot)


def _snapshot(args: argparse.Namespace, access: CommandCluster) -> ClusterSnapshot:
    """Return a snapshot; read again if a coordinator could not return the groups' offsets."""
    snapshot = access.snapshot(args.group)
    unread_groups = {f"offsets of group {group_id} in Kafka" for group_id in args.group}
    if any(failure.part in unread_groups for failure in snapshot.failures):
        pause(args.retry_backoff_ms)
        snapshot = access.snapshot(args.group)
    return snapshot


def _decided(
    args: argparse.Namespace, access: CommandCluster
) -> tuple[ClusterSnapshot, SightingsByGroup]:
    """Return a snapshot, and the offsets beyond log ends; read doubtful groups a second time.

    An offset that was read after the log end may belong to records that were written meanwhile.
    """
    sightings, snapshot = Sightings(), _snapshot(args, access)
    seen = sightings.record(snapshot)
    groups = [
        key
        for key, found in seen.items()
        if (not args.group or key.group_id in args.group)
        and not _is_decided(snapshot.groups[key], found)
    ]
    if groups:
        few = bool(args.group) or len(groups) <= FEW_GROUPS
        snapshot = access.read_groups(groups) if few else access.snapshot()
        seen = sightings.record(snapshot)
    return snapshot, seen


def _is_decided(group: GroupStatus, partitions: Collection[TopicPartition]) -> bool:
    by_partition = group.by_partition
    placements = {placement_of(group.kind, by_partition[tp]) for tp in partitions}
    return OffsetPlacement.UNKNOWN not in placements


def _topics(args: argparse.Namespace, snapshot: ClusterSnapshot) -> frozenset[str] | None:
    if args.topic is None:
        return None
    topics = frozenset(args.topic.split(","))
    missing = topics - snapshot.partition_ids().keys()
    if missing:
        raise ConfigError(
            f"there is no topic {', '.join(sorted(missing))}: 'topics --list' shows the existing "
            "ones"
        )
    return topics


def _rows(
    args: argparse.Namespace, snapshot: ClusterSnapshot, sightings: SightingsByGroup
) -> list[LagRow]:
    groups = chosen_groups(snapshot, args.group, args.kind)
    return lag_rows(snapshot, groups, _topics(args, snapshot), sightings)


def _text(args: argparse.Namespace, rows: Sequence[LagRow], snapshot: ClusterSnapshot) -> str:
    if args.format == "json":
        reported = lag_json(rows, snapshot)
        if args.broker_info:
            reported["brokers"] = [
                {"broker": broker.broker.id, "host": broker.broker.host, "port": broker.broker.port}
                for broker in snapshot.brokers
            ]
        return json_text(reported)
    text = lag_table(rows)
    if args.broker_info:
        text += "BROKER INFO\n" + "".join(
            f"{broker.broker.id} -> {broker.broker.host}:{broker.broker.port}\n"
            for broker in snapshot.brokers
        )
    return text


def _status(args: argparse.Namespace, rows: Sequence[LagRow], snapshot: ClusterSnapshot) -> int:
    """Return the exit status by the limits; print how many lags are unknown, which is a failure."""
    max_lag, max_seconds = args.max_lag, args.max_seconds
    if max_lag is None and max_seconds is None:
        return 0
    exceeding = [
        row
        for row in rows
        if (max_lag is not None and (row.records or 0) > max_lag)
        or (max_seconds is not None and row.time is not None and row.time.ms > 1000 * max_seconds)
    ]
    if exceeding:
        note(f"{len(exceeding)} of {len(rows)} partitions are too far behind")
        return NOT_WELL
    unread_groups = {
        failure.group_id for failure in snapshot.failures if failure.group_id is not None
    }
    unknown = {row.key: why for row in rows if (why := _unknown(row, unread_groups, max_seconds))}
    if unknown:
        (group, tp), why = next(iter(unknown.items()))
        note(
            f"the lag of {len(unknown)} of {len(rows)} partitions is unknown, such as {tp} of "
            f"{group}: {why}"
        )
        return COULD_NOT
    if not args.group and print_unseen(snapshot, args.kind):
        return COULD_NOT
    return 0


def _unknown(row: LagRow, unread_groups: Collection[str], max_seconds: int | None) -> str | None:
    """Return why a partition's lag is unknown; None if it is known, or the group has no offset."""
    if row.unreadable is not None:
        return row.unreadable
    if row.committed is None and row.group.group_id in unread_groups:
        return "the group's offsets in Kafka could not be read"
    if row.placement is OffsetPlacement.BEYOND_END:
        return "its offset is beyond the end of its log"
    if max_seconds is not None and row.records and row.time is None:
        return "its log does not grow"
    return None


def _watch(args: argparse.Namespace, access: CommandCluster, seconds: LagSeconds) -> int:
    screen, sightings = Screen(), Sightings()
    status = 0
    for _ in snapshots(args.interval_ms, args.count):
        snapshot = access.snapshot(args.group)
        seconds.note(snapshot)
        rows = _rows(args, snapshot, sightings.record(snapshot))
        if not args.no_seconds:
            rows = seconds.timed(rows, snapshot)
        screen.show(_heading(args, snapshot) + _text(args, rows, snapshot))
        status = settled(_status(args, rows, snapshot), snapshot)
    return status


def _heading(args: argparse.Namespace, snapshot: ClusterSnapshot) -> str:
    if args.format == "json":
        return ""
    return f"{instant(snapshot.taken_ms)}\n{failing_lines(snapshot)}"


def _run_scala(args: argparse.Namespace, access: CommandCluster) -> int:
    """Print the original's output, with the topics of the group's ``owners`` node."""
    snapshot = _snapshot(args, access)
    (name,) = args.group
    kind = usual_kind(args)
    group = snapshot.groups.get(GroupKey(kind, name))
    topics = None if args.topic is None else args.topic.split(",")
    if topics is None and kind is GroupKind.ZOOKEEPER:
        topics = access.store.children_many([f"{GroupPaths(name).root}/owners"])[0]
        if topics is None:
            show_as_original(no_group_text(name))
            return 0
    if group is None:
        group = GroupStatus(group_id=name, kind=kind, seen_ms=0)
    text = checker_text(snapshot, group, topics=topics, broker_info=args.broker_info)
    show_as_original(text)
    rows = lag_rows(snapshot, [group], None if topics is None else set(topics), {})
    return settled(_status(args, rows, snapshot), snapshot)
