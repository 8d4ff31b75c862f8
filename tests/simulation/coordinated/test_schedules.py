"""Seeded schedules of coordinator groups: always safe, settled at the end, exactly replayable."""

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.interop.members import REPOSITORY
from tests.simulation.coordinated.schedule import run_schedule
from tests.simulation.schedule import Outcome, failures_of
from tests.support.shares import examples

SCHEDULES = examples(600)
CHUNK = 100  # worlds per test, so that parallel tests take equally long
REPLAYED = range(5_000, 5_010)


@pytest.mark.parametrize("first", range(0, SCHEDULES, CHUNK))
def test_every_schedule_is_safe_and_settles(first: int) -> None:
    """Hundreds of worlds break no promise; a failure names the seed that replays it."""
    outcomes = [run_schedule(seed) for seed in range(first, first + CHUNK)]
    failures = failures_of(outcomes)
    replay = "replay with: python -m tests.simulation.coordinated --schedules 1 --seed <seed>"
    assert not failures, "\n".join([*failures[:20], replay])
    _check_that_much_happened(outcomes)


def test_a_seed_replays_exactly() -> None:
    """Neither earlier schedules nor the order of sets, which varies by process, matter."""
    here = [run_schedule(seed).digest for seed in REPLAYED]
    assert here == _digests_elsewhere()
    assert len({*here}) == len(REPLAYED)


def _digests_elsewhere() -> list[str]:
    code = (
        "from tests.simulation.coordinated.schedule import run_schedule\n"
        f"for seed in {REPLAYED!r}: print(run_schedule(seed).digest)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return done.stdout.split()


def _check_that_much_happened(outcomes: Sequence[Outcome]) -> None:
    """Check that members start and fail, partitions move, commits fail and records repeat."""
    happened = {what for outcome in outcomes for _, what, *_ in outcome.trace}
    assert happened >= {
        *("start", "close", "kill", "freeze", "stall", "cut", "move", "move quietly", "load"),
        *("grow", "subscribe", "REVOKED", "LOST", "TakeOver", "FenceMember", "Notice", "commit"),
    }
    responses = {
        about[1] for outcome in outcomes for _, what, *about in outcome.trace if what == "commit"
    }
    assert responses >= {"NONE", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "NOT_COORDINATOR"}
    assert sum(outcome.delivered for outcome in outcomes) > 10_000
    assert sum(outcome.repeated for outcome in outcomes) > 100
