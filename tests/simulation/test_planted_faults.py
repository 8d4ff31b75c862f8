"""The simulation must fail when a fault is planted in the product, or else it proves nothing."""

import pytest

from tests.simulation.faults import REBALANCE_FAULTS
from tests.simulation.faults_below import FAULTS_BELOW
from tests.simulation.faults_in_streams import FAULTS_IN_STREAMS
from tests.simulation.schedule import first_failure

FAULTS = {**REBALANCE_FAULTS, **FAULTS_BELOW, **FAULTS_IN_STREAMS}
MAX_SEEDS = 1_000
MOSTLY = {
    "ChecksNoOwner": "_rob",
    "DeletesBlindly": "_rob",
    "GivesUpForGood": "_lose_replies",
    "HearsNoAnswers": "_freeze",
    "IgnoresReconnections": "_disconnect",
    "KeepsHalfAClaim": "_stall",
}
"""Rare faults, each with the kind of accident that reveals it and dominates its worlds."""

FIRST_SEEN = {
    "ChecksNoOwner": 166,
    "CommitsBelowWhatIsCommitted": 275,
    "ConsumesBatchesInHand": 49,
    "HearsNoAnswers": 90,
    "StaysRegisteredWhenLeaving": 35,
}
"""The seeds that reveal rare faults: tried before all others."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str) -> None:
    """At least one schedule fails with the fault and passes without it."""
    mostly = MOSTLY.get(name)
    seen = first_failure([FIRST_SEEN.get(name, 0), *range(MAX_SEEDS)], FAULTS[name], mostly)
    assert seen is not None, f"{name} was not seen in {MAX_SEEDS} schedules"
    assert first_failure([seen.seed], mostly=mostly) is None
