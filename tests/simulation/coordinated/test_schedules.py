"""Seeded schedules of coordinator groups: always safe, at rest right; each seed replays exactly."""

import os
import subprocess
import sys

import pytest

from tests.interop.members import REPOSITORY
from tests.simulation.coordinated.schedule import failures_in, run_schedule

SCHEDULES = 300
CHUNK = 100  # worlds a test: parallel tests are even in length
REPLAYED = range(5_000, 5_010)


@pytest.mark.parametrize("first", range(0, SCHEDULES, CHUNK))
def test_every_schedule_is_safe_and_comes_to_rest(first: int) -> None:
    """In 300 worlds no promise is broken; a failure names the seed that replays it."""
    failures = failures_in(range(first, first + CHUNK))
    replay = "replay with: python -m tests.simulation.coordinated --schedules 1 --seed <seed>"
    assert not failures, "\n".join([*failures[:20], replay])


def test_a_seed_replays_exactly_in_another_process() -> None:
    """Nothing depends on the order of sets, which differs from process to process."""
    here = [run_schedule(seed).digest for seed in REPLAYED]
    assert here == _digests_under("1") == _digests_under("2")


def _digests_under(hash_seed: str) -> list[str]:
    code = (
        "from tests.simulation.coordinated.schedule import run_schedule\n"
        f"for seed in {REPLAYED!r}: print(run_schedule(seed).digest)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return done.stdout.split()


def test_the_schedules_are_not_idle() -> None:
    """Members come and fail, partitions change hands, commits are refused, records come again."""
    outcomes = [run_schedule(seed) for seed in range(60)]
    happened = {what for outcome in outcomes for _, what, *_ in outcome.trace}
    assert happened >= {
        *("start", "close", "kill", "freeze", "stall", "cut", "move", "move quietly", "load"),
        *("grow", "subscribe", "REVOKED", "LOST", "TakeOver", "FenceMember", "Notice", "commit"),
    }
    responses = {about[1] for one in outcomes for _, what, *about in one.trace if what == "commit"}
    assert responses >= {"NONE", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "NOT_COORDINATOR"}
    assert sum(outcome.delivered for outcome in outcomes) > 10_000
    assert sum(outcome.repeated for outcome in outcomes) > 100
