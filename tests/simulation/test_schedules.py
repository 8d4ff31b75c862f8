"""Seeded schedules of whole members: always safe, at rest right; each seed replays exactly."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.schedule import failures_in, run_schedule
from tests.support.shares import examples

ROOT = Path(__file__).parents[2]
SCHEDULES = examples(1_500)
CHUNK = 125  # worlds a test: parallel tests are even in length
REPLAYED = range(5_000, 5_020)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, SCHEDULES, CHUNK))
def test_every_schedule_is_safe_and_comes_to_rest(first: int) -> None:
    """In hundreds of worlds no promise is broken; a failure names the seed that replays it."""
    failures = failures_in(range(first, first + CHUNK))
    assert not failures, "\n".join(
        [
            *failures[:20],
            "replay with: python -m tests.simulation --schedules 1 --seed <seed>",
        ]
    )


@pytest.mark.parametrize("seed", REPLAYED)
def test_a_seed_replays_exactly(seed: int) -> None:
    """Two runs of one seed leave the same trace."""
    assert run_schedule(seed).digest == run_schedule(seed).digest


def test_a_seed_replays_exactly_in_another_process() -> None:
    """Nothing depends on the order of sets, which differs from process to process."""
    one, other = (_digests_under(hash_seed) for hash_seed in ("1", "2"))
    assert one == other
    assert len(one) == len(REPLAYED)


def _digests_under(hash_seed: str) -> list[str]:
    code = (
        "from tests.simulation.schedule import run_schedule\n"
        f"for seed in {REPLAYED!r}: print(run_schedule(seed).digest)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return done.stdout.split()


def test_the_schedules_are_not_idle() -> None:
    """Members come and fail, partitions change hands, messages are delivered, some again."""
    outcomes = [run_schedule(seed) for seed in range(60)]
    happened = {what for outcome in outcomes for _, what, *_ in outcome.trace}
    assert happened >= {
        *("member", "joined", "leave", "gone", "crash", "ghost expires", "expire"),
        *("disconnect", "reconnect", "freeze", "stall", "news", "failed", "grow", "broker"),
        *("start", "fetch", "poll", "offset", "commit", "committed", "delete", "stranger"),
    }
    assert sum(outcome.delivered for outcome in outcomes) > 1_000
    assert sum(outcome.repeated for outcome in outcomes) > 50
