"""Writes the figures about Spark as Markdown, and whether the goals were reached."""

from collections.abc import Mapping, Sequence

from tests.benchmarks.bounds import older_spark_goal, spark_goals
from tests.benchmarks.figures import Row, Run, ratio, rows
from tests.benchmarks.markdown import row_of
from tests.benchmarks.spark.sources import JVM

_HEAD = (
    "| what | M rows/s | lowest - highest | times Spark's Kafka source (lowest - highest) "
    "| Spark CPU s per M | brokers' and other CPU s per M | disturbed |"
)


def tables(
    runs: Sequence[Run], skipped: Mapping[tuple[str, str], str], labels: Mapping[str, str]
) -> str:
    """Return a table for each topic and kind of work, followed by its goals."""
    parts = []
    for what, found in rows(runs).items():
        lines = [f"### {what}", "", _HEAD, "|---|---:|---:|---:|---:|---:|---:|"]
        lines += [_line(runs, what, row, labels) for row in found.values()]
        lines += [
            f"| {labels.get(name, name)} | {reason} |"
            for (where, name), reason in skipped.items()
            if where == what
        ]
        parts.append("\n".join([*lines, "", *_goals(runs, what)]))
    return "\n\n".join(parts)


def _line(runs: Sequence[Run], what: str, row: Row, labels: Mapping[str, str]) -> str:
    times = None if row.contestant == JVM else ratio(runs, what, row.contestant, JVM)
    cells = (
        labels.get(row.contestant, row.contestant),
        f"**{row.rate / 1e6:.3g}**",
        f"{row.lowest / 1e6:.3g} - {row.highest / 1e6:.3g}",
        "" if times is None else f"{times.median:.2f} ({times.lowest:.2f} - {times.highest:.2f})",
        f"{row.cpu_seconds:.2f}",
        f"{row.broker_cpu_seconds:.2f}",
        f"{row.disturbed} of {row.rounds}",
    )
    return row_of(cells)


def _goals(runs: Sequence[Run], what: str) -> list[str]:
    lines = []
    for kind, goal in spark_goals():
        found = goal.found(runs, what) if what.endswith(f" {kind}") else None
        if found is not None:
            outcome = "reached" if found.median >= goal.at_least else "MISSED"
            lines.append(
                f"- {goal.contestant} to {goal.baseline}, {kind}: {found.median:.2f} "
                f"({found.lowest:.2f} - {found.highest:.2f}), at least {goal.at_least:g}: {outcome}"
            )
    return [*lines, *older_spark_goal().spoken(runs, what)]
