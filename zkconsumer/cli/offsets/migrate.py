"""``zkconsumer offsets migrate``: moves a group's offsets from ZooKeeper to Kafka, or back."""

import argparse
import json
from dataclasses import replace

from zkconsumer.cli.cluster_arguments import add_cluster_arguments
from zkconsumer.cli.exit_status import REFUSED
from zkconsumer.cli.files import read_text
from zkconsumer.cli.formats.offset_plan import OffsetStoreReport, state_of
from zkconsumer.cli.numbers import whole_number
from zkconsumer.cli.offsets.jobs import exit_status_of, roll_backs
from zkconsumer.cli.offsets.migration_report import as_json, as_text
from zkconsumer.cli.offsets.opening import open_offsets
from zkconsumer.cli.offsets.roll_back_file import roll_back_file
from zkconsumer.cli.output import note, show
from zkconsumer.errors import ConfigError
from zkconsumer.offsets.migration.carrying import carry_out
from zkconsumer.offsets.migration.migrate import Migration, MigrationRequest, plan_undoing
from zkconsumer.offsets.migration.plan import (
    Ahead,
    MigrationRefused,
    OffsetStorage,
    outside_the_log,
)
from zkconsumer.offsets.migration.roll_back import decode_roll_back
from zkconsumer.offsets.planning import OffsetPlan

DESCRIPTION = """\
Copy the committed offsets of a consumer group from ZooKeeper to Kafka, or back, so that its next
members continue where the last ones stopped. Stop the members first: while there are any, nothing
is done. The target's former offsets are written to a file first, which undoes the migration
(--roll-back FILE).

Exit status: 0 done, 1 not done or not verified, 2 refused: nothing was written.
"""

SUMMARY = "from ZooKeeper to Kafka, or back"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    storages = [storage.value for storage in OffsetStorage]
    parser.add_argument("--group", metavar="GROUP", help="the consumer group")
    parser.add_argument("--from", dest="source", choices=storages, help="the storage to read")
    parser.add_argument("--to", dest="target", choices=storages, help="the storage to write")
    _add_request_options(parser)
    add_cluster_arguments(parser)


def _add_request_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--topic", action="append", metavar="TOPIC", help="only this topic; may be repeated"
    )
    parser.add_argument(
        "--wait-ms",
        type=whole_number("is not a number of milliseconds", least=0),
        default=30_000,
        metavar="MS",
        help="how long to wait for the last members to leave (default: %(default)s)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be written, and write nothing"
    )
    ahead = parser.add_mutually_exclusive_group()
    ahead.add_argument(
        "--force", action="store_true", help="overwrite offsets that are ahead in the target"
    )
    ahead.add_argument(
        "--keep-ahead", action="store_true", help="keep offsets that are ahead in the target"
    )
    files = parser.add_mutually_exclusive_group()
    files.add_argument(
        "--roll-back-file",
        metavar="FILE",
        help="the file that undoes the migration (default: offsets-GROUP-TARGET-TIME.json)",
    )
    files.add_argument("--roll-back", metavar="FILE", help="undo the migration that wrote FILE")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Migrate, or undo a migration, and print the result; return the exit status."""
    try:
        return _undo(args) if args.roll_back else _migrate(args)
    except MigrationRefused as refused:
        if args.json:
            print(json.dumps({"status": "refused", "refusals": refused.reasons}, indent=1))
        note(refused)
        return REFUSED


def _migrate(args: argparse.Namespace) -> int:
    _check_request(args)
    group_id, target = args.group, OffsetStorage(args.target)
    with open_offsets(args) as cluster:
        storages = cluster.of(group_id, with_kafka=True)
        migration = Migration(
            storages.group,
            storages.storage(OffsetStorage(args.source)),
            storages.storage(target),
            cluster.partitions,
        )
        plan = migration.plan(_request_of(args))
        notes = tuple(outside_the_log(plan, cluster.logs(plan.expected)))
        report = OffsetStoreReport(
            group_id=group_id, storage=target, plan=OffsetPlan(plan=plan, notes=notes)
        )
        if args.dry_run or plan.refusals:
            return _print(args, report, args.source)
        with roll_back_file(args.roll_back_file, roll_backs(cluster, [report])) as name:
            outcome = migration.carry_out(plan)
        return _print(args, replace(report, outcome=outcome), args.source, name)


def _undo(args: argparse.Namespace) -> int:
    for flag, value in (("--from", args.source), ("--to", args.target)):
        if value is not None:
            raise ConfigError(
                f"{flag} can't be combined with --roll-back: the file names the target"
            )
    name = args.roll_back
    back = decode_roll_back(read_text(name, "roll-back file"), name)
    if args.group not in {None, back.group_id}:
        raise ConfigError(f"{name} is of group {back.group_id}, not of {args.group}")
    args.zookeeper = args.zookeeper or back.zookeeper
    if not args.zookeeper:
        raise ConfigError(
            f"{name} was written without a ZooKeeper: 'zkconsumer offsets set --roll-back' "
            "undoes it"
        )
    with open_offsets(args) as cluster:
        storages = cluster.of(back.group_id, with_kafka=True)
        group, target = storages.group, storages.storage(back.target)
        plan = plan_undoing(group, target, back, _request_of(args))
        outcome = None if args.dry_run or plan.refusals else carry_out(group, target, plan)
        report = OffsetStoreReport(
            group_id=back.group_id,
            storage=back.target,
            plan=OffsetPlan(plan=plan),
            outcome=outcome,
        )
        return _print(args, report, "the file")


def _check_request(args: argparse.Namespace) -> None:
    needed = (
        ("--zookeeper", args.zookeeper),
        ("--group", args.group),
        ("--from", args.source),
        ("--to", args.target),
    )
    missing = [flag for flag, value in needed if not value]
    if missing:
        raise ConfigError(f"missing: {', '.join(missing)}")
    if args.source == args.target:
        raise ConfigError(f"--from and --to are both {args.source}: there is nothing to migrate")


def _request_of(args: argparse.Namespace) -> MigrationRequest:
    ahead = Ahead.REWIND if args.force else Ahead.KEEP if args.keep_ahead else Ahead.REFUSE
    topics = None if args.topic is None else frozenset(args.topic)
    return MigrationRequest(topics=topics, ahead=ahead, wait_limit_ms=args.wait_ms)


def _print(
    args: argparse.Namespace, report: OffsetStoreReport, source: str, name: str | None = None
) -> int:
    show((as_json if args.json else as_text)(report, source, name))
    return exit_status_of(state_of([report]))
