"""The accidents and changes that may happen in the wild part of a schedule."""

from collections.abc import Callable

from tests.simulation.member import GROUP, SimMember
from tests.simulation.plans import MemberPlan, Style, new_plan
from tests.simulation.world import SESSION_TIMEOUT_MS, World

MAX_MEMBERS = 4
MAX_PARTITIONS = 5


class Accidents:
    """Chooses one accident per call; one that makes no sense at the moment does nothing."""

    def __init__(self, world: World, style: Style) -> None:
        self._world = world
        self._style = style
        self._rng = world.rng
        weights: dict[Callable[[], None], int] = {
            self._leave: 2,
            self._leave_in_haste: 1,
            self._crash: 3,
            self._expire: 3,
            self._disconnect: 3,
            self._lose_replies: 3,
            self._freeze: 2,
            self._stall: 2,
            self._grow: 1,
            self._broker: 2,
            self._move_leader: 1,
            self._delete_registration: 1,
            self._rob: 3 if style.robbers else 0,
            self._retain: 4 if style.retention else 0,
        }
        # Some kinds never happen in this world and some often: what is rare together with
        # everything else is common in some worlds.
        self._all = [self._arrive] * 3
        for accident, weight in weights.items():
            self._all += [accident] * weight * self._rng.choice((0, 1, 1, 4))
        if style.mostly is not None:
            self._all += [
                accident for accident in weights if accident.__name__ == style.mostly
            ] * 60

    def arrive(self) -> None:
        """Start another member."""
        taken = {member.plan.consumer_id for member in self._world.members}
        self.start_member(new_plan(self._rng, self._style, taken))

    def start_member(self, plan: MemberPlan) -> None:
        """Start a member with this world's loss rate."""
        member = self._world.start_member(plan)
        member.store.loss_rate = self._style.loss_rate

    def happen(self) -> None:
        """Cause one accident."""
        self._rng.choice(self._all)()

    def make_good(self) -> None:
        """End every accident."""
        world = self._world
        world.note("settle")
        for member in list(world.away):
            world.reconnect(member)
        for broker in (0, 1):
            world.start_broker(broker)
        if all(member.closing for member in world.members):
            self.arrive()
        for member in world.members:
            member.frozen_until_ms = member.stalled_until_ms = 0
            member.store.raw.lost_replies = 0
            member.store.loss_rate = 0.0

    def rob_at_rest(self) -> bool:
        """Delete one owner node; return whether there was one."""
        owned = [tp for tp in self._world.logs if self._world.owner(tp) is not None]
        if owned:
            self._world.rob(self._rng.choice(owned), noticed=False)
        return bool(owned)

    def _some(self) -> SimMember | None:
        members = [member for member in self._world.members if not member.closing]
        return self._rng.choice(members) if members else None

    def _later(self, low_ms: int, high_ms: int) -> int:
        return self._world.clock.time_ms + self._rng.randint(low_ms, high_ms)

    def _arrive(self) -> None:
        if len(self._world.members) < MAX_MEMBERS:
            self.arrive()

    def _leave(self) -> None:
        member = self._some()
        if member is not None:
            self._world.note("leave", member.name)
            member.close()

    def _leave_in_haste(self) -> None:
        """Close the session before the control thread has left."""
        closing = [member for member in self._world.members if member.closing]
        if closing:
            self._world.close_session(self._rng.choice(closing))

    def _crash(self) -> None:
        if self._world.members:
            member = self._rng.choice(self._world.members)
            self._world.crash(member, self._later(0, 2 * SESSION_TIMEOUT_MS))
            if self._rng.random() < 0.5:
                self.start_member(member.plan)

    def _expire(self) -> None:
        member = self._some()
        if member is not None:
            self._world.expire(member)
            if self._rng.random() < 0.3:
                self._world.expire(member)

    def _disconnect(self) -> None:
        member = self._some()
        if member is not None and member not in self._world.away:
            self._world.disconnect(member, self._later(0, 4_000))

    def _lose_replies(self) -> None:
        member = self._some()
        if member is not None:
            member.store.raw.lost_replies += self._rng.randint(1, 2)

    def _freeze(self) -> None:
        """Suspend the whole process, whose session may end meanwhile."""
        member = self._some()
        if member is not None:
            self._world.note("freeze", member.name)
            member.frozen_until_ms = self._later(100, 2 * SESSION_TIMEOUT_MS)
            if self._rng.random() < 0.5:
                self._world.expire(member)

    def _stall(self) -> None:
        """Suspend the control thread while everything else continues."""
        member = self._some()
        if member is not None:
            self._world.note("stall", member.name)
            member.stalled_until_ms = self._later(100, 2 * SESSION_TIMEOUT_MS)

    def _grow(self) -> None:
        topic = self._rng.choice("tu")
        count = self._world.partition_count(topic) + 1
        if count <= MAX_PARTITIONS:
            self._world.note("grow", topic, count)
            self._world.grow(topic, count)

    def _broker(self) -> None:
        broker = self._rng.randrange(2)
        self._world.note("broker", broker)
        if broker in self._world.brokers:
            self._world.stop_broker(broker)
        else:
            self._world.start_broker(broker)

    def _move_leader(self) -> None:
        if self._world.logs:
            self._rng.choice(list(self._world.logs.values())).leader = self._rng.randrange(2)

    def _delete_registration(self) -> None:
        """Delete a live member's registration, as an operator might by mistake."""
        member = self._some()
        if member is not None:
            self._world.delete_node(f"/consumers/{GROUP}/ids/{member.plan.consumer_id}")

    def _rob(self) -> None:
        """Delete an owner node without owning it, mostly while its member is busy."""
        world, rng = self._world, self._rng
        owned = [tp for tp in world.logs if world.owner(tp) is not None]
        busy = [
            member
            for member in world.members
            if member.control_task.wakes is None and member.claims.claims()
        ]
        if busy and rng.random() < 0.7:
            owned = [claim.topic_partition for claim in rng.choice(busy).claims.claims()]
        if not owned:
            return
        tp = rng.choice(owned)
        world.rob(tp, noticed=rng.random() < 0.5)
        if rng.random() < 0.5:
            world.take_over(tp, self._later(0, SESSION_TIMEOUT_MS))

    def _retain(self) -> None:
        tp = self._rng.choice(list(self._world.logs))
        log = self._world.logs[tp]
        log.start = max(log.start, log.first_from(log.start + self._rng.randint(0, 4)))
        self._world.note("retain", str(tp), log.start)
