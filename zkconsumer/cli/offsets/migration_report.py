"""The output of ``zkconsumer offsets migrate``: a plan and its result, as table or JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from zkconsumer.cli.formats.offset_plan import number_of, outcomes_json
from zkconsumer.cli.tables import sentence, table
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import (
    Action,
    MigrationOutcome,
    MigrationPlan,
    Offset,
    PartitionMove,
)
from zkconsumer.printable import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationReport:
    """The plan of a migration, and its result.

    Attributes:
        group_id: the group.
        source: the origin of the offsets: a storage, or a file.
        target: the storage to write to.
        plan: the planned changes.
        outcome: the result; None if nothing was written.
        notes: notes about the offsets for the user.
        roll_back_file: the name of the file that undoes the migration; None if none was written.
    """

    group_id: str
    source: str
    target: str
    plan: MigrationPlan
    outcome: MigrationOutcome | None = None
    notes: tuple[str, ...] = ()
    roll_back_file: str | None = None

    @property
    def status(self) -> str:
        """``planned``, ``refused``, ``done``, or ``not verified``."""
        if self.outcome is None:
            return "refused" if self.plan.refusals else "planned"
        return "done" if self.outcome.verified else "not verified"


def as_json(report: MigrationReport) -> str:
    """Return the report as one JSON object."""
    outcome, plan = report.outcome, report.plan
    outcomes = outcomes_json(outcome)
    value = {
        "group": report.group_id,
        "from": report.source,
        "to": report.target,
        "status": report.status,
        "partitions": [
            {
                **move.topic_partition._asdict(),
                "wanted": number_of(move.wanted),
                "before": number_of(move.before),
                "action": move.action.value,
                **outcomes.get(move.topic_partition, {}),
            }
            for move in plan.moves
        ],
        "only_in_target": [[tp.topic, tp.partition] for tp in plan.only_in_target],
        "notes": list(report.notes),
        "refusals": list(plan.refusals),
        "doubts": [] if outcome is None else list(outcome.doubts),
        "roll_back_file": report.roll_back_file,
    }
    return json.dumps(value, indent=1) + "\n"


def as_text(report: MigrationReport) -> str:
    """Return a table with a line for each partition, and notes about the whole migration."""
    plan, outcome = report.plan, report.outcome
    head = ("PARTITION", f"IN {report.source.upper()}", f"IN {report.target.upper()}", "RESULT")
    failed = None if outcome is None else outcome.failed
    rows = [_row(move, failed) for move in plan.moves]
    shown = table(head, rows, coloured=False)
    lines = [
        f"{tp}: only {report.target} has an offset for it, which is not changed"
        for tp in plan.only_in_target
    ]
    lines += [f"note: {note}" for note in report.notes]
    lines += [f"refused: {refusal}" for refusal in plan.refusals]
    if outcome is not None:
        lines += [f"doubtful: {doubt}" for doubt in outcome.doubts]
    lines.append(_summary(report))
    return shown + "".join(sentence(printable(line)) for line in lines)


def _row(
    move: PartitionMove, failed: Mapping[TopicPartition, str] | None
) -> tuple[str, str, str, str]:
    """Return the row of a partition; ``failed`` is None if nothing was written."""
    wanted, error = _shown(move.wanted), (failed or {}).get(move.topic_partition)
    action = {
        Action.NO_SUCH_PARTITION: "skipped: there is no such partition",
        Action.KEEP: "kept: ahead",
        Action.SAME: "the same",
        Action.WRITE: "to be written" if failed is None else "written",
    }[move.action]
    result = action if error is None else f"NOT {wanted}: {error}"
    return f"{move.topic_partition}", wanted, _shown(move.before), result


def _summary(report: MigrationReport) -> str:
    plan, outcome = report.plan, report.outcome
    count = len(plan.writes)
    if outcome is None:
        audit = "refused, nothing was written" if plan.refusals else "nothing was written yet"
        return f"group {report.group_id}: {count} of {len(plan.moves)} to be written; {audit}"
    undo = f"; --roll-back {report.roll_back_file} undoes it" if report.roll_back_file else ""
    audit = "verified" if outcome.verified else "NOT verified"
    return (
        f"group {report.group_id}: {len(outcome.written)} of {count} written to {report.target}, "
        f"{audit}{undo}"
    )


def _shown(offset: Offset) -> str:
    return "-" if offset is None else str(offset.offset)
