"""Writes the figures about the poll API as Markdown, and whether the goals were reached."""

from collections.abc import Iterator, Mapping, Sequence

from tests.benchmarks.bounds import bounds
from tests.benchmarks.figures import Row, Run, rows
from tests.benchmarks.markdown import glance, ratios_to, row_of, table_of_topic
from tests.benchmarks.poll import catalog

_BASELINES = {
    catalog.KAFKA_PYTHON: "x kafka-python",
    catalog.CONFLUENT: "x confluent-kafka",
    catalog.RAW: "of raw",
}
_HEAD = (
    "| what | M records/s | lowest - highest | "
    + " | ".join(_BASELINES.values())
    + " | client CPU s per M | broker CPU s per M | peak MB | join ms | first record ms"
    " | disturbed |"
)


def overview(runs: Sequence[Run], labels: Mapping[str, str]) -> str:
    """Return one table of all contestants and topics: medians in million records per second."""
    return glance(
        "Million records per second",
        runs,
        labels,
        lambda _, row: "" if row is None else f"{row.rate / 1e6:.3g}",
    )


def tables(
    runs: Sequence[Run], skipped: Mapping[tuple[str, str], str], labels: Mapping[str, str]
) -> str:
    """Return a table for each topic, followed by its goals."""
    parts = []
    for topic, found in rows(runs).items():
        own = (_line(runs, topic, row, labels) for row in found.values())
        lines = table_of_topic(topic, _HEAD, own, skipped, labels)
        parts.append("\n".join([*lines, "", *_goals(runs, topic)]))
    return "\n\n".join(parts)


def _line(runs: Sequence[Run], topic: str, row: Row, labels: Mapping[str, str]) -> str:
    cells = (
        labels.get(row.contestant, row.contestant),
        f"**{row.rate / 1e6:.3g}**",
        f"{row.lowest / 1e6:.3g} - {row.highest / 1e6:.3g}",
        *ratios_to(_BASELINES, runs, topic, row.contestant),
        f"{row.cpu_seconds:.2f}",
        f"{row.broker_cpu_seconds:.2f}",
        f"{row.peak_kb / 1024:.0f}",
        _whole(row.join_ms),
        _whole(row.first_record_ms),
        f"{row.disturbed} of {row.rounds}",
    )
    return row_of(cells)


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _goals(runs: Sequence[Run], topic: str) -> Iterator[str]:
    for goal in bounds("poll_goals"):
        found = goal.found(runs, topic)
        if found is not None:
            outcome = "reached" if found.median >= goal.at_least else "MISSED"
            yield (
                f"- {goal.contestant} to {goal.baseline}: {found.median:.2f} "
                f"({found.lowest:.2f} - {found.highest:.2f}), at least {goal.at_least:g}: {outcome}"
            )
