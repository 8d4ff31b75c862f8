"""The short form of ``python -m tests.chaos``: each kind of fault is inflicted once."""

from pathlib import Path

import pytest

from tests.chaos.faults import FAULTS
from tests.chaos.report import summary
from tests.chaos.run import run

SEED = 8
MOST_MINUTES = 4
MESSAGES_PER_SECOND = 150


@pytest.mark.sandbox
@pytest.mark.long
@pytest.mark.timeout(420)
def test_faults_of_each_kind_lose_nothing_and_repeat_only_what_was_not_committed(
    tmp_path: Path,
) -> None:
    """Four members read from three brokers while each of them, and ZooKeeper, fails in turn."""
    outcome = run(
        tmp_path,
        seed=SEED,
        minutes=MOST_MINUTES,
        rate=MESSAGES_PER_SECOND,
        write=print,
        most_faults=len(FAULTS),
    )
    assert outcome.result.good, summary(outcome)
    assert outcome.result.counts["lost"] == 0
    assert outcome.faults.keys() == {fault.name for fault in FAULTS}
