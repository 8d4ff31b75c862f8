"""Seeded schedules of whole members: always safe, settled at the end, exactly replayable."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.simulation.schedule import Outcome, failures_of, run_schedule
from tests.support.shares import examples

ROOT = Path(__file__).parents[2]
SCHEDULES = examples(750)
CHUNK = 125  # worlds per test, so that parallel tests take equally long
REPLAYED = range(5_000, 5_020)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, SCHEDULES, CHUNK))
def test_every_schedule_is_safe_and_settles(first: int) -> None:
    """Hundreds of worlds break no promise; a failure names the seed that replays it."""
    outcomes = [run_schedule(seed) for seed in range(first, first + CHUNK)]
    failures = failures_of(outcomes)
    assert not failures, "\n".join(
        [
            *failures[:20],
            "replay with: python -m tests.simulation --schedules 1 --seed <seed>",
        ]
    )
    _check_that_much_happened(outcomes)


def test_a_seed_replays_exactly() -> None:
    """Neither earlier schedules nor the order of sets, which varies by process, matter."""
    here = [run_schedule(seed).digest for seed in REPLAYED]
    assert here == _digests_elsewhere()
    assert len({*here}) == len(REPLAYED)


def _digests_elsewhere() -> list[str]:
    code = (
        "from tests.simulation.schedule import run_schedule\n"
        f"for seed in {REPLAYED!r}: print(run_schedule(seed).digest)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return done.stdout.split()


def _check_that_much_happened(outcomes: Sequence[Outcome]) -> None:
    """Check that members start and fail, partitions move, and messages are delivered."""
    happened = {what for outcome in outcomes for _, what, *_ in outcome.trace}
    assert happened >= {
        *("member", "joined", "leave", "gone", "crash", "ghost expires", "expire"),
        *("disconnect", "reconnect", "freeze", "stall", "news", "failed", "grow", "broker"),
        *("start", "fetch", "poll", "offset", "commit", "committed", "delete", "stranger"),
    }
    assert sum(outcome.delivered for outcome in outcomes) > 1_000
    assert sum(outcome.repeated for outcome in outcomes) > 50
