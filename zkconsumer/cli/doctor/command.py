"""``zkconsumer doctor``: diagnoses a cluster and its groups, and offers repairs."""

import argparse
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace

from zkconsumer.cli.cluster_access import CommandCluster, open_cluster, required
from zkconsumer.cli.cluster_arguments import (
    add_abandoned_argument,
    add_cluster_arguments,
    milliseconds,
)
from zkconsumer.cli.cluster_responses import find_group
from zkconsumer.cli.doctor.fix import Treated, repair, undo_repairs
from zkconsumer.cli.doctor.ready import (
    add_readiness_options,
    check_readiness_options,
    show_readiness,
)
from zkconsumer.cli.doctor.report import DoctorReport, as_json, as_text, heading
from zkconsumer.cli.doctor.undo_file import UndoFile, read_undo_file
from zkconsumer.cli.exit_status import NOT_WELL
from zkconsumer.cli.group_arguments import add_kind_argument
from zkconsumer.cli.live import pause
from zkconsumer.cli.output import note, show
from zkconsumer.cli.tables import add_format_arguments, json_text, shows_colour
from zkconsumer.clock import Clock
from zkconsumer.errors import ConfigError
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.doctor.narrowing import restrict_to
from zkconsumer.status.doctor.second_reading import Suspicion, doubtful, suspicions
from zkconsumer.status.doctor.sightings import Sightings
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind
from zkconsumer.status.reading.snapshot import SnapshotReader
from zkconsumer.status.verify import STRATEGIES

_READ_INTERVAL_MS = 5_000
_COUNTDOWN_WIDTH = 30

DESCRIPTION = """\
Report what is wrong with a cluster and its groups in plain words, with the evidence and how to
repair it. It finds registrations that are left over or unreadable to other members, dead owners,
partitions that nobody reads, members that don't agree, offsets that the log has deleted or that
don't advance, missing brokers and leaders, and clocks that differ.

  zkconsumer doctor --zookeeper zk1:2181
  zkconsumer doctor --zookeeper zk1:2181 --group loader --fix
  zkconsumer doctor --bootstrap-server kafka1:9092             (without a ZooKeeper)
  zkconsumer doctor --zookeeper zk1:2181 --ready-for 4.0       (what blocks an upgrade)

If a group is either stuck or just rebalancing, it takes a second snapshot, and says so. It never
writes without --fix, and then only to ZooKeeper: each repair is shown and confirmed, is applied
only to nodes that have not changed since, and can be undone by the file that it writes. Every
finding is explained in docs/doctor.md.
"""
EPILOG = """\
exit status: 0 nothing wrong (at most notes), or everything repaired, or undone; 1 the cluster could
not be read, a repair failed, or not everything could be undone; 2 wrong usage, or refused: nothing
was done; 3 warnings or errors were found, and not repaired; 130 interrupted"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_cluster_arguments(parser)
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="GROUP",
        help="examine this group, and what it depends on; may be repeated (default: all)",
    )
    add_kind_argument(parser)
    add_abandoned_argument(parser)
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        metavar="NAME",
        help="the partition.assignment.strategy of these groups, range or roundrobin, which is "
        "not in ZooKeeper (default: inferred from the owners, if possible)",
    )
    _add_snapshot_options(parser)
    add_readiness_options(parser)
    repairs = parser.add_argument_group("repairs")
    repairs.add_argument(
        "--fix", action="store_true", help="offer the possible repairs, one after the other"
    )
    repairs.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    repairs.add_argument(
        "--undo-file",
        metavar="FILE",
        help="the file that undoes the repairs (default: doctor-undo-TIME.json in this folder)",
    )
    repairs.add_argument(
        "--undo", metavar="FILE", help="undo the repairs of the run that wrote this file"
    )
    add_format_arguments(parser)


def _add_snapshot_options(parser: argparse.ArgumentParser) -> None:
    snapshots = parser.add_argument_group("the second snapshot")
    snapshots.add_argument("--quick", action="store_true", help="take only one snapshot")
    snapshots.add_argument(
        "--snapshot-interval-ms",
        type=milliseconds,
        default=30_000,
        metavar="MS",
        help="how long a rebalance may take: the time until the second snapshot if a group may "
        "be stuck (default: %(default)s)",
    )
    snapshots.add_argument(
        "--commit-interval-ms",
        type=milliseconds,
        default=60_000,
        metavar="MS",
        help="how often members commit, their auto.commit.interval.ms: the second snapshot "
        "follows after this time and a quarter if offsets may be stuck (default: "
        "%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Diagnose and print; return the exit status."""
    if args.undo is not None:
        return _undo(args)
    if args.yes and not args.fix:
        raise ConfigError("--yes needs --fix or --undo: nothing is written without them")
    if args.fix and not (args.yes or (sys.stdin is not None and sys.stdin.isatty())):
        raise ConfigError(
            "--fix asks before each repair, but there is no terminal to ask: give --yes"
        )
    check_readiness_options(args)
    if args.ready_for is not None:
        with open_cluster(args, even_without=True) as access:
            return show_readiness(args, access)
    if args.fix:
        _require_zookeeper(args, "--fix")
    with open_cluster(args, even_without=True) as access:
        report = _diagnose(args, access)
        if args.format == "json":
            show(json_text(as_json(report)))
        else:
            show(as_text(report, coloured=shows_colour()))
        treated = _treat(args, access, report) if args.fix else Treated(repaired=(), failed=False)
    if treated.failed:
        return 1
    return NOT_WELL if treated.left(report.findings) else 0


