"""A plan of offsets as people and programs read it, before and after it is carried out."""

import json
from collections.abc import Sequence

from zkconsumer.offsets.migration.plan import Fate, Move, Offset, Outcome, offset_in
from zkconsumer.offsets.planning import OffsetPlan

_HEAD = ("PARTITION", "LOG START", "LOG END", "OFFSET", "NEW OFFSET", "LAG", "NEW LAG", "RESULT")
_FATES = {
    Fate.SAME: "the same",
    Fate.KEEP: "kept",
    Fate.NO_SUCH_PARTITION: "left out: the cluster has no such partition",
}


def plan_text(group_id: str, plan: OffsetPlan, outcome: Outcome | None = None) -> str:
    """A table, a line a partition, then notes, refusals and doubts, then how it stands.

    Args:
        group_id: whose offsets.
        plan: what is to be done.
        outcome: what came of it; None where nothing was written.
    """
    rows = [_HEAD, *(_row(move, plan, outcome) for move in plan.plan.moves)]
    lines = _table(rows) if plan.plan.moves else []
    lines += [f"note: {one}" for one in plan.notes]
    lines += [f"refused: {one}" for one in plan.plan.refusals]
    if outcome is not None:
        lines += [f"doubtful: {one}" for one in outcome.doubts]
    lines.append(f"group {group_id}: {_summary(plan, outcome)}")
    return "\n".join(lines) + "\n"


def plan_json(group_id: str, plan: OffsetPlan, outcome: Outcome | None = None) -> str:
    """The same as one object."""
    failed = {} if outcome is None else outcome.failed
    partitions = []
    for move in plan.plan.moves:
        tp = move.topic_partition
        log = plan.logs.get(tp)
        entry: dict[str, object] = {
            "topic": tp.topic,
            "partition": tp.partition,
            "log_start": None if log is None else log.start,
            "log_end": None if log is None else log.end,
            "before": _number(move.before),
            "wanted": _number(move.wanted),
            "lag_before": plan.lag(tp, move.before),
            "lag_wanted": plan.lag(tp, move.wanted),
            "fate": move.fate.value,
        }
        if outcome is not None:
            found = outcome.found.get(tp)
            entry["now"] = None if found is None else _number(offset_in(found))
            entry["written"] = tp in outcome.written
        if tp in failed:
            entry["error"] = failed[tp]
        partitions.append(entry)
    value = {
        "group": group_id,
        "status": _status(plan, outcome),
        "partitions": partitions,
        "notes": list(plan.notes),
        "refusals": list(plan.plan.refusals),
        "doubts": [] if outcome is None else list(outcome.doubts),
    }
    return json.dumps(value, indent=1) + "\n"


def _status(plan: OffsetPlan, outcome: Outcome | None) -> str:
    if outcome is None:
        return "refused" if plan.plan.refusals else "planned"
    return "done" if outcome.verified else "not verified"


def _summary(plan: OffsetPlan, outcome: Outcome | None) -> str:
    count, total = len(plan.plan.writes), len(plan.plan.moves)
    if outcome is not None:
        verdict = "verified" if outcome.verified else "NOT verified"
        return f"{len(outcome.written)} of {count} offsets written, {verdict}"
    if plan.plan.refusals:
        return f"{count} of {total} offsets to be set; refused, nothing was written"
    return f"{count} of {total} offsets to be set; nothing was written yet"


def _row(move: Move, plan: OffsetPlan, outcome: Outcome | None) -> Sequence[str]:
    tp = move.topic_partition
    log = plan.logs.get(tp)
    numbers = (
        None if log is None else log.start,
        None if log is None else log.end,
        _number(move.before),
        _number(move.wanted),
        plan.lag(tp, move.before),
        plan.lag(tp, move.wanted),
    )
    cells = ["-" if one is None else str(one) for one in numbers]
    return [str(tp), *cells, _said(move, outcome)]


def _said(move: Move, outcome: Outcome | None) -> str:
    failed = None if outcome is None else outcome.failed.get(move.topic_partition)
    if failed is not None:
        return f"NOT SET: {failed}"
    if move.fate is Fate.WRITE:
        return "to be set" if outcome is None else "set"
    return _FATES[move.fate]


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Numbers to the right, texts to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numbers = range(1, len(widths) - 1)
    return [
        "  ".join(
            cell.rjust(width) if at in numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _number(offset: Offset) -> int | None:
    return None if offset is None else offset.offset
