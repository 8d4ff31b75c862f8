"""A schedule: a world in which everything that can happen does, decided by one seed."""

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass

from tests.simulation.callers import PAUSE_MS
from tests.simulation.checks import check_empty, check_rest
from tests.simulation.kernel import START_MS
from tests.simulation.ledger import Violation
from tests.simulation.member import SimMember
from tests.simulation.product import PRODUCT, Product
from tests.simulation.turns import Turns

SETTLE_LIMIT_MS = 120_000
SETTLE_LIMIT_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a schedule.

    Attributes:
        seed: its seed.
        trace: the events, in order.
        failure: the violated rule; None if all is well.
        delivered: how many records callers received.
        repeated: how many of them had been processed before.
        simulated_ms: its duration by the world's clock.
    """

    seed: int
    trace: list[tuple[object, ...]]
    failure: str | None
    delivered: int
    repeated: int
    simulated_ms: int

    @property
    def digest(self) -> str:
        """A hash of the trace, the same for every run of a seed."""
        return hashlib.sha256(repr(self.trace).encode()).hexdigest()


class Schedule(Turns):
    """Runs one world: a wild part, then settling, then everybody leaves."""

    def run(self) -> None:
        """Run the whole schedule.

        Raises:
            Violation: a rule was broken.
        """
        self.wild()
        self.settle()
        self.leave()

    # --- the wild part ----------------------------------------------------------------------------

    def wild(self) -> None:
        """Run the wild part, in which members start, work and fail."""
        rng, world = self.rng, self.world
        for topic, count in self.style.first_topics.items():
            world.grow(topic, count)
        for _ in range(self.style.first_members):
            self.accidents.arrive()
        for _ in range(self.style.steps):
            if rng.random() < self.style.accident_rate:
                self.accidents.happen()
            elif not rng.choice(self.ways)() and rng.random() < 0.3:
                self.pass_time(self.clock.time_ms + rng.choice((5, 40, 300)))

    # --- the end ----------------------------------------------------------------------------------

    def settle(self) -> None:
        """Stop the accidents, wait until everything is read and stable, and check that."""
        self.accidents.make_good()
        self._come_to_rest()
        if self.style.robbers and self.accidents.rob_at_rest():
            # No event reports the deletion, so an audit has to find it.
            self._come_to_rest()

    def _come_to_rest(self) -> None:
        world = self.world
        limit_ms = self.clock.time_ms + SETTLE_LIMIT_MS
        for _ in range(SETTLE_LIMIT_STEPS):
            if not self._work():
                if self._resting():
                    break
                self._wait(limit_ms)
        else:
            raise Violation("does not come to rest: it works and works")
        check_rest(world)

    def _work(self) -> bool:
        """Take the first possible step, in random order."""
        ways = [
            *(self.control, self.events, self.fetch, self.responses),
            *(self._settling_poll, self._settling_reply),
        ]
        self.rng.shuffle(ways)
        return any(way() for way in ways)

    def _settling_poll(self) -> bool:
        for member in self.world.members:
            for caller in member.callers:
                if caller.has_work:
                    caller.poll()
                    return True
        return False

    def _settling_reply(self) -> bool:
        for member in self.world.members:
            if member.hear_replies():
                return True
            if member.outside:
                member.join()
                return True
        return False

    def _resting(self) -> bool:
        world = self.world
        return (
            not world.ghosts
            and not world.strangers
            and not world.away
            and all(member.at_rest and not self._has_to_see(member) for member in world.members)
        )

    def _has_to_see(self, member: SimMember) -> bool:
        """Whether it has yet to notice a stolen partition, or a caller pauses."""
        now_ms = self.clock.time_ms
        return any(
            reading.robbed and reading.claim.active for reading in member.readings.values()
        ) or any(caller.pauses_until_ms > now_ms for caller in member.callers)

    def _wait(self, limit_ms: int) -> None:
        """Advance to the next deadline, because no step is possible."""
        world, now_ms = self.world, self.clock.time_ms
        dues = [due_ms for due_ms, _ in (*world.ghosts, *world.strangers)]
        for member in world.members:
            due_ms = member.control_task.deadline_ms
            dues += [] if due_ms is None else [due_ms]
            dues += [
                caller.pauses_until_ms
                for caller in member.callers
                if caller.pauses_until_ms > now_ms
            ]
        until_ms = max(now_ms + 1, min(dues, default=limit_ms))
        if until_ms >= limit_ms:
            states = ", ".join(f"{member.name}: {member.core}" for member in world.members)
            raise Violation(f"does not come to rest: {states}")
        self.pass_time(until_ms)

    def leave(self) -> None:
        """Shut every member down in order, and check that nothing is left behind."""
        members = list(self.world.members)
        for member in members:
            member.close()
        for _ in range(SETTLE_LIMIT_STEPS):
            if not self.world.members:
                break
            if not self._work():
                self.pass_time(self.clock.time_ms + 100)
        self.clock.time_ms += PAUSE_MS
        for caller in [caller for member in members for caller in member.callers]:
            while caller.has_work:
                caller.poll()
        check_empty(self.world, members)


def run_schedule(seed: int, product: Product = PRODUCT, mostly: str | None = None) -> Outcome:
    """Run one schedule; the outcome says which rule was broken, if any.

    Args:
        seed: decides everything.
        product: the classes that members consist of.
        mostly: the kind of accident (a method of ``Accidents``) that dominates.
    """
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    failure = None
    try:
        product = product.varied(seed)
        with product.in_place():
            schedule = Schedule(seed, product, mostly)
            try:
                schedule.run()
            except Exception as error:  # noqa: BLE001 - the product must not, whatever it is
                failure = f"{type(error).__name__}: {error}"
            # A stopped greenlet is never collected, nor is the world that it refers to.
            for member in schedule.world.started:
                member.crash()
    finally:
        logging.disable(disabled)
    world = schedule.world
    ledger = world.ledger
    simulated_ms = schedule.clock.time_ms - START_MS
    return Outcome(seed, world.trace, failure, ledger.delivered, ledger.repeated, simulated_ms)


def first_failure(
    seeds: Iterable[int], product: Product = PRODUCT, mostly: str | None = None
) -> Outcome | None:
    """Return the outcome of the first of these schedules that fails."""
    outcomes = (run_schedule(seed, product, mostly) for seed in seeds)
    return next((outcome for outcome in outcomes if outcome.failure is not None), None)


def failures_of(outcomes: Iterable[Outcome]) -> list[str]:
    """Return one line for each failure."""
    return [
        f"seed {outcome.seed}: {outcome.failure}"
        for outcome in outcomes
        if outcome.failure is not None
    ]
