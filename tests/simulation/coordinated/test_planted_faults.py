"""The simulation must fail when a fault is planted in the product, or else it proves nothing."""

import pytest

from tests.simulation.coordinated.faults import COOPERATIVE, FAULTS
from tests.simulation.coordinated.schedule import first_failure, run_schedule

MAX_SEEDS = 600
FIRST_SEEN = {"forgets to join again": 120, "takes late answers": 66}
"""The seeds that reveal rare faults: tried before all others."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str) -> None:
    """At least one schedule fails with the fault and passes without it."""
    strategies = ("cooperative-sticky",) if name in COOPERATIVE else None
    seen = first_failure([FIRST_SEEN.get(name, 0), *range(MAX_SEEDS)], FAULTS[name], strategies)
    assert seen is not None, f"{name} was not seen in {MAX_SEEDS} schedules"
    assert run_schedule(seen.seed, strategies=strategies).failure is None
