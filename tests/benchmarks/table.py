"""The figures as Markdown."""

from collections.abc import Mapping, Sequence

from tests.benchmarks import goals
from tests.benchmarks.contestants import catalog
from tests.benchmarks.figures import Row, Run, ratio, rows
from tests.benchmarks.latency import LatencyRun, medians_of

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
    + " | client CPU s a M | broker CPU s a M | peak MB | first record ms |"
)


def overview(runs: Sequence[Run], labels: Mapping[str, str]) -> str:
    """Everybody and every topic at a glance: medians, and how many times the original's tool."""
    by_topic = rows(runs)
    names = dict.fromkeys(name for found in by_topic.values() for name in found)
    lines = [
        "### Million records a second (times Scala ConsumerPerformance)",
        "",
        "| what | " + " | ".join(by_topic) + " |",
        "|---|" + "---:|" * len(by_topic),
    ]
    for name in names:
        cells = [_glance(runs, topic, found.get(name)) for topic, found in by_topic.items()]
        lines.append(f"| {labels.get(name, name)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _glance(runs: Sequence[Run], topic: str, row: Row | None) -> str:
    if row is None:
        return ""
    times = ratio(runs, topic, row.contestant, catalog.SCALA)
    spoken = "" if times is None or row.contestant == catalog.SCALA else f" ({times.median:.2g} x)"
    return f"{row.rate / 1e6:.3g}{spoken}"


def throughput(
    runs: Sequence[Run], skipped: Mapping[tuple[str, str], str], labels: Mapping[str, str]
) -> str:
    """A table for each topic."""
    parts = []
    for topic, found in rows(runs).items():
        lines = [f"### {topic}", "", _HEAD, "|---|" + "---:|" * (_HEAD.count("|") - 2)]
        lines += [_line(runs, topic, row, labels) for row in found.values()]
        lines += [
            f"| {labels.get(name, name)} | {reason} |"
            for (where, name), reason in skipped.items()
            if where == topic
        ]
        lines += ["", *goals.of_topic(runs, topic, found)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _line(runs: Sequence[Run], topic: str, row: Row, labels: Mapping[str, str]) -> str:
    ratios = []
    for baseline in _BASELINES:
        found = None
        if baseline != row.contestant:
            found = ratio(runs, topic, row.contestant, baseline)
        ratios.append("" if found is None else f"{found.median:.2f}")
    mark = f" ({row.disturbed} of {row.rounds} rounds disturbed)" if row.disturbed else ""
    first = "" if row.first_record_ms is None else f"{row.first_record_ms:.0f}"
    cells = (
        labels.get(row.contestant, row.contestant) + mark,
        f"**{row.rate / 1e6:.3g}**",
        f"{row.lowest / 1e6:.3g} - {row.highest / 1e6:.3g}",
        f"{row.megabytes:.0f}",
        *ratios,
        f"{row.cpu_seconds:.2f}",
        f"{row.broker_cpu_seconds:.2f}",
        f"{row.peak_kb / 1024:.0f}",
        first,
    )
    return "| " + " | ".join(cells) + " |"


def latency(runs: Sequence[LatencyRun], labels: Mapping[str, str]) -> str:
    """From produce to delivery, in milliseconds: medians over the rounds."""
    lines = [
        "### From produce to delivery, 1,000 messages a second",
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
