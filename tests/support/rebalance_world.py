"""A random simulation of ZooKeeper, sessions and members around real ``RebalanceCore``s.

Each member has one open step, which runs at some moment, and whose result arrives later. In between
other members run steps, sessions end, watches fire (one-shot, in any order), events of a session's
end arrive late, and steps fail, with or without effect. Afterwards ``settle`` runs the simulation
without faults until all members are stable, and checks the result. Invariants are checked after
every move.
"""

from collections.abc import Callable, Mapping
from random import Random

from tests.support.rebalance_zk import Member, Ownership, TinyZk
from zkconsumer.assignment.strategy import CannotAssign, assign
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.rebalance import RebalanceCore
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings, RebalanceState
from zkconsumer.model import ConsumerThreadId, TopicPartition

STEPS = (
    *(ev.Register, ev.ReadGroup, ev.Revoke, ev.Commit),
    *(ev.Release, ev.Claim, ev.LoadOffsets, ev.Start),
)
NewCore = Callable[[RebalanceSettings, Callable[[], float]], RebalanceCore]


class World(TinyZk):
    """ZooKeeper and the members; one ``Random`` makes all choices."""

    def __init__(self, rng: Random, new_core: NewCore = RebalanceCore) -> None:
        super().__init__()
        self._rng = rng
        self._new_core = new_core
        self._failing = 0.15
        self._stranger = rng.random() < 0.3
        self._meddled: set[TopicPartition] = set()
        self.now_ms = 0
        self._last_session = 0
        self.members: list[Member] = []
        self.ghosts: list[Member] = []
        for number in range(rng.randint(1, 4)):
            self._add_member(f"g_{'abcd'[number]}")

    # --- events -----------------------------------------------------------------------------------

    def run(self, moves: int) -> None:
        """Perform random moves, with faults."""
        for _ in range(moves):
            self._move(self._rng.choice(self.members))
            self.check_always()

    def _move(self, member: Member) -> None:
        """Let a member make progress, or sometimes cause a fault."""
        if self._rng.random() < 0.88:
            self._progress(member)
            return
        accidents: list[Callable[[Member], None]] = [
            *(self._expire, self._expire, self._late_news, self._late_news),
            *(self._come_or_go, self._come_or_go, self._crash, self._reconnect),
            lambda _: self._grow(),
            lambda _: self._set_brokers(1 - self.brokers),
            lambda member: self._delete_registration(member.consumer_id),
            lambda _: self._meddle(),
        ]
        self._rng.choice(accidents)(member)

    def _late_news(self, member: Member) -> None:
        """Report the end of a former session late, or once more."""
        ended = self._rng.randint(0, self._last_session)
        if ended != member.live:
            self._feed(member, ev.SessionEnded(ended))

    def _reconnect(self, member: Member) -> None:
        """Break the connection for a moment; the session survives."""
        member.sessions.append(ev.SessionStarted(member.live))

    def _come_or_go(self, member: Member) -> None:
        """Join or leave; like the control thread, only between two steps."""
        if not member.step and not member.responses:
            self._leave(member) if member.joined else self._join(member)

    def _progress(self, member: Member) -> None:
        ways: list[Callable[[Member], None]] = []
        ways += [self._run_step] if member.step else []
        ways += [self._receive_response] if member.responses else []
        ways += [self._receive_trigger] if member.triggers else []
        ways += [self._receive_session] if member.sessions else []
        if ways:
            self._rng.choice(ways)(member)
        else:
            self._tick(member)

    def _add_member(self, consumer_id: str) -> Member:
        settings = RebalanceSettings(consumer_id=consumer_id, max_retries=3, backoff_ms=100)
        topics = {"t": self._rng.randint(1, 2)}
        if self._rng.random() < 0.5:
            topics["u"] = 1
        core = self._new_core(settings, self._rng.random)
        member = Member(consumer_id, topics, core, self._new_session())
        member.sessions.append(ev.SessionStarted(member.live))
        self.members.append(member)
        self._join(member)
        return member

    def _new_session(self) -> int:
        self._last_session += 1
        return self._last_session

    def _join(self, member: Member) -> None:
        member.joined = True
        self._feed(member, ev.Join())

    def _leave(self, member: Member) -> None:
        """Leave as the control thread does: all steps run at once, their results are ignored."""
        member.joined = False
        actions = member.core.receive(ev.Withdraw(), self.now_ms)
        member.step = None
        for action in actions:
            if isinstance(action, ev.Unregister):
                if self.registrations.get(member.consumer_id, (0, {}))[0] == member.registered:
                    self._delete_registration(member.consumer_id)
            else:
                assert isinstance(action, STEPS)
                self._perform(member, action)
        member.reading.clear()

    def _expire(self, member: Member) -> None:
        """End its session and start a new one; the events of both are queued."""
        ended, member.live = member.live, self._new_session()
        member.sessions += [ev.SessionEnded(ended), ev.SessionStarted(member.live)]
        self._drop_session(ended)

    def _crash(self, member: Member) -> None:
        """Kill its process, and start another with the same name; the nodes stay."""
        self.members.remove(member)
        self.ghosts.append(member)
        self._forget(member)
        self._add_member(member.consumer_id)

    def _meddle(self) -> None:
        """Let a Scala member with stale knowledge delete an owner node blindly."""
        if self._stranger and self.owners:
            tp = self._rng.choice(sorted(self.owners))
            self._meddled.add(tp)
            self._delete_owner(tp)
            self._fire("members")

    def _grow(self) -> None:
        topic = self._rng.choice(sorted(self.partitions))
        self.partitions[topic] += 1
        self._fire(topic)

    def _set_brokers(self, count: int) -> None:
        self.brokers = count
        self._fire("brokers")

    # --- a member's turn --------------------------------------------------------------------------

    def _feed(self, member: Member, event: ev.Event) -> None:
        before = repr(member.core)
        actions = member.core.receive(event, self.now_ms)
        if isinstance(event, ev.StepResult) and not actions:
            assert repr(member.core) == before, "an answer nobody waits for changed something"
        for action in actions:
            self._act(member, action)

    def _act(self, member: Member, action: ev.Action) -> None:
        match action:
            case ev.Fence():
                member.reading.clear()
                member.step = None
            case ev.AwaitOwners(partitions):
                for tp in partitions:
                    self._await(member, tp, ev.RebalanceCause.OWNER_GONE, there=tp in self.owners)
            case ev.AwaitRegistration():
                there = member.consumer_id in self.registrations
                self._await(
                    member, member.consumer_id, ev.RebalanceCause.REGISTRATION_GONE, there=there
                )
            case ev.Settled(owned):
                assert member.reading == member.core.started == owned
                # Without brokers a round changes nothing, so it may not read all of its claims.
                assert member.core.claimed == owned or not member.core._brokers_seen
            case (
                ev.RetryLater()
                | ev.ReportFailure()
                | ev.Unregister()
                | ev.Begun()
                | ev.Blocked()
                | ev.Lost()
                | ev.Recreated()
            ):
                pass
            case _:
                member.step = action

    def _await(
        self, member: Member, what: object, cause: ev.RebalanceCause, *, there: bool
    ) -> None:
        if there:
            self._watch(what, member, cause)
        else:
            member.triggers.append(cause)

    def _receive_response(self, member: Member) -> None:
        self._feed(member, member.responses.pop(self._rng.randrange(len(member.responses))))

    def _receive_trigger(self, member: Member) -> None:
        cause = member.triggers.pop(self._rng.randrange(len(member.triggers)))
        self._feed(member, ev.RebalanceTriggered(cause))

    def _receive_session(self, member: Member) -> None:
        event = member.sessions.pop(0)
        late = self._rng.random() < 0.3 and any(
            isinstance(session, ev.SessionStarted) for session in member.sessions
        )
        if isinstance(event, ev.SessionEnded) and late:
            member.sessions.append(event)  # it arrives after the event of the next session
            return
        if isinstance(event, ev.SessionStarted):
            member.received = event.session_id
        self._feed(member, event)

    def _tick(self, member: Member) -> None:
        deadline_ms = member.core.next_deadline_ms()
        if deadline_ms is not None:
            self.now_ms = max(self.now_ms, deadline_ms)
            self._feed(member, ev.DeadlineReached())

    def _run_step(self, member: Member) -> None:
        step, member.step = member.step, None
        assert step is not None
        local = isinstance(step, ev.Revoke | ev.Start)
        fails = not local and self._rng.random() < self._failing
        if fails and self._rng.random() < 0.5:
            member.responses.append(ev.StepFailed(step.round, "request lost"))
            return
        response = self._perform(member, step, partly=fails)
        member.responses.append(ev.StepFailed(step.round, "answer lost") if fails else response)

    def _perform(self, member: Member, step: ev.Step, *, partly: bool = False) -> ev.StepResult:
        """Run a step; ``partly``: only some of it takes effect, unknown to the member."""
        match step:
            case ev.Register():
                return self._register(member, step)
            case ev.ReadGroup():
                return self._read(member, step)
            case ev.LoadOffsets(number, partitions):
                return ev.OffsetsLoaded(number, dict.fromkeys(partitions))
            case ev.Revoke(_, partitions):
                for tp in partitions:
                    member.reading.pop(tp, None)
            case ev.Start(_, owned):
                member.reading.update(owned)
            case _:
                fence = member.live if member.registered is None else member.registered
                if fence != member.live:
                    return ev.StepFailed(step.round, "session lost")
                return self._write(member, step, partly=partly)
        return ev.StepDone(step.round)

    def _write(
        self, member: Member, step: ev.Commit | ev.Release | ev.Claim, *, partly: bool
    ) -> ev.StepResult:
        match step:
            case ev.Claim():
                return self._claim(member, step, partly=partly)
            case ev.Commit(_, partitions):
                assert not set(partitions) & set(member.reading), "committed while being read"
                for tp in set(partitions) - self._meddled:
                    owner = self.owners.get(tp)
                    assert owner is not None, f"{tp} committed without its node"
                    assert owner[1] == member.live, f"{tp} committed by another"
            case ev.Release(_, owned):
                for tp, thread in self._some(owned, partly=partly).items():
                    assert tp not in member.reading, f"{tp} released while being read"
                    if self.owners.get(tp) == (thread, member.live):
                        self._delete_owner(tp)
        return ev.StepDone(step.round)

    def _register(self, member: Member, step: ev.Register) -> ev.StepResult:
        if member.live != step.session_id:
            return ev.StepFailed(step.round, "session lost")
        there = self.registrations.get(member.consumer_id)
        if there is not None and there[0] != member.live:
            return ev.RegistrationBlocked(step.round, "another session's node")
        self.registrations[member.consumer_id] = (member.live, member.topics)
        member.registered = member.live
        if there is None:
            self._fire("members")
        return ev.StepDone(step.round)

    def _read(self, member: Member, step: ev.ReadGroup) -> ev.StepResult:
        self._watch("members", member, ev.RebalanceCause.MEMBERS)
        self._watch("brokers", member, ev.RebalanceCause.BROKERS)
        for topic in self.partitions:
            self._watch(topic, member, ev.RebalanceCause.TOPICS)
        ours = member.registered if member.registered is not None else member.live
        return ev.GroupRead(
            round=step.round,
            view=self.view(),
            registered=member.consumer_id in self.registrations,
            held=frozenset(tp for tp in step.check if self.owners.get(tp, (0, 0))[1] == ours),
            broker_count=self.brokers,
        )

    def _claim(self, member: Member, step: ev.Claim, *, partly: bool) -> ev.StepResult:
        assert member.registered == member.live, "claimed without a registration"
        held = {
            tp: str(self.owners[tp][0])
            for tp in step.wanted
            if tp in self.owners and self.owners[tp][1] != member.live
        }
        if held:
            return ev.ClaimRefused(step.round, held)
        for tp, thread in self._some(step.wanted, partly=partly).items():
            self.owners[tp] = (thread, member.live)
        return ev.StepDone(step.round)

    def _some(self, owned: Mapping[TopicPartition, ConsumerThreadId], *, partly: bool) -> Ownership:
        return {
            tp: thread for tp, thread in owned.items() if not partly or self._rng.random() < 0.5
        }

    # --- invariants -------------------------------------------------------------------------------

    def check_always(self) -> None:
        """Check that members read with owner nodes only, unless their session ended unnoticed."""
        for member in self.members:
            if member.received == member.live == member.registered:
                for tp, thread in member.reading.items():
                    there = self.owners.get(tp) == (thread, member.live)
                    assert there or tp in self._meddled, f"{tp} read unowned"
            if member.core.state is RebalanceState.OWNING:
                assert member.core.started == member.reading
                assert member.core.started.items() <= member.core.claimed.items()

    def settle(self) -> None:
        """Run without faults until all members are stable, and check who owns what."""
        self._failing = 0
        for ghost in self.ghosts:
            self._drop_session(ghost.live)
        self._set_brokers(1)
        for _ in range(5_000):
            busy = [member for member in self.members if member.busy]
            if busy:
                self._progress(self._rng.choice(busy))
                self.check_always()
            elif waiting := [member for member in self.members if member.core.next_deadline_ms()]:
                self._tick(self._rng.choice(waiting))
            else:
                return self._check_rest()
        raise AssertionError(f"no rest: {[member.core for member in self.members]}")

    def _check_rest(self) -> None:
        joined = [member for member in self.members if member.joined]
        assert {
            member.consumer_id: (member.live, member.topics) for member in joined
        } == self.registrations
        expected: Ownership = {}
        for member in joined:
            assert member.core.state is RebalanceState.OWNING, f"{member.core} does not own"
            result = assign("range", self.view(), member.consumer_id)
            assert not isinstance(result, CannotAssign)
            expected = dict(result)
            share = {
                tp: thread
                for tp, thread in expected.items()
                if thread.consumer_id == member.consumer_id
            }
            assert member.reading == share, f"{member.core} reads {member.reading}, not {share}"
        assert {tp: thread for tp, (thread, _) in self.owners.items()} == expected


def run_world(seed: int, new_core: NewCore = RebalanceCore, *, moves: int = 120) -> None:
    """Run a simulation from beginning to end.

    Raises:
        AssertionError: an invariant is violated.
    """
    world = World(Random(seed), new_core)
    world.run(moves)
    world.settle()
