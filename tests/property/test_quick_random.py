"""The simulations' fast random numbers are those of Python's own generator with the same seed."""

from collections.abc import Callable
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.support.quick_random import QuickRandom

Draw = Callable[[Random], object]


def _shuffled(rng: Random, count: int) -> list[int]:
    items = list(range(count))
    rng.shuffle(items)
    return items


def _draws() -> st.SearchStrategy[Draw]:
    number = st.integers(1, 70)
    return st.one_of(
        number.map(lambda most: lambda rng: rng.choice(range(most))),
        number.map(lambda most: lambda rng: rng.randrange(most)),
        number.map(lambda most: lambda rng: rng.randrange(3, 3 + most)),
        number.map(lambda most: lambda rng: rng.randrange(3, 3 + most, 2)),
        number.map(lambda most: lambda rng: rng.randint(-most, most)),
        number.map(lambda count: lambda rng: _shuffled(rng, count)),
        st.just(lambda rng: rng.random()),
    )


@given(st.integers(0, 2**32), st.lists(_draws(), min_size=1, max_size=20))
def test_the_numbers_are_those_of_random(seed: int, draws: list[Draw]) -> None:
    """They are for any draws in any order."""
    quick, ordinary = QuickRandom(seed), Random(seed)
    assert [draw(quick) for draw in draws] == [draw(ordinary) for draw in draws]
