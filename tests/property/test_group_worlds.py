"""Groups of membership cores in random worlds: no partition is read twice, in the end all are."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.group_world import GroupWorld
from tests.support.shares import examples

STRATEGIES = (
    ("range",),
    ("roundrobin",),
    ("sticky",),
    ("cooperative-sticky",),
    ("cooperative-sticky", "range"),
)


def run_world(seed: int, strategies: tuple[str, ...], *, static: bool, turns: int = 600) -> None:
    """Run a world for this many turns, and then let it settle."""
    world = GroupWorld(seed, strategies, static=static)
    for _ in range(3):
        world.start()
    for _ in range(turns):
        world.turn()
    world.settle()


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(STRATEGIES), st.booleans())
def test_every_world_is_safe_and_settles(
    seed: int, strategies: tuple[str, ...], static: bool
) -> None:
    """At no turn is a partition read twice, and after the last accident all are read."""
    run_world(seed, strategies, static=static)


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32))
def test_long_cooperative_worlds_are_safe(seed: int) -> None:
    """They are even after many accidents."""
    run_world(seed, ("cooperative-sticky",), static=False, turns=3000)
