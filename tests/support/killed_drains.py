"""Runs ``killed_drain``, and sees that each drain was finished and proven."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support import warm


def killed_drains(
    folder: Path, settings: Mapping[str, object], *, first: int, every: int, timeout_s: int
) -> list[dict[str, Any]]:
    """Kill a drain at steps, run it again each time, and verify it.

    Args:
        folder: for notes.
        settings: of the drains.
        first: the step at which the first dies.
        every: how many steps later each further one does.
        timeout_s: for all of them.

    Returns:
        What was told of each; the last one came to its end.
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
