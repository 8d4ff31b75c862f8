"""Writes the figures of ``make bench`` as Markdown."""

from collections.abc import Mapping, Sequence

from tests.benchmarks import goals
from tests.benchmarks.contestants import catalog
from tests.benchmarks.figures import Row, Run, ratio, rows
from tests.benchmarks.latency import LatencyRun, medians_of
from tests.benchmarks.markdown import glance, ratios_to, row_of, table_of_topic

_BASELINES = {
    catalog.SCALA: "x Scala",
    catalog.WARM_SCALA: "x warm Scala",
    catalog.CONFLUENT: "x confluent",
    catalog.KAFKA_PYTHON: "x kafka-python",
    catalog.RAW: "of raw",
    catalog.RAW_4MB: "of raw 4 MB",
}
_HEAD = (
    "| what | M records/s | lowest - highest | MB/s | "
    + " | ".join(_BASELINES.values())
    + " | client CPU s per M | broker CPU s per M | peak MB | first record ms |"
)


def overview(runs: Sequence[Run], labels: Mapping[str, str]) -> str:
    """Return a table of all contestants and topics: medians, and ratios to the original's tool."""
    return glance(
        "Million records per second (times Scala ConsumerPerformance)",
        runs,
        labels,
        lambda topic, row: _glance(runs, topic, row),
    )


def _glance(runs: Sequence[Run], topic: str, row: Row | None) -> str:
    if row is None:
        return ""
    times = ratio(runs, topic, row.contestant, catalog.SCALA)
    spoken = "" if times is None or row.contestant == catalog.SCALA else f" ({times.median:.2g} x)"
    return f"{row.rate / 1e6:.3g}{spoken}"


def throughput(
    runs: Sequence[Run], skipped: Mapping[tuple[str, str], str], labels: Mapping[str, str]
) -> str:
    """Return a table for each topic, followed by its goals."""
    parts = []
    for topic, found in rows(runs).items():
        own = (_line(runs, topic, row, labels) for row in found.values())
        lines = table_of_topic(topic, _HEAD, own, skipped, labels)
        lines += ["", *goals.of_topic(runs, topic, found)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _line(runs: Sequence[Run], topic: str, row: Row, labels: Mapping[str, str]) -> str:
    mark = f" ({row.disturbed} of {row.rounds} rounds disturbed)" if row.disturbed else ""
    first = "" if row.first_record_ms is None else f"{row.first_record_ms:.0f}"
    cells = (
        labels.get(row.contestant, row.contestant) + mark,
        f"**{row.rate / 1e6:.3g}**",
        f"{row.lowest / 1e6:.3g} - {row.highest / 1e6:.3g}",
        f"{row.megabytes:.0f}",
        *ratios_to(_BASELINES, runs, topic, row.contestant),
        f"{row.cpu_seconds:.2f}",
        f"{row.broker_cpu_seconds:.2f}",
        f"{row.peak_kb / 1024:.0f}",
        first,
    )
    return row_of(cells)


def latency(runs: Sequence[LatencyRun], labels: Mapping[str, str]) -> str:
    """Return a table of the latency in milliseconds: medians over the rounds."""
    lines = [
        "### From produce to delivery, 1,000 messages per second",
        "",
        "| partitions | what | p50 ms | p99 ms | p99, lowest - highest |",
        "|---:|---|---:|---:|---:|",
    ]
    for (partitions, name), found in medians_of(runs).items():
        p99s = [
            run.p99_us for run in runs if (run.partitions, run.contestant) == (partitions, name)
        ]
        lines.append(
            f"| {partitions} | {labels.get(name, name)} | {found.p50_us / 1000:.2f} "
            f"| {found.p99_us / 1000:.2f} | {min(p99s) / 1000:.2f} - {max(p99s) / 1000:.2f} |"
        )
    return "\n".join([*lines, "", *goals.of_latency(runs)])
