"""Writes the figures about drains as Markdown, and whether the goals were reached."""

import statistics
from collections.abc import Mapping, Sequence

from tests.benchmarks.bounds import drain_goals, drain_peak_mb
from tests.benchmarks.drain.landings import ICEBERG, LOCAL
from tests.benchmarks.drain.session import PROVEN
from tests.benchmarks.figures import Run, cpu_rate, rows
from tests.benchmarks.markdown import row_of

_HEAD = (
    "| what | k rows per CPU s | k rows per s | CPU s | s | largest process MB | disturbed |",
    "|---|---:|---:|---:|---:|---:|---:|",
)


def tables(
    runs: Sequence[Run], skipped: Mapping[tuple[str, str], str], labels: Mapping[str, str]
) -> str:
    """Return a table of landing the topic, and one of landing and proving it, with the goals."""
    parts = []
    for what, found in rows(runs).items():
        lines = [f"### {what}", "", *_HEAD]
        lines += [_line(runs, what, name, labels) for name in found]
        if what.endswith(PROVEN):
            lines += ["", *_goals(runs, what)]
        parts.append("\n".join(lines))
    missing = [f"- {labels.get(name, name)}: {why}" for (_, name), why in skipped.items()]
    return "\n\n".join([*parts, *(["\n".join(missing)] if missing else [])])


def _line(runs: Sequence[Run], what: str, name: str, labels: Mapping[str, str]) -> str:
    mine = [run for run in runs if (run.topic, run.contestant) == (what, name)]
    cells = (
        labels.get(name, name),
        f"**{statistics.median(map(cpu_rate, mine)) / 1e3:.0f}**",
        f"{statistics.median(run.rate for run in mine) / 1e3:.0f}",
        f"{statistics.median(run.result.cpu_seconds for run in mine):.1f}",
        f"{statistics.median(run.result.seconds for run in mine):.1f}",
        f"{max(run.result.peak_kb for run in mine) / 1024:.0f}",
        f"{sum(run.disturbed for run in mine)} of {len(mine)}",
    )
    return row_of(cells)


def _goals(runs: Sequence[Run], what: str) -> list[str]:
    lines = [line for goal in drain_goals() for line in goal.spoken(runs, what)]
    for name in (LOCAL, ICEBERG):
        peaks = [
            run.result.peak_kb / 1024 for run in runs if (run.topic, run.contestant) == (what, name)
        ]
        if peaks:
            lines.append(
                f"- peak memory of {name}: {max(peaks):.0f} MB, at most {drain_peak_mb():g}: "
                + _outcome(reached=max(peaks) <= drain_peak_mb())
            )
    return lines


def _outcome(*, reached: bool) -> str:
    return "reached" if reached else "MISSED"
