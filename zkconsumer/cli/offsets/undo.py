"""Undoes a command's changes of offsets, by its roll-back file."""

import argparse
from collections.abc import Sequence

from zkconsumer.cli.exit_status import REFUSED
from zkconsumer.cli.files import read_text
from zkconsumer.cli.formats.offset_plan import OffsetStoreReport, plans_json, plans_text, state_of
from zkconsumer.cli.offsets.drawing import Job
from zkconsumer.cli.offsets.jobs import exit_status_of, write_all
from zkconsumer.cli.offsets.opening import OffsetsCluster, open_offsets
from zkconsumer.cli.output import note, show
from zkconsumer.errors import ConfigError
from zkconsumer.offsets.migration.migrate import MigrationRequest, plan_undoing
from zkconsumer.offsets.migration.plan import Ahead, MigrationRefused, OffsetStorage
from zkconsumer.offsets.migration.roll_back import RollBack, decode_roll_backs
from zkconsumer.offsets.planning import OffsetPlan


def run(args: argparse.Namespace) -> int:
    """Undo, and print the result; return the exit status.

    Raises:
        ConfigError: the file can't be used, or options were given that exclude it.
        ZkConsumerError: the cluster can't be read.
        OSError: the file can't be read.
    """
    name = args.roll_back
    for flag, value in (
        ("--storage", args.storage),
        ("--outside", args.outside),
        ("--roll-back-file", args.roll_back_file),
    ):
        if value is not None:
            raise ConfigError(
                f"{flag} can't be combined with --roll-back: the file has the offsets to write"
            )
    backs = decode_roll_backs(read_text(name, "roll-back file"), name)
    groups = sorted({back.group_id for back in backs})
    if args.group is not None and groups != [args.group]:
        raise ConfigError(f"{name} is of {', '.join(groups)}, not of {args.group}")
    if any(":" in topic for topic in args.topic or ()):
        raise ConfigError("--roll-back undoes whole topics: give --topic TOPIC")
    args.zookeeper = args.zookeeper or backs[0].zookeeper or None
    with open_offsets(args) as cluster:
        try:
            reports = _undo(args, cluster, backs)
        except MigrationRefused as refused:
            note(refused)
            return REFUSED
    show(plans_json(reports) if args.format == "json" else plans_text(reports))
    return exit_status_of(state_of(reports))


def _undo(
    args: argparse.Namespace, cluster: OffsetsCluster, backs: Sequence[RollBack]
) -> list[OffsetStoreReport]:
    """Plan all changes, then write all of them, unless it is a dry run or any is refused."""
    request = MigrationRequest(
        topics=None if args.topic is None else frozenset(args.topic),
        ahead=Ahead.REWIND if args.force else Ahead.REFUSE,
    )
    jobs = []
    for back in backs:
        storages = cluster.of(back.group_id, with_kafka=back.target is OffsetStorage.KAFKA)
        although = tuple(storages.group.members()) if args.force else None
        target = storages.storage(back.target)
        plan = plan_undoing(storages.group, target, back, request, with_members=args.force)
        shown = OffsetPlan(plan=plan, logs=cluster.logs(sorted(plan.expected)))
        report = OffsetStoreReport(group_id=back.group_id, storage=back.target, plan=shown)
        jobs.append(Job(storages=storages, reports=(report,), although=although))
    reports = [report for job in jobs for report in job.reports]
    if args.dry_run or state_of(reports) == "refused":
        return reports
    return write_all(jobs)
