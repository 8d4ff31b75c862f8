"""A simulation of several membership cores and one coordinator, with events in random order.

Each turn is one event: a request or a response arrives, a caller polls, a listener returns, time
passes, or something breaks. After each turn no partition may be delivered by two members.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.fakes.fake_group import FakeGroupCoordinator, GroupRequest, Terms
from tests.support.quick_random import QuickRandom
from zkconsumer.assignment.coordinated.assignors import ASSIGNORS
from zkconsumer.assignment.coordinated.strategy import Shares
from zkconsumer.assignment.coordinated.view import CoordinatedView, MemberView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.membership import MembershipCore
from zkconsumer.membership.coordinator.core.states import GroupSettings, MembershipState
from zkconsumer.model import TopicPartition

SESSION_MS, INTERVAL_MS, POLL_MS = 1000, 300, 3000
TRANSITIONS: Mapping[MembershipState, frozenset[MembershipState]] = {
    MembershipState.UNJOINED: frozenset({MembershipState.PREPARING}),
    MembershipState.PREPARING: frozenset({MembershipState.COMPLETING, MembershipState.UNJOINED}),
    MembershipState.COMPLETING: frozenset(
        {MembershipState.STABLE, MembershipState.PREPARING, MembershipState.UNJOINED}
    ),
    MembershipState.STABLE: frozenset({MembershipState.PREPARING, MembershipState.UNJOINED}),
}
"""The states that may follow each state, as they are drawn in ``states``."""
# One event may pass through a state, for example leave and join again.
_REACHED = {
    before: (before, *after, MembershipState.UNJOINED, *TRANSITIONS[MembershipState.UNJOINED])
    for before, after in TRANSITIONS.items()
}


@dataclass(frozen=True, slots=True)
class SendCommit:
    """An OffsetCommit, in worlds whose members commit; offsets are sorted by partition."""

    member_id: str
    generation: int
    offsets: tuple[tuple[TopicPartition, int], ...]


@dataclass
class Client:
    """One client process: its core, its connection, and the events it has yet to process."""

    name: str
    settings: GroupSettings
    core: MembershipCore
    topics: frozenset[str]
    connection: int = 0
    frozen: bool = False
    stuck: bool = False
    dead: bool = False
    todo: list[ev.Event] = field(default_factory=list)
    requests: list[tuple[int, GroupRequest | SendCommit]] = field(default_factory=list)
    responses: list[ev.Event] = field(default_factory=list)
    broken: bool = False
    held: frozenset[TopicPartition] = frozenset()
    notices: list[str] = field(default_factory=list)
    raised: list[ev.Raise] = field(default_factory=list)


class GroupWorld:
    """The simulated group; see the module."""

    def __init__(self, seed: int, strategies: tuple[str, ...], *, static: bool = False) -> None:
        self.random = QuickRandom(seed)
        self.strategies = strategies
        self.static = static
        self.now_ms = 0
        self.partitions = {"a": (0, 1, 2, 3), "b": (0, 1, 2)}
        self.coordinator = FakeGroupCoordinator(member_id_required=self.random.random() < 0.5)
        self.clients: list[Client] = []
        self.moves = 0

    # --- events -------------------------------------------------------------------------

    def start(self, topics: frozenset[str] = frozenset({"a", "b"})) -> Client:
        name = f"c{len(self.clients)}"
        settings = GroupSettings(
            strategies=self.strategies,
            instance_id=name if self.static else None,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=INTERVAL_MS,
            max_poll_interval_ms=POLL_MS,
            retry_backoff_ms=20,
            retry_backoff_max_ms=100,
        )
        client = Client(name, settings, MembershipCore(settings, self.random.random), topics)
        self.clients.append(client)
        self.notify(client, ev.Subscribed(topics))
        return client

    def notify(self, client: Client, event: ev.Event) -> None:
        core = client.core
        before, share, until_ms = core.state, core.owned, core.trusted_until_ms
        actions = core.receive(event, self.now_ms)
        after = core.state
        assert after is before or after in _REACHED[before], f"{before} to {after} by {event}"
        # ``MemberSession.receive`` returns these to the thread that reported the event.
        if any(isinstance(action, ev.HandlerCall) for action in actions):
            assert isinstance(event, ev.Polled | ev.CallbackDone | ev.Leave), event
        if isinstance(event, ev.Leave):
            assert all(isinstance(action, ev.HandlerCall | ev.SendLeave) for action in actions)
        for action in actions:
            self._run(client, action)
        # No other member's assignment can have changed; if this one's did not, all was checked.
        if core.owned is not share or core.trusted_until_ms != until_ms:
            self.check()

    def _run(self, client: Client, action: ev.Action) -> None:
        match action:
            case ev.SendJoin() | ev.SendSync() | ev.SendHeartbeat() | ev.SendLeave():
                client.requests.append((client.connection, action))
            case ev.FindCoordinator(round_):
                is_found = self.random.random() < 0.8
                client.todo.append(
                    ev.CoordinatorLocated(round_) if is_found else ev.CoordinatorUnknown(round_, 15)
                )
            case ev.ForgetCoordinator():
                self._cut(client)
            case ev.RevokePartitions(round_, partitions, _):
                assert partitions <= client.held, "it gives up what it never took over"
                client.held -= partitions
                client.todo.append(ev.CallbackDone(round_))
            case ev.TakeOver(round_, added, owned):
                assert client.held.isdisjoint(added), "it takes over what it has"
                client.held |= added
                assert client.held == owned
                client.todo.append(ev.CallbackDone(round_))
            case ev.Assign(round_, protocol, members):
                client.todo.append(ev.AssignmentMade(round_, self.assign(protocol, members)))
            case ev.Notice(text):
                client.notices.append(text)
            case ev.Raise():
                client.raised.append(action)
            case ev.FenceMember():
                pass

    def assign(self, protocol: str, members: Mapping[str, MemberView]) -> Shares:
        return ASSIGNORS[protocol](CoordinatedView(members, self.partitions))

    def _cut(self, client: Client) -> None:
        """Break the connection; requests that were sent may still arrive, responses do not."""
        sent, client.requests = client.requests, []
        if self.random.random() < 0.5:
            for entry in sent:
                self._carry(client, *entry)
        client.connection += 1
        client.responses.clear()

    def carry_request(self, client: Client) -> None:
        self._carry(client, *client.requests.pop(0))

    def _carry(self, client: Client, connection: int, request: GroupRequest | SendCommit) -> None:
        assert not isinstance(request, SendCommit), "nobody commits here"
        terms = Terms(
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=POLL_MS,
            strategies=self.strategies,
            instance_id=client.settings.instance_id,
        )
        address = f"{client.name} {connection}"
        self._deliver(self.coordinator.receive(address, request, terms, self.now_ms))

    def _deliver(self, responses: list[tuple[str, ev.Event]]) -> None:
        for address, response in responses:
            for client in self.clients:
                if not client.dead and address == f"{client.name} {client.connection}":
                    client.responses.append(response)

    def pass_time(self, most_ms: int) -> None:
        self.now_ms += self.random.randrange(1, most_ms)
        self._deliver(self.coordinator.tick(self.now_ms))
        self.check()

    def tick(self, client: Client) -> None:
        deadline = client.core.next_deadline_ms()
        if deadline is not None and self.now_ms >= deadline:
            self.notify(client, ev.TimerExpired())

    def lose_connection(self, client: Client) -> None:
        self._cut(client)
        self.notify(client, ev.CoordinatorLost())

    def move_coordinator(self) -> None:
        if self.static and self.coordinator.state != "Stable":
            # Like a real one, a coordinator that moves during a rebalance forgets the new ids of
            # static members, and answers that they are fenced.
            return
        self.moves += 1
        self.coordinator.move(self.now_ms)
        for client in self.clients:
            if client.frozen:
                client.broken = True
            elif not client.dead:
                self.lose_connection(client)

    def thaw(self, client: Client) -> None:
        client.frozen = False
        if client.broken:
            client.broken = False
            self.lose_connection(client)

    def kill(self, client: Client) -> None:
        client.dead = True
        client.requests.clear()

    def close(self, client: Client) -> None:
        self.notify(client, ev.Leave())
        client.dead = True

    def add_partition(self) -> None:
        topic = self.random.choice(sorted(self.partitions))
        self.partitions[topic] = (*self.partitions[topic], len(self.partitions[topic]))
        self.notify_topics_changed()

    def notify_topics_changed(self) -> None:
        for client in self.live():
            self.notify(client, ev.RejoinTriggered(ev.JoinReason.TOPICS))

    def change_topics(self, client: Client) -> None:
        choices = (frozenset({"a"}), frozenset({"b"}), frozenset({"a", "b"}))
        client.topics = self.random.choice(choices)
        self.notify(client, ev.Subscribed(client.topics))

    # --- turns --------------------------------------------------------------------------

    def live(self) -> list[Client]:
        return [client for client in self.clients if not client.dead and not client.frozen]

    def turn(self) -> None:
        """Perform one event, mostly an ordinary one."""
        roll = self.random.random()
        alive = self.live()
        if roll < 0.03 or not alive:
            self.break_something()
            return
        if roll < 0.25:
            self.pass_time(120)
        client = self.random.choice(alive)
        self.tick(client)
        self.ordinary(client)

    def ordinary(self, client: Client) -> None:
        can: list[Callable[[], None]] = []
        if client.requests:
            can += [lambda: self.carry_request(client)] * 2
        if client.responses:
            can += [lambda: self.notify(client, client.responses.pop(0))] * 2
        if client.todo:
            can += [lambda: self.notify(client, client.todo.pop(0))] * 2
        if not client.stuck and not self._in_callback(client):
            can.append(lambda: self.notify(client, ev.Polled()))
        if can:
            self.random.choice(can)()

    @staticmethod
    def _in_callback(client: Client) -> bool:
        todo = client.todo
        return bool(todo) and any(isinstance(event, ev.CallbackDone) for event in todo)

    def break_something(self) -> None:  # noqa: C901 - a table of faults
        everybody = [client for client in self.clients if not client.dead]
        what = self.random.randrange(10)
        if len(everybody) < 2 or (what == 0 and len(everybody) < 5):
            self.start()
            return
        client = self.random.choice(everybody)
        if client.frozen:
            self.thaw(client)
        elif what == 1:
            client.frozen = True
        elif what == 2:
            client.stuck = not client.stuck
        elif what == 3:
            self.kill(client)
        elif what == 4:
            self.close(client)
        elif what == 5:
            self.move_coordinator()
        elif what == 6:
            self.add_partition()
        elif what == 7:
            self.change_topics(client)
        elif what == 8:
            code = self.random.choice((ErrorCode.NOT_COORDINATOR, ErrorCode.REBALANCE_IN_PROGRESS))
            us = client.core.identity
            self.notify(client, ev.CommitCompleted(us.member_id, us.generation, code))
        else:
            self.lose_connection(client)

    def settle(self, turns: int = 4000) -> None:
        """Run without faults until all members are stable: all poll, and all messages arrive."""
        for client in self.clients:
            client.stuck = False
            if client.frozen and not client.dead:
                self.thaw(client)
        self.notify_topics_changed()
        for count in range(turns):
            for client in self.live():
                self.tick(client)
                while client.requests:
                    self.carry_request(client)
                while client.responses:
                    self.notify(client, client.responses.pop(0))
                while client.todo:
                    self.notify(client, client.todo.pop(0))
                self.notify(client, ev.Polled())
            self.pass_time(40)
            if count == 50:
                # A static leader that came back keeps its assignment, and gets no list of members,
                # so it misses changes from while it was away (as Kafka's client does).
                self.notify_topics_changed()
            if count > 100 and count % 10 == 0 and self.settled():
                return
        raise AssertionError(f"never at rest: {self}")

    def settled(self) -> bool:
        live = self.live()
        states = {(client.core.state, client.core.identity.generation) for client in live}
        shared = sum(len(client.core.owned) for client in live)
        read = frozenset[str]().union(*(client.topics for client in live))
        whole = sum(len(self.partitions[topic]) for topic in read)
        at_rest = states == {(MembershipState.STABLE, self.coordinator.generation)}
        return (
            at_rest
            and shared == whole
            and not any(client.todo or client.responses for client in live)
        )

    # --- invariants ---------------------------------------------------------------------

    def delivers(self, client: Client) -> frozenset[TopicPartition]:
        if client.dead:
            return frozenset()
        until_ms = client.core.trusted_until_ms
        if until_ms is None or self.now_ms >= until_ms:
            return frozenset()
        return client.core.owned

    def check(self) -> None:
        alive = [client for client in self.clients if not client.dead]
        shares = [(client, share) for client in alive if (share := self.delivers(client))]
        for at, (client, share) in enumerate(shares):
            for other, others in shares[:at]:
                assert share.isdisjoint(others), (
                    f"{sorted(share & others)} are read by {other.name} and {client.name}"
                )

    def __repr__(self) -> str:
        lines = [f"{self.coordinator.state} {self.coordinator.generation} at {self.now_ms}"]
        lines += [f"{client.name}: {client.core!r} todo={client.todo}" for client in self.live()]
        return "\n".join(lines)
