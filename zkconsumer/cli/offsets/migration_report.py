"""The output of ``zkconsumer offsets migrate``: a plan and its result, as table or JSON."""

import json
from collections.abc import Mapping

from zkconsumer.cli.formats.offset_plan import (
    OffsetStoreReport,
    number_of,
    outcomes_json,
    remarks,
    state_of,
)
from zkconsumer.cli.tables import sentence, table
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import Action, Offset, PartitionMove
from zkconsumer.printable import printable


def as_json(report: OffsetStoreReport, source: str, roll_back_file: str | None = None) -> str:
    """Return the report as one JSON object.

    Args:
        report: the plan for the target, and its outcome.
        source: the origin of the offsets: a storage, or a file.
        roll_back_file: the name of the file that undoes the migration; None if none was written.
    """
    outcome, plan = report.outcome, report.plan.plan
    outcomes = outcomes_json(outcome)
    value = {
        "group": report.group_id,
        "from": source,
        "to": report.storage.value,
        "status": state_of([report]),
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
        "notes": list(report.plan.notes),
        "refusals": list(plan.refusals),
        "doubts": [] if outcome is None else list(outcome.doubts),
        "roll_back_file": roll_back_file,
    }
    return json.dumps(value, indent=1) + "\n"


def as_text(report: OffsetStoreReport, source: str, roll_back_file: str | None = None) -> str:
    """Return a table with a line for each partition, and notes about the whole migration.

    The arguments are those of ``as_json``.
    """
    plan, outcome, target = report.plan.plan, report.outcome, report.storage.value
    head = ("PARTITION", f"IN {source.upper()}", f"IN {target.upper()}", "RESULT")
    failed = None if outcome is None else outcome.failed
    rows = [_row(move, failed) for move in plan.moves]
    shown = table(head, rows, coloured=False)
    lines = [
        f"{tp}: only {target} has an offset for it, which is not changed"
        for tp in plan.only_in_target
    ]
    lines += [*remarks(report), _summary(report, roll_back_file)]
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


def _summary(report: OffsetStoreReport, roll_back_file: str | None) -> str:
    plan, outcome = report.plan.plan, report.outcome
    count = len(plan.writes)
    if outcome is None:
        audit = "refused, nothing was written" if plan.refusals else "nothing was written yet"
        return f"group {report.group_id}: {count} of {len(plan.moves)} to be written; {audit}"
    undo = f"; --roll-back {roll_back_file} undoes it" if roll_back_file else ""
    audit = "verified" if outcome.verified else "NOT verified"
    return (
        f"group {report.group_id}: {len(outcome.written)} of {count} written to "
        f"{report.storage.value}, {audit}{undo}"
    )


def _shown(offset: Offset) -> str:
    return "-" if offset is None else str(offset.offset)
