"""A schedule: a coordinator group's world in which everything that can happen does."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from unittest.mock import patch

from tests.simulation.coordinated.style import new_style
from tests.simulation.coordinated.world import ReadingWorld
from tests.simulation.ledger import Violation
from tests.simulation.product import Swap
from tests.simulation.schedule import Outcome

FIRST_MEMBERS = 3


def live_through(world: ReadingWorld) -> None:
    """Run the wild part, let the world settle, and let everybody leave.

    Raises:
        Violation: a rule was broken.
    """
    for _ in range(FIRST_MEMBERS):
        world.start()
    for _ in range(world.style.turns):
        world.turn()
    world.settle()
    for client in world.live():
        world.close(client)
    left = [tp for tp, line in world.ledger.lines.items() if line.committed < line.acknowledged]
    if left:
        raise Violation(f"lost what was committed of {left}")
    if world.style.exact and world.ledger.repeated:
        raise Violation(f"{world.ledger.repeated} records came again though nothing failed")


def run_schedule(
    seed: int, fault: Sequence[Swap] = (), strategies: tuple[str, ...] | None = None
) -> Outcome:
    """Run one schedule; the outcome says which rule was broken, if any.

    Args:
        seed: decides everything.
        fault: the replacements in the product meanwhile.
        strategies: the members' strategies, unless the seed decides.
    """
    style = new_style(seed)
    if strategies is not None:
        style = replace(style, strategies=strategies)
    world = ReadingWorld(seed, style)
    failure = None
    with ExitStack() as planted:
        for swap in fault:
            planted.enter_context(patch.object(swap.place, swap.name, swap.replacement))
        try:
            live_through(world)
        except Exception as error:  # noqa: BLE001 - the product must not, whatever it is
            failure = f"{type(error).__name__}: {error}"
    ledger = world.ledger
    return Outcome(seed, world.trace, failure, ledger.delivered, ledger.repeated, world.now_ms)


def first_failure(
    seeds: Iterable[int], fault: Sequence[Swap] = (), strategies: tuple[str, ...] | None = None
) -> Outcome | None:
    """Return the outcome of the first of these schedules that fails."""
    outcomes = (run_schedule(seed, fault, strategies) for seed in seeds)
    return next((outcome for outcome in outcomes if outcome.failure is not None), None)
