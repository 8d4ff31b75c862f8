"""Formats plans of offsets for people and programs, before and after their execution."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zkconsumer.cli.tables import sentence, table
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import (
    Action,
    MigrationOutcome,
    Offset,
    OffsetStorage,
    PartitionMove,
    offset_in,
)
from zkconsumer.offsets.planning import OffsetPlan
from zkconsumer.printable import printable

_COLUMNS = (
    *("PARTITION", ">LOG START", ">LOG END", ">OFFSET", ">NEW OFFSET", ">LAG", ">NEW LAG"),
    "RESULT",
)
_ACTIONS = {
    Action.SAME: "the same",
    Action.KEEP: "kept",
    Action.NO_SUCH_PARTITION: "skipped: there is no such partition",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetStoreReport:
    """The plan for one offset storage of one group.

    Attributes:
        group_id: the group.
        storage: the offset storage.
        plan: the planned changes.
        outcome: the result; None if nothing was written.
    """

    group_id: str
    storage: OffsetStorage
    plan: OffsetPlan
    outcome: MigrationOutcome | None = None


def plans_text(reports: Sequence[OffsetStoreReport], roll_back_file: str | None = None) -> str:
    """Return tables with a line for each partition, then notes, refusals, doubts and state.

    Args:
        reports: all plans, in order.
        roll_back_file: the name of the file that undoes the changes; None if none was written.
    """
    parts = []
    overall = state_of(reports)
    for report in reports:
        plan = report.plan
        failed = None if report.outcome is None else report.outcome.failed
        rows = [_row(move, plan, failed) for move in plan.plan.moves]
        shown = table(_COLUMNS, rows, coloured=False) if rows else ""
        lines = [
            *remarks(report),
            f"group {report.group_id} in {report.storage.value}: {_summary(report, overall)}",
        ]
        parts.append(shown + "".join(sentence(printable(line)) for line in lines))
    undo = sentence(f"--roll-back {roll_back_file} undoes it") if roll_back_file else ""
    return "\n".join(parts) + undo


def remarks(report: OffsetStoreReport) -> list[str]:
    """Return the notes, refusals and doubts, a line each."""
    lines = [f"note: {text}" for text in report.plan.notes]
    lines += [f"refused: {text}" for text in report.plan.plan.refusals]
    if report.outcome is not None:
        lines += [f"doubtful: {text}" for text in report.outcome.doubts]
    return lines


def plans_json(reports: Sequence[OffsetStoreReport], roll_back_file: str | None = None) -> str:
    """Return the plans as one JSON object."""
    overall = state_of(reports)
    value = {
        "status": overall,
        "groups": [_report_json(report, overall) for report in reports],
        "roll_back_file": roll_back_file,
    }
    return json.dumps(value, indent=1) + "\n"


def _report_json(report: OffsetStoreReport, overall: str) -> dict[str, object]:
    return {
        "group": report.group_id,
        "storage": report.storage.value,
        "status": _status(report, overall),
        "partitions": _partitions_json(report.plan, report.outcome),
        "notes": list(report.plan.notes),
        "refusals": list(report.plan.plan.refusals),
        "doubts": [] if report.outcome is None else list(report.outcome.doubts),
    }


def _partitions_json(plan: OffsetPlan, outcome: MigrationOutcome | None) -> list[dict[str, object]]:
    outcomes, entries = outcomes_json(outcome), []
    for move in plan.plan.moves:
        tp = move.topic_partition
        log = plan.logs.get(tp)
        entry: dict[str, object] = {
            **tp._asdict(),
            "log_start": None if log is None else log.start,
            "log_end": None if log is None else log.end,
            "before": number_of(move.before),
            "wanted": number_of(move.wanted),
            "lag_before": plan.lag(tp, move.before),
            "lag_wanted": plan.lag(tp, move.wanted),
            "action": move.action.value,
        }
        entries.append({**entry, **outcomes.get(tp, {})})
    return entries


def outcomes_json(
    outcome: MigrationOutcome | None,
) -> Mapping[TopicPartition, Mapping[str, object]]:
    """Return the outcome of each partition; an empty map if nothing was written."""
    if outcome is None:
        return {}
    failed, written = outcome.failed, frozenset(outcome.written)
    return {
        tp: {
            "now": number_of(offset_in(outcome.found.get(tp))),
            "written": tp in written,
            **({"error": failed[tp]} if tp in failed else {}),
        }
        for tp in (move.topic_partition for move in outcome.plan.moves)
    }


def state_of(reports: Sequence[OffsetStoreReport]) -> str:
    """Return the state of the whole plan: refused, planned, done, or not verified."""
    if any(report.plan.plan.refusals for report in reports):
        return "refused"
    outcomes = [report.outcome for report in reports]
    if not any(outcomes):
        return "planned"
    return (
        "done"
        if all(outcome is not None and outcome.verified for outcome in outcomes)
        else "not verified"
    )


def _status(report: OffsetStoreReport, overall: str) -> str:
    if report.outcome is not None:
        return "done" if report.outcome.verified else "not verified"
    return "not begun" if overall == "not verified" else overall


def _summary(report: OffsetStoreReport, overall: str) -> str:
    count, total = len(report.plan.plan.writes), len(report.plan.plan.moves)
    if report.outcome is not None:
        outcome = "verified" if report.outcome.verified else "NOT verified"
        return f"{len(report.outcome.written)} of {count} offsets written, {outcome}"
    reported = f"{count} of {total} offsets to be set"
    return {
        "refused": f"{reported}; refused, nothing was written",
        "planned": f"{reported}; nothing was written yet",
    }.get(overall, f"{reported}; NOT begun: earlier writes could not be verified")


def _row(
    move: PartitionMove, plan: OffsetPlan, failed: Mapping[TopicPartition, str] | None
) -> Sequence[str]:
    """Return the row of a partition; ``failed`` is None if nothing was written."""
    tp = move.topic_partition
    log = plan.logs.get(tp)
    numbers = (
        None if log is None else log.start,
        None if log is None else log.end,
        number_of(move.before),
        number_of(move.wanted),
        plan.lag(tp, move.before),
        plan.lag(tp, move.wanted),
    )
    cells = ["-" if number is None else str(number) for number in numbers]
    return [f"{tp}", *cells, _described(move, failed)]


def _described(move: PartitionMove, failed: Mapping[TopicPartition, str] | None) -> str:
    if failed is not None and move.topic_partition in failed:
        return f"NOT SET: {failed[move.topic_partition]}"
    if move.action is Action.WRITE:
        return "to be set" if failed is None else "set"
    return _ACTIONS[move.action]


def number_of(offset: Offset) -> int | None:
    """Return an offset as a number; None if there is none."""
    return None if offset is None else offset.offset
