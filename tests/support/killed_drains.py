"""Runs ``killed_drain``, and checks that each drain was completed and proven."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support import warm


def killed_drains(
    folder: Path, settings: Mapping[str, object], *, first: int, every: int, timeout_s: int
) -> list[dict[str, Any]]:
    """Kill drains at several steps, run each again, and verify it.

    Args:
        folder: the folder for the drains and their reports.
        settings: the drains' settings.
        first: the step at which the first drain is killed.
        every: the number of steps between two drains' kills.
        timeout_s: the time limit for all of them.

    Returns:
        The report of each drain; the last one was not killed.
    """
    program = [sys.executable, "-m", "tests.support.killed_drain", str(folder)]
    done = warm.run(
        [*program, json.dumps(settings), str(first), str(every)],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stderr
    runs: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    reported = done.stdout + done.stderr
    assert runs[-1]["step"] == "the end", reported
    assert {(run["again"], run["verdict"]) for run in runs} == {(0, 0)}, reported
    return runs