def _undo(args: argparse.Namespace) -> int:
    if args.fix:
        raise ConfigError("--fix and --undo exclude each other: give only one")
    _require_zookeeper(args, "--undo")
    record = read_undo_file(args.undo)
    with open_cluster(args) as access:
        whole = undo_repairs(
            access.store, record, zookeeper=args.zookeeper, name=args.undo, yes=args.yes
        )
    return 0 if whole else 1


def _require_zookeeper(args: argparse.Namespace, flag: str) -> None:
    if not args.zookeeper:
        raise ConfigError(f"{flag} needs a --zookeeper: repairs are only written there")


def _treat(args: argparse.Namespace, access: CommandCluster, report: DoctorReport) -> Treated:
    now_ms = access.clock.wall_ms()
    undo = UndoFile(args.undo_file, zookeeper=args.zookeeper, made_ms=now_ms)
    return repair(access.store, report.findings, undo, yes=args.yes)


def _diagnose(args: argparse.Namespace, access: CommandCluster) -> DoctorReport:
    reader = access.reader(with_sessions=True)
    first = required(reader.read(args.group))
    keys = _wanted(args, first)
    settings = Circumstances(
        settle_ms=args.snapshot_interval_ms,
        silence_ms=args.commit_interval_ms * 5 // 4,
        strategies={key.group_id: args.strategy for key in keys} if args.strategy else {},
    )
    doubts = suspicions(first, keys, settings)
    snapshot, earlier = first, None
    if doubts and not args.quick:
        if sys.stderr.isatty():
            _write_so_far(first, keys, settings)
        _wait(reader, doubts, access.clock)
        snapshot, earlier = reader.read(args.group), first
    sightings = Sightings()
    sightings.record(first)
    sightings.record(snapshot)
    # Read doubtful groups again: members that left between the reads of groups and sessions are
    # gone by now, and offsets committed between the reads of logs and groups are within the logs.
    if unsure := doubtful(snapshot, keys):
        snapshot = reader.read_groups(unsure)
    around = replace(settings, earlier=earlier, sightings=sightings.record(snapshot))
    seen = restrict_to(snapshot, keys) if args.group else snapshot
    return DoctorReport(
        snapshot=seen,
        apart_ms=None if earlier is None else around.elapsed_ms(snapshot),
        unsure=[f"{suspicion.key}: {suspicion.why}" for suspicion in doubts]
        if earlier is None
        else (),
        findings=examine(seen, around),
    )


def _wanted(args: argparse.Namespace, snapshot: ClusterSnapshot) -> Collection[GroupKey]:
    """Return the groups to examine; an id in both places selects both groups."""
    if not args.group:
        return list(snapshot.groups)
    kinds = [args.kind] if args.kind is not None else list(GroupKind)
    found: list[GroupKey] = []
    for name in args.group:
        keys = [key for kind in kinds if (key := GroupKey(kind, name)) in snapshot.groups]
        # Raises an error that names similar ids.
        found += keys or [find_group(snapshot, name, args.kind).key]
    return found


def _wait(reader: SnapshotReader, doubts: Sequence[Suspicion], clock: Clock) -> None:
    """Wait until each suspicious group has made progress, or its time has run out."""
    began_ms = clock.now_ms()
    left = list(doubts)
    _write_waiting(left)
    while left:
        passed_ms = clock.now_ms() - began_ms
        _write_left(max(suspicion.wait_ms for suspicion in left) - passed_ms)
        until_ms = min(_READ_INTERVAL_MS, min(suspicion.wait_ms for suspicion in left) - passed_ms)
        pause(until_ms)
        passed_ms = clock.now_ms() - began_ms
        left = [suspicion for suspicion in left if suspicion.wait_ms > passed_ms]
        if left:
            snapshot = reader.read_groups({suspicion.key for suspicion in left})
            left = [suspicion for suspicion in left if not suspicion.cleared(snapshot)]
    _write_left(None)


def _write_so_far(
    first: ClusterSnapshot, keys: Collection[GroupKey], around: Circumstances
) -> None:
    """Print the certain findings of the first snapshot while waiting for the second."""
    unsure = doubtful(first, keys)
    for finding in examine(restrict_to(first, keys), around):
        if finding.group not in unsure:
            note(f"so far: {heading(finding, coloured=False).rstrip()}")


def _write_left(left_ms: int | None) -> None:
    """Show a countdown in one line of a terminal; None: erase it."""
    if sys.stderr.isatty():
        text = "" if left_ms is None else f"at most {max(0, left_ms) // 1000} s left"
        print(f"\r{text:<{_COUNTDOWN_WIDTH}}\r", end="", file=sys.stderr, flush=True)


def _write_waiting(doubts: Sequence[Suspicion]) -> None:
    shown = "; ".join(f"{suspicion.key} {suspicion.why}" for suspicion in doubts[:3])
    more = f"; and {len(doubts) - 3} more" if len(doubts) > 3 else ""
    longest_s = max(suspicion.wait_ms for suspicion in doubts) / 1000
    note(
        f"taking a second snapshot within {longest_s:.0f} s (--quick takes only one): {shown}{more}"
    )
