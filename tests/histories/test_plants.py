"""The checker finds each planted anomaly, and none in healthy histories."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories.checker import check_operations
from tests.histories.plants import planted, plants
from tests.histories.rules import ANOMALIES
from tests.histories.simulated import ACTIONS, Operations, lived
from tests.support.shares import examples

LONG = 150

lives = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1 << 30)), max_size=LONG)


def long_life(seed: int) -> Operations:
    """A healthy history in which nearly everything happens."""
    chance = random.Random(seed)
    return lived((chance.choice(ACTIONS), chance.randrange(1 << 30)) for _ in range(LONG))


@given(lives)
def test_a_healthy_history_has_no_anomaly(actions: list[tuple[str, int]]) -> None:
    """Kills, ended sessions, hand-overs and writes of unknown outcome are no anomalies."""
    outcome = check_operations(lived(actions))
    assert outcome.good, outcome.complaints()


def test_healthy_histories_contain_every_legal_effect() -> None:
    """Simulated histories contain every legal effect, so the checker is tested with them."""
    results = [check_operations(long_life(seed)) for seed in range(20)]
    repeats = set().union(*(result.repeats for result in results))
    assert repeats >= {
        "a kill of a fenced one",
        "an expired session of a fenced one",
        "an expired session of a fenced one: it read on until it knew",
        "a hand-over by a fenced one",
    }
    assert set().union(*(result.effects for result in results)) >= {
        "a poll that goes back with a new assignment",
        "a poll that goes forward with a new assignment",
        "read on after its session, until it knew",
    }


def test_every_anomaly_can_be_planted() -> None:
    """Every anomaly of the checker has a plant that provokes it."""
    assert set(plants()) == set(ANOMALIES)


@pytest.mark.parametrize("anomaly", plants())
@settings(max_examples=examples(25))
@given(seed=st.integers(0, 1 << 30), pick=st.randoms(use_true_random=False))
def test_a_planted_anomaly_is_found(anomaly: str, seed: int, pick: random.Random) -> None:
    """The checker finds it, wherever it was planted."""
    lives_on = (planted(anomaly, long_life(n), pick.choice) for n in itertools.count(seed))
    changed = next(life for life in lives_on if life is not None)
    outcome = check_operations(changed)
    assert anomaly in outcome.anomalies, outcome.complaints()
