"""The steps by which a world advances: a task runs, an event arrives, or time passes."""

from collections.abc import Callable
from dataclasses import replace

from tests.fakes.memory_zk import PendingDelivery
from tests.simulation.accidents import Accidents
from tests.simulation.kernel import SimClock
from tests.simulation.member import SimMember
from tests.simulation.plans import new_style
from tests.simulation.product import PRODUCT, Product
from tests.simulation.world import World
from tests.support.quick_random import QuickRandom
from zkconsumer.zk.session import SessionState

_SESSION_NEWS = frozenset(state.value for state in SessionState)


class Turns:
    """One world, and the ways in which it can advance by one step.

    Each way returns whether such a step was possible.
    """

    def __init__(self, seed: int, product: Product = PRODUCT, mostly: str | None = None) -> None:
        self.rng = QuickRandom(seed)
        self.world = World(self.rng, product)
        self.clock: SimClock = self.world.clock
        self.style = new_style(self.rng)
        if mostly is not None:
            self.style = replace(self.style, mostly=mostly, accident_rate=0.08)
        self.accidents = Accidents(self.world, self.style)
        self.ways: tuple[Callable[[], bool], ...] = (
            *(self.control,) * 6,
            *(self.events,) * 4,
            *(self.fetch,) * 3,
            *(self.poll,) * 3,
            self.produce,
            self.replies,
            self.responses,
        )

    def pass_time(self, until_ms: int) -> None:
        """Advance the clock; members that were running have heard from ZooKeeper throughout."""
        uninformed = self._uninformed()
        running = [
            sim_member
            for sim_member in self.world.members
            if sim_member not in uninformed
            and self._is_connected(sim_member)
            and self._runs(sim_member)
        ]
        self.clock.time_ms = until_ms
        for member in running:
            member.on_response()
        self.due()

    @staticmethod
    def _is_connected(member: SimMember) -> bool:
        raw = member.store.raw
        return raw.connected and not raw.closed

    def _uninformed(self) -> set[SimMember | None]:
        """Return the members whose clients do not know yet which session they are in.

        Pings are answered in the session that a client believes to be in.
        """
        return {
            self.world.member_of(events.session_id)
            for events in self.world.server.pending
            if events.what in _SESSION_NEWS
        }

    def responses(self) -> bool:
        """Answer a ping, for instance of a member that was suspended."""
        waiting = [
            sim_member
            for sim_member in self.world.members
            if sim_member.is_ping_due and self._is_connected(sim_member)
        ]
        if not waiting:
            return False
        uninformed = self._uninformed()
        member = self._one_of(
            [sim_member for sim_member in waiting if sim_member not in uninformed]
        )
        if member is None:
            return False
        member.on_response()
        return True

    def due(self) -> None:
        """Let the events happen whose time has come."""
        world, now_ms = self.world, self.clock.time_ms
        for due_ms, ghost in [entry for entry in world.ghosts if entry[0] <= now_ms]:
            world.ghosts.remove((due_ms, ghost))
            world.bury(ghost)
        for due_ms, stranger in [entry for entry in world.strangers if entry[0] <= now_ms]:
            world.strangers.remove((due_ms, stranger))
            stranger.close()
        for member in [sim_member for sim_member, due_ms in world.away.items() if due_ms <= now_ms]:
            world.reconnect(member)

    def _runs(self, member: SimMember) -> bool:
        return member.dead or member.frozen_until_ms <= self.clock.time_ms

    def _hears(self, events: PendingDelivery) -> bool:
        member = self.world.member_of(events.session_id)
        return member is None or self._runs(member)

    def control(self) -> bool:
        """Run a control thread to its next stop."""
        now_ms = self.clock.time_ms
        ready = [
            sim_member
            for sim_member in self.world.members
            if sim_member.frozen_until_ms <= now_ms
            and sim_member.stalled_until_ms <= now_ms
            and sim_member.control_task.ready
        ]
        if not ready:
            return False
        member = self.rng.choice(ready)
        member.control_task.resume()
        if member.control_task.done:
            self.world.gone(member)
        return True

    def events(self) -> bool:
        """Deliver a watch event or a session event."""
        pending = self.world.server.pending
        if not pending:
            return False
        at = self.rng.randrange(min(len(pending), 8))
        events = pending[at]
        member = self.world.member_of(events.session_id)
        if member is not None and not self._runs(member):
            # It stays pending; there may be events for others behind it.
            at = next((choice for choice, it in enumerate(pending) if self._hears(it)), -1)
            if at < 0:
                return False
            events = pending[at]
            member = self.world.member_of(events.session_id)
        if events.what in _SESSION_NEWS:
            at = self._next_session_event(member)
            events = pending[at]
        self.world.note("news", member and member.name, events.what)
        self.world.server.deliver(at)
        return True

    def _next_session_event(self, member: SimMember | None) -> int:
        """Return where the next session event stands; only the end of a session may be late."""
        words = self._pending_session_events(member)
        late = len(words) > 1 and words[0][1] == SessionState.LOST and self.rng.random() < 0.2
        return words[1 if late else 0][0]

    def _pending_session_events(self, member: SimMember | None) -> list[tuple[int, str]]:
        """Return the session events that a client has not received yet."""
        pending = self.world.server.pending
        if not pending:
            return []
        member_of = self.world.member_of
        return [
            (at, events.what)
            for at, events in enumerate(pending)
            if events.what in _SESSION_NEWS and member_of(events.session_id) is member
        ]

    def fetch(self) -> bool:
        """Let one fetcher of one member do one fetch."""
        world = self.world
        ready = [
            (member, position)
            for member in world.members
            if member.fetching.positions and self._runs(member)
            for position in member.fetching.ready(world.logs, world.brokers)
        ]
        if not ready:
            return False
        member, position = self.rng.choice(ready)
        tp = position.claim.topic_partition
        world.ledger.check_right(member.readings[tp], "fetches")
        world.note("fetch", member.name, str(tp), member.fetching.fetch(position, world.logs[tp]))
        return True

    def poll(self) -> bool:
        """Let a caller request the next message of a stream."""
        member = self._one_of(
            [sim_member for sim_member in self.world.members if sim_member.callers]
        )
        if member is None or self.rng.random() > member.plan.poll_rate:
            return False
        caller = self.rng.choice(member.callers)
        if not caller.has_work:
            return False
        caller.poll()
        return True

    def _one_of(self, members: list[SimMember]) -> SimMember | None:
        """Return one of these members that is running."""
        found = [member for member in members if self._runs(member)]
        return self.rng.choice(found) if found else None

    def produce(self) -> bool:
        """Write a record."""
        if not self.world.logs:
            return False
        tp = self.rng.choice(list(self.world.logs))
        offset = self.world.logs[tp].append(self.rng.choice(self.style.gaps))
        self.world.note("produce", str(tp), offset)
        return True

    def replies(self) -> bool:
        """Resume a caller whose reply is there, or let one without streams join again."""
        rng = self.rng
        member = self._one_of(self.world.members)
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
