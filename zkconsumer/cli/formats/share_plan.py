"""Formats assignment plans as text and JSON."""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby

from zkconsumer.cli.tables import table
from zkconsumer.model import TopicPartition
from zkconsumer.printable import printable
from zkconsumer.status.scaling import SharePlan

_COLUMNS = ("READER", "NOW", "THEN", "PARTITIONS")
_NEW = " (new)"


def share_plan_text(group_id: str, plan: SharePlan) -> str:
    """Return a table with a line for each reader, and notes about the whole plan."""
    rows = []
    gone = [reader for reader in plan.before if reader not in plan.readers]
    for reader in [*plan.readers, *gone]:
        share = plan.readers.get(reader, ())
        name = f"{reader}{_NEW}" if reader in plan.invented else reader
        now = "-" if reader in plan.invented else str(len(plan.before.get(reader, ())))
        then = "-" if reader in gone else str(len(share))
        rows.append((name, now, then, partitions_text(share)))
    lines = table(_COLUMNS, rows, coloured=False).splitlines()
    if plan.leaving:
        lines.append(f"leaving: {', '.join(plan.leaving)}")
    if plan.idle:
        lines.append(f"idle: {len(plan.idle)} of {len(plan.readers)} readers would get nothing")
    if plan.unread:
        lines.append(f"unread: {partitions_text(plan.unread)}")
    if plan.invented:
        lines.append(
            "note: ids of new members are invented; with real ones the order may differ, so that "
            "the same shares go to other readers"
        )
    lines.append(f"group {group_id}: {_shares(plan)}; {len(plan.moved)} would change hands")
    return "\n".join(map(printable, lines)) + "\n"


def _shares(plan: SharePlan) -> str:
    """Return the numbers of partitions that readers would get; readers without any separately."""
    sizes = [len(share) for share in plan.readers.values() if share]
    if not sizes:
        return "no reader would get a partition"
    fewest, most = min(sizes), max(sizes)
    each = str(most) if fewest == most else f"{fewest} to {most}"
    reported = f"{each} partition{'' if most == 1 else 's'} per reader"
    idle = len(plan.idle)
    return f"{reported} for {len(sizes)} of them, none for {idle}" if idle else reported


def share_plan_json(group_id: str, plan: SharePlan) -> str:
    """Return the plan as a JSON object."""
    value = {
        "group": group_id,
        "readers": [
            {
                "reader": reader,
                "new": reader in plan.invented,
                "before": _pairs(plan.before.get(reader, ())),
                "partitions": _pairs(share),
            }
            for reader, share in plan.readers.items()
        ],
        "leaving": list(plan.leaving),
        "idle": list(plan.idle),
        "unread": _pairs(plan.unread),
        "moved": _pairs(plan.moved),
    }
    return json.dumps(value, indent=1) + "\n"


def partitions_text(partitions: Iterable[TopicPartition]) -> str:
    """Return partitions by topic, with ranges: ``orders:0-3,7 returns:1``."""
    return " ".join(
        f"{topic}:{_ranges([tp.partition for tp in of_topic])}"
        for topic, of_topic in groupby(sorted(partitions), key=lambda tp: tp.topic)
    )


def _ranges(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] + 1 == number:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _pairs(partitions: Iterable[TopicPartition]) -> list[list[object]]:
    return [[tp.topic, tp.partition] for tp in partitions]
