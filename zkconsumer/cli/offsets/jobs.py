"""Shows, writes and verifies planned offsets; the same for every command.

It is safe because of the order, see ``offsets.migration``: live members are checked and everything
is planned, for all groups, before anything is written; the roll-back file is on disk by then.
"""

import argparse
import contextlib
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from zkconsumer.cli.confirm import confirm
from zkconsumer.cli.exit_status import COULD_NOT, REFUSED
from zkconsumer.cli.formats.offset_plan import OffsetStoreReport, plans_json, plans_text, state_of
from zkconsumer.cli.offsets.drawing import STORAGES, Goal, GroupOffsetTarget, Job
from zkconsumer.cli.offsets.opening import OffsetsCluster
from zkconsumer.cli.offsets.roll_back_file import roll_back_file
from zkconsumer.cli.output import note, show
from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.carrying import carry_out
from zkconsumer.offsets.migration.plan import MigrationOutcome, MigrationRefused
from zkconsumer.offsets.migration.roll_back import RollBack
from zkconsumer.offsets.planning import Outside
from zkconsumer.offsets.store import FetchedOffset

_LISTED = 5


def write_all(jobs: Sequence[Job]) -> list[OffsetStoreReport]:
    """Write all jobs, one storage after the other, up to the first one that can't be verified.

    Raises:
        MigrationRefused: a member joined; nothing was written.
        ZkConsumerError: live members could not be checked; nothing was written.
    """
    done: list[OffsetStoreReport] = []
    stopped = False
    for job in jobs:
        for report in job.reports:
            outcome = None if stopped else _carry_one(job, report, begun=bool(done))
            stopped = outcome is None or not outcome.verified
            done.append(replace(report, outcome=outcome))
    return done


def _carry_one(job: Job, report: OffsetStoreReport, *, begun: bool) -> MigrationOutcome:
    target = job.storages.storages[report.storage]
    plan = report.plan.plan
    try:
        return carry_out(job.storages.group, target, plan, although=job.although)
    except ZkConsumerError as error:
        if not begun:
            raise
        # Earlier writes must be reported, and the roll-back file kept.
        reasons = error.reasons if isinstance(error, MigrationRefused) else (str(error),)
        found: Mapping[TopicPartition, FetchedOffset] = {}
        with contextlib.suppress(ZkConsumerError):
            found = target.fetch(sorted(plan.expected))
        return MigrationOutcome(plan=plan, found=found, doubts=reasons)


def finish(
    args: argparse.Namespace,
    cluster: OffsetsCluster,
    jobs: Sequence[Job],
    *,
    scala: Callable[[Sequence[OffsetStoreReport]], str] | None = None,
    confirmed_by: str | None = None,
) -> int:
    """Carry out the jobs unless it is a dry run or refused; print; return the exit status.

    Args:
        args: the command line.
        cluster: the groups' cluster.
        jobs: the planned changes.
        scala: returns the original's output.
        confirmed_by: the group id that the user has to type before writing; None: no confirmation.

    Raises:
        ConfigError: the cluster has none of the partitions.
        ZkConsumerError: the jobs could not be started.
        OSError: the roll-back file can't be written.
    """
    reports: Sequence[OffsetStoreReport] = [report for job in jobs for report in job.reports]
    print_unseen(cluster)
    refused = state_of(reports) == "refused"
    name = None
    if not refused and not any(report.plan.plan.expected for report in reports):
        absent = sorted(
            {move.topic_partition for report in reports for move in report.plan.plan.moves}
        )
        reported = ", ".join(map(format, absent[:_LISTED]))
        raise ConfigError(
            "the cluster has none of these partitions: "
            f"{reported}{' …' if absent[_LISTED:] else ''}: check the names, and the cluster's "
            "address; nothing was written"
        )
    if not refused and not args.dry_run:
        if confirmed_by is not None and not confirm(
            plans_text(reports, None), confirmed_by, yes=False
        ):
            return REFUSED
        try:
            with roll_back_file(args.roll_back_file, roll_backs(cluster, reports)) as name:
                reports = write_all(jobs)
        except MigrationRefused as error:
            note(error)
            return REFUSED
    status = exit_status_of(state_of(reports))
    if args.format == "json":
        show(plans_json(reports, name))
    elif scala is None or args.format != "scala":
        show(plans_text(reports, name))
    elif status:
        # The original has no output for this state.
        print(plans_text(reports, name), end="", file=sys.stderr)
    else:
        show(scala(reports))
    return status


def roll_backs(cluster: OffsetsCluster, reports: Sequence[OffsetStoreReport]) -> Sequence[RollBack]:
    """Return what undoes the reports' plans, with the present time."""
    made_ms = cluster.now_ms()
    return [
        RollBack(
            group_id=report.group_id,
            target=report.storage,
            zookeeper=cluster.zookeeper,
            made_ms=made_ms,
            written=report.plan.plan.changes,
        )
        for report in reports
    ]


def print_unseen(cluster: OffsetsCluster) -> None:
    """Print to standard error what is unknown without ZooKeeper."""
    unseen = cluster.unseen
    if unseen is not None:
        note(unseen)


def exit_status_of(state: str) -> int:
    """Return the exit status for the state of a plan: refused, planned, done, or not verified."""
    return {"refused": REFUSED, "not verified": COULD_NOT}.get(state, 0)


def add_writing_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that all commands that write offsets have."""
    parser.add_argument(
        "--storage",
        choices=[*STORAGES],
        help="the offset storage: zookeeper, kafka, or both (default: where the group has offsets)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be written, and write nothing"
    )
    parser.add_argument(
        "--outside",
        choices=[outside.value for outside in Outside],
        help="what to do with an offset that is not in the log: refuse it, clamp it to the nearest "
        "end, keep it as it is (default: clamp computed offsets, refuse given ones)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="write despite live members, whose next commit overwrites the offsets, or despite "
        "unknown data. Coordinators of 0.9 and later reject that while there are members",
    )
    parser.add_argument(
        "--roll-back-file",
        metavar="FILE",
        help="the file that undoes the changes (default: offsets-GROUP-PLACE-TIME.json)",
    )


def target_of(
    args: argparse.Namespace,
    goal: Goal,
    *,
    scope: Collection[TopicPartition] | None = None,
    storage_of_new: str | None = None,
) -> GroupOffsetTarget:
    """Return the intended offsets, with the options of ``add_writing_arguments``.

    With ``--format scala`` they are those in ZooKeeper, as the original's.
    """
    return GroupOffsetTarget(
        goal=goal,
        scope=scope,
        outside=None if args.outside is None else Outside(args.outside),
        storage=args.storage or ("zookeeper" if args.format == "scala" else None),
        storage_of_new=storage_of_new,
        force=args.force,
    )
