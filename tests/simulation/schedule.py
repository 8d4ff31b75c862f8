"""A schedule: a world in which everything that can happen does, as one seed decides."""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.simulation.accidents import Accidents
from tests.simulation.checks import check_empty, check_rest
from tests.simulation.kernel import SimClock
from tests.simulation.ledger import Violation
from tests.simulation.member import SimMember
from tests.simulation.plans import new_plan, new_style
from tests.simulation.product import PRODUCT, Product
from tests.simulation.world import World
from zkconsumer.testing.memory_zk import Delivery
from zkconsumer.zk.session import SessionState

SETTLE_LIMIT_MS = 200_000
SETTLE_LIMIT_STEPS = 20_000
_SESSION_NEWS = frozenset(state.value for state in SessionState)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a schedule.

    Attributes:
        seed: its number.
        trace: what happened, in order.
        failure: what was violated; None where all is well.
        delivered: how many records callers got.
        repeated: how many of them somebody had been done with before.
    """

    seed: int
    trace: list[tuple[object, ...]]
    failure: str | None
    delivered: int
    repeated: int

    @property
    def digest(self) -> str:
        """A hash of the trace: two runs of a seed have the same."""
        return hashlib.sha256(repr(self.trace).encode()).hexdigest()


class Schedule:
    """Runs one world: a wild part, then rest, then everybody leaves."""

    def __init__(self, seed: int, product: Product = PRODUCT) -> None:
        self.rng = Random(seed)
        self.world = World(self.rng, product)
        self.clock: SimClock = self.world.clock
        self.style = new_style(self.rng)
        self.accidents = Accidents(self.world, self.style)
        self._ways: tuple[Callable[[], bool], ...] = (
            *(self._control,) * 6,
            *(self._news,) * 4,
            *(self._fetch,) * 3,
            *(self._poll,) * 3,
            self._produce,
            self._replies,
        )

    def run(self) -> None:
        """All of it.

        Raises:
            Violation: something that must not be.
        """
        self.wild()
        self.settle()
        self.leave()

    # --- the wild part ----------------------------------------------------------------------------

    def wild(self) -> None:
        """Members come, work and fail."""
        rng, world = self.rng, self.world
        for topic, count in self.style.first_topics.items():
            world.grow(topic, count)
        for _ in range(self.style.first_members):
            self.accidents.start_member(new_plan(rng, self.style, world.members))
        for _ in range(self.style.steps):
            if rng.random() < self.style.accident_rate:
                self.accidents.happen()
            elif not rng.choice(self._ways)() and rng.random() < 0.3:
                self.clock.time_ms += rng.choice((5, 40, 300))
                self._due()

    def _due(self) -> None:
        """What comes by time."""
        world, now_ms = self.world, self.clock.time_ms
        for due_ms, ghost in [one for one in world.ghosts if one[0] <= now_ms]:
            world.ghosts.remove((due_ms, ghost))
            world.bury(ghost)
        for due_ms, stranger in [one for one in world.strangers if one[0] <= now_ms]:
            world.strangers.remove((due_ms, stranger))
            stranger.close()
        for member in [one for one, due_ms in world.away.items() if due_ms <= now_ms]:
            world.reconnect(member)

    def _runs(self, member: SimMember) -> bool:
        return member.dead or member.frozen_until_ms <= self.clock.time_ms

    def _hears(self, news: Delivery) -> bool:
        member = self.world.member_of(news.session_id)
        return member is None or self._runs(member)

    def _control(self) -> bool:
        """A control thread goes on to its next stop."""
        now_ms = self.clock.time_ms
        ready = [
            one
            for one in self.world.members
            if one.control_task.ready
            and one.frozen_until_ms <= now_ms
            and one.stalled_until_ms <= now_ms
        ]
        if not ready:
            return False
        member = self.rng.choice(ready)
        member.control_task.resume()
        if member.control_task.done:
            self.world.gone(member)
        return True

    def _news(self) -> bool:
        """A watch fires, or a client is told of its session."""
        pending = self.world.server.pending
        if not pending:
            return False
        at = self.rng.randrange(min(len(pending), 8))
        news = pending[at]
        member = self.world.member_of(news.session_id)
        if member is not None and not self._runs(member):
            # It stays for later; behind it there may be some for others.
            at = next((one for one, it in enumerate(pending) if self._hears(it)), -1)
            if at < 0:
                return False
            news = pending[at]
            member = self.world.member_of(news.session_id)
        if news.what in _SESSION_NEWS:
            at = self._next_word(member)
            news = pending[at]
        self.world.note("news", member and member.name, news.what)
        self.world.server.deliver(at)
        return True

    def _next_word(self, member: SimMember | None) -> int:
        """Session events come in order, but for the end of one that may come after the next."""
        words = [
            (at, news.what)
            for at, news in enumerate(self.world.server.pending)
            if news.what in _SESSION_NEWS and self.world.member_of(news.session_id) is member
        ]
        late = len(words) > 1 and words[0][1] == SessionState.LOST and self.rng.random() < 0.2
        return words[1 if late else 0][0]

    def _fetch(self) -> bool:
        """One fetcher of one member does one fetch."""
        world = self.world
        ready = [
            (member, position)
            for member in world.members
            if self._runs(member)
            for position in member.fetching.ready(world.logs, world.brokers)
        ]
        if not ready:
            return False
        member, position = self.rng.choice(ready)
        tp = position.claim.topic_partition
        world.ledger.check_right(member.readings[tp], "fetches")
        world.note("fetch", member.name, str(tp), member.fetching.fetch(position, world.logs[tp]))
        return True

    def _poll(self) -> bool:
        """A caller asks a stream for the next message."""
        member = self._pick(lambda one: bool(one.callers))
        if member is None or self.rng.random() > member.plan.poll_rate:
            return False
        caller = self.rng.choice(member.callers)
        if not caller.has_work:
            return False
        caller.poll()
        return True

    def _pick(self, fits: Callable[[SimMember], bool]) -> SimMember | None:
        found = [one for one in self.world.members if fits(one) and self._runs(one)]
        return self.rng.choice(found) if found else None

    def _produce(self) -> bool:
        """A record is written."""
        if not self.world.logs:
            return False
        tp = self.rng.choice(list(self.world.logs))
        offset = self.world.logs[tp].append(self.rng.choice(self.style.gaps))
        self.world.note("produce", str(tp), offset)
        return True

    def _replies(self) -> bool:
        """A caller that waited goes on; one that is outside tries again."""
        rng = self.rng
        member = self._pick(lambda _: True)
        if member is None:
            return False
        if member.hear_replies():
            return True
        if member.outside:
            member.join()
            return True
        if member.callers and rng.random() < (0.1 if member.auto_commit else 0.5):
            member.commit()
            return True
        return False

    # --- the end ----------------------------------------------------------------------------------

    def settle(self) -> None:
        """No more accidents: wait until all is at rest and read, and look at it."""
        self.accidents.make_good()
        self._come_to_rest()
        if self.style.robbers and self.accidents.rob_at_rest():
            # Nobody is told: somebody has to look.
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
        """Whatever can go on does, in an order by chance."""
        ways = [self._control, self._news, self._fetch, self._settling_poll, self._settling_reply]
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
            and all(one.at_rest and not self._has_to_see(one) for one in world.members)
        )

    def _has_to_see(self, member: SimMember) -> bool:
        """Whether it does not know yet what was taken from it, or its callers pause."""
        now_ms = self.clock.time_ms
        return any(one.robbed and one.claim.active for one in member.readings.values()) or any(
            one.pauses_until_ms > now_ms for one in member.callers
        )

    def _wait(self, limit_ms: int) -> None:
        """Nothing can go on: the next deadline comes."""
        world, now_ms = self.world, self.clock.time_ms
        dues = [due_ms for due_ms, _ in (*world.ghosts, *world.strangers)]
        for member in world.members:
            due_ms = member.control_task.deadline_ms
            dues += [] if due_ms is None else [due_ms]
            dues += [one.pauses_until_ms for one in member.callers if one.pauses_until_ms > now_ms]
        self.clock.time_ms = max(now_ms + 1, min(dues, default=limit_ms))
        if self.clock.time_ms >= limit_ms:
            states = ", ".join(f"{one.name}: {one.core}" for one in world.members)
            raise Violation(f"does not come to rest: {states}")
        self._due()

    def leave(self) -> None:
        """Everybody shuts down in order, and nothing is left behind."""
        members = list(self.world.members)
        for member in members:
            member.close()
        for _ in range(SETTLE_LIMIT_STEPS):
            if not self.world.members:
                break
            if not self._work():
                self.clock.time_ms += 100
        for caller in [one for member in members for one in member.callers]:
            while caller.has_work:
                caller.poll()
        check_empty(self.world, members)


def run_schedule(seed: int, product: Product = PRODUCT) -> Outcome:
    """Run one; what is violated is in the outcome."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    failure = None
    try:
        with product.in_place():
            schedule = Schedule(seed, product)
            try:
                schedule.run()
            except Exception as error:  # whatever it is, the product must not
                failure = f"{type(error).__name__}: {error}"
            for member in schedule.world.members:
                member.crash()
    finally:
        logging.disable(disabled)
    world = schedule.world
    ledger = world.ledger
    return Outcome(seed, world.trace, failure, ledger.delivered, ledger.repeated)
