"""The short version of ``python -m tests.chaos``: each kind of fault strikes about twice."""

from pathlib import Path

import pytest

from tests.chaos.report import summary
from tests.chaos.run import run

SEED = 8
MINUTES = 2
MESSAGES_PER_SECOND = 300


@pytest.mark.sandbox
@pytest.mark.long
@pytest.mark.timeout(420)
def test_two_minutes_of_faults_lose_nothing_and_repeat_only_what_was_not_committed(
    tmp_path: Path,
) -> None:
    """Four members and three brokers, with everything that can die dying in turn."""
    outcome = run(tmp_path, seed=SEED, minutes=MINUTES, rate=MESSAGES_PER_SECOND, write=print)
    assert outcome.verdict.good, summary(outcome)
    assert outcome.verdict.counts["lost"] == 0
    assert outcome.faults.total() >= 15
