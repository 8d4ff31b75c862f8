"""Reports of drains: tables, outcomes of goals, and resources of a program and its descendants."""

import sys

import pytest

from tests.benchmarks.contestants.contestant import Pass
from tests.benchmarks.drain.landings import ICEBERG, LOCAL, SPARK, all_landings
from tests.benchmarks.drain.report import tables
from tests.benchmarks.drain.session import LANDED, PROVEN, metered_run, proven_rows
from tests.benchmarks.figures import Run
from tests.benchmarks.processes import ClientFailed

LABELS = {landing.name: landing.label for landing in all_landings()}


def a_run(contestant: str, kind: str, seconds: float, cpu_seconds: float, peak_mb: int) -> Run:
    """Return a pass over a million records."""
    return Run(
        topic=f"100-none-p4, {kind}",
        contestant=contestant,
        round=0,
        result=Pass(
            records=1_000_000, seconds=seconds, cpu_seconds=cpu_seconds, peak_kb=peak_mb * 1024
        ),
        value_bytes=100,
        broker_cpu_seconds=0.25,
        foreign_cpu_seconds=0.0,
        wall_seconds=seconds,
    )


RUNS = [
    a_run(SPARK, LANDED, 10.0, 8.0, 900),
    a_run(SPARK, PROVEN, 20.0, 16.0, 900),
    a_run(LOCAL, LANDED, 2.0, 2.0, 250),
    a_run(LOCAL, PROVEN, 5.0, 5.0, 250),
    a_run(ICEBERG, PROVEN, 5.0, 6.0, 401),
]


def test_goals_are_about_what_is_proven() -> None:
    """The goals are about CPU time, elapsed time, and memory."""
    landed, proven = tables(RUNS, {}, LABELS).split("\n\n### ")
    assert "| drain --engine local | **500** | 500 | 2.0 | 2.0 | 250 | 0 of 1 |" in landed
    assert "at least" not in landed
    assert [line for line in proven.splitlines() if line.startswith("-")] == [
        "- local to spark, rows per CPU second: 3.20 (3.20 - 3.20), at least 4: MISSED",
        "- local to spark, rows per second: 4.00 (4.00 - 4.00), at least 2: reached",
        "- local-iceberg to local, rows per CPU second: 0.83 (0.83 - 0.83), at least 0.8: reached",
        "- local-iceberg to local, rows per second: 1.00 (1.00 - 1.00), at least 0.8: reached",
        "- peak memory of local: 250 MB, at most 400: reached",
        "- peak memory of local-iceberg: 401 MB, at most 400: MISSED",
    ]


def test_who_is_missing_is_said() -> None:
    """The report names it with the reason."""
    text = tables(RUNS[:1], {("100-none-p4", LOCAL): "no broker"}, LABELS)
    assert text.endswith("\n\n- drain --engine local: no broker")


GRANDCHILD = (
    "import subprocess, sys; "
    "burn = 'import os, time\\nwhile time.process_time() < 0.3: pass\\nos._exit(0)'; "
    "subprocess.Popen([sys.executable, '-c', burn]); print('begun')"
)


def test_children_whose_parents_are_gone_count() -> None:
    """A JVM, for example, ends after the Python process that started it."""
    used, printed = metered_run([sys.executable, "-c", GRANDCHILD], {})
    assert printed.strip() == "begun"
    assert used.cpu_seconds >= 0.3
    assert used.peak_kb > 1_000


def test_a_program_that_fails_is_told() -> None:
    """A drain that is not proven is an error, too."""
    with pytest.raises(ClientFailed, match=r"no|status"):
        metered_run([sys.executable, "-c", "import sys; sys.exit('no')"], {})
    with pytest.raises(ClientFailed, match=r"not_proven: \['lost'\]"):
        proven_rows('{"verdict": "not_proven", "problems": ["lost"], "open": []}')
