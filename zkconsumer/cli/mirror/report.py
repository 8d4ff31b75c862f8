"""Formats a mirror's progress as a table and as JSON. Pure."""

from dataclasses import asdict
from typing import Final

from zkconsumer.cli.tables import Cell, Colour, Painted, table
from zkconsumer.mirror.mirror import MirrorProgress
from zkconsumer.mirror.partition_totals import PartitionAccount

_COLUMNS: Final = (
    *("TOPIC", ">PARTITION", ">READ", ">ACKNOWLEDGED", ">AGAIN", ">DROPPED", ">GAPS"),
    *(">POSITION", ">COMMITTED"),
)
_COUNTS: Final = ("read", "acknowledged", "again", "dropped", "gap")


def summary_table(now: MirrorProgress) -> str:
    """Return a row for each partition, and the sum; with the sources if there are several."""
    several = len(now.sources) > 1
    rows: list[list[Cell]] = [
        [
            *([source] if several else []),
            *(tp.topic, tp.partition, *_cells(account), account.position, account.committed),
        ]
        for source, partitions in now.sources.items()
        for tp, account in partitions.items()
    ]
    if len(rows) > 1:
        rows.append([*([""] if several else []), "(all)", "", *_cells(now.total), "", ""])
    return table(("SOURCE", *_COLUMNS) if several else _COLUMNS, rows)


def _cells(account: PartitionAccount) -> list[Cell]:
    dropped: Cell = account.dropped
    if account.dropped:
        dropped = Painted(str(account.dropped), Colour.BAD)
    return [account.read, account.acknowledged, account.again, dropped, account.gap]


def json_of(now: MirrorProgress, *, ended: bool) -> dict[str, object]:
    """Return the fields of a line of ``--json``."""
    total = asdict(now.total)
    return {
        "ended": ended,
        "running_ms": now.running_ms,
        **{name: total[name] for name in _COUNTS},
        "partitions": [
            {"source": source, **tp._asdict(), **asdict(account)}
            for source, partitions in now.sources.items()
            for tp, account in partitions.items()
        ],
    }
