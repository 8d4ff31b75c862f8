"""Members of a coordinator group that read and commit: the random worlds, with records in them.

Members behave as ``KafkaConsumer`` does: records that a poll returned count as processed when the
next poll begins; processed records are committed periodically and before a revocation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.fakes.fake_group import GroupRequest
from tests.simulation.coordinated.answers import judge, refusal
from tests.simulation.coordinated.ledger import GroupLedger
from tests.simulation.coordinated.style import GroupStyle
from tests.simulation.ledger import Violation
from tests.support.group_world import SESSION_MS, Client, GroupWorld, SendCommit
from zkconsumer.error_codes import ErrorCode
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.states import MembershipState
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition

Offsets = tuple[tuple[TopicPartition, int], ...]
COMMIT_INTERVAL_MS = 200
MOST_RECORDS = 5


@dataclass(slots=True, eq=False)
class Reader:
    """A member's positions in its partitions.

    Attributes:
        positions: the next record to hand out.
        done: the next one to commit.
        committing: the commits in flight, in order.
        callback: the round of a callback that waits for the last of them.
        next_commit_ms: when to commit again.
    """

    positions: dict[TopicPartition, int] = field(default_factory=dict)
    done: dict[TopicPartition, int] = field(default_factory=dict)
    committing: list[Offsets] = field(default_factory=list)
    callback: int | None = None
    next_commit_ms: int = 0


class ReadingWorld(GroupWorld):
    """Members that read and commit, as the module says; ``style`` decides what happens."""

    def __init__(self, seed: int, style: GroupStyle) -> None:
        super().__init__(seed, style.strategies, static=style.static)
        self.style = style
        self.ledger = GroupLedger()
        self.readers: dict[str, Reader] = {}
        self.trace: list[tuple[object, ...]] = []
        self.loading_until_ms = 0
        self._elsewhere: set[tuple[str, int]] = set()
        self._identity = ("", -1)

    # --- what happens -----------------------------------------------------------------------------

    def reader(self, client: Client) -> Reader:
        """Return the member's positions, creating them if needed."""
        reader = self.readers.get(client.name)
        if reader is None:
            reader = self.readers[client.name] = Reader()
        return reader

    def note(self, what: str, *about: object) -> None:
        """Add a line to the trace."""
        self.trace.append((self.now_ms, what, *about))

    def notify(self, client: Client, event: ev.Event) -> None:
        """Pass the event to the core and run the actions that it returns."""
        us = client.core.identity
        self._identity = us.member_id, us.generation
        self.note(type(event).__name__, client.name)
        super().notify(client, event)

    def _run(self, client: Client, action: ev.Action) -> None:
        match action:
            case ev.RevokePartitions(round_, partitions, why):
                self.note(why.name, client.name, *sorted(partitions))
                assert partitions <= client.held, "it gives up what it never took over"
                client.held -= partitions
                self._give_up(client, round_, partitions, why)
            case ev.TakeOver(_, added, _):
                self.note("TakeOver", client.name, *sorted(added))
                reader = self.reader(client)
                for tp in sorted(added):
                    start = self.ledger.take_over(tp, client.name)
                    reader.positions[tp] = reader.done[tp] = start
                super()._run(client, action)
            case _:
                self.note(type(action).__name__, client.name)
                super()._run(client, action)

    def _give_up(
        self,
        client: Client,
        round_: int,
        partitions: frozenset[TopicPartition],
        why: RevocationKind,
    ) -> None:
        reader = self.reader(client)
        offsets = self._done(client, partitions)
        for tp in partitions:
            reader.positions.pop(tp, None)
            reader.done.pop(tp, None)
        if why is RevocationKind.REVOKED and self._send_commit(client, offsets):
            reader.callback = round_
        else:
            client.todo.append(ev.CallbackDone(round_))

    def _done(self, client: Client, partitions: frozenset[TopicPartition]) -> Offsets:
        done = self.reader(client).done
        return tuple((tp, done[tp]) for tp in sorted(partitions) if tp in done)

    def _send_commit(self, client: Client, offsets: Offsets) -> bool:
        """Send a commit; return False without a coordinator, when it fails at once."""
        if not offsets or not client.core._search.located:
            return False
        self.reader(client).committing.append(offsets)
        request = SendCommit(*self._identity, offsets)
        client.requests.append((client.connection, request))
        return True

    # --- the network ------------------------------------------------------------------------------

    def _carry(self, client: Client, connection: int, request: GroupRequest | SendCommit) -> None:
        code = self._unwilling(client, connection)
        if isinstance(request, SendCommit):
            self._carry_commit(client, connection, request, code)
        elif code is None:
            super()._carry(client, connection, request)
        elif connection == client.connection:
            client.responses += refusal(request, code)

    def _unwilling(self, client: Client, connection: int) -> ErrorCode | None:
        if (client.name, connection) in self._elsewhere:
            return ErrorCode.NOT_COORDINATOR
        if self.now_ms < self.loading_until_ms:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return None

    def _carry_commit(
        self, client: Client, connection: int, request: SendCommit, code: ErrorCode | None
    ) -> None:
        if code is None:
            code = judge(self.coordinator, request, client.settings.instance_id)
        self.note("commit", client.name, code.name, *request.offsets)
        if code == ErrorCode.NONE:
            self.ledger.commit(request.offsets, client.name)
            member = self.coordinator.members.get(request.member_id)
            if member is not None:
                member.expires_ms = self.now_ms + SESSION_MS
        if connection == client.connection:
            response = ev.CommitCompleted(request.member_id, request.generation, code)
            client.responses.append(response)

    def receive(self, client: Client) -> None:
        """Receive the next response."""
        response = client.responses.pop(0)
        if isinstance(response, ev.CommitCompleted):
            offsets = self.reader(client).committing.pop(0)
            if response.code == ErrorCode.NONE:
                self.ledger.acknowledge(offsets)
            self.ledger.refused += response.code != ErrorCode.NONE
            self._maybe_over(client)
        self.notify(client, response)

    def _maybe_over(self, client: Client) -> None:
        """End a callback that waits for commits, once none is in flight."""
        reader = self.reader(client)
        if reader.callback is not None and not reader.committing:
            client.todo.append(ev.CallbackDone(reader.callback))
            reader.callback = None

    def _cut(self, client: Client) -> None:
        # Responses that the joining thread has read may still be on their way to the core.
        received = [
            response
            for response in client.responses
            if isinstance(response, ev.JoinCompleted | ev.SyncCompleted)
        ]
        late = received if self.random.random() < 0.3 else []
        super()._cut(client)
        client.responses += late
        self.reader(client).committing.clear()
        self._maybe_over(client)

    # --- callers ----------------------------------------------------------------------------------

    def poll(self, client: Client) -> None:
        """Finish the records of the last poll, run the listener, commit, and read more."""
        reader = self.reader(client)
        done = reader.done
        for tp, position in reader.positions.items():
            # Partitions without reads since the take-over are at the previous owner's commit.
            if done[tp] != position:
                done[tp] = position
                self.ledger.process(tp, position)
        self.notify(client, ev.Polled())
        if self.in_callback(client):
            return
        if self.now_ms >= reader.next_commit_ms and not reader.committing:
            reader.next_commit_ms = self.now_ms + COMMIT_INTERVAL_MS
            us = client.core.identity
            self._identity = us.member_id, us.generation
            self._send_commit(client, self._done(client, client.core.owned))
        positions = reader.positions
        if not positions:
            return
        for tp in sorted(tp for tp in self.delivers(client) if tp in positions):
            self._deliver_to(client, tp, positions)

    def _deliver_to(
        self, client: Client, tp: TopicPartition, positions: dict[TopicPartition, int]
    ) -> None:
        start = positions[tp]
        end = min(self.ledger.line(tp).end, start + self.random.randrange(MOST_RECORDS))
        if start < end:
            self.note("records", client.name, tp, start, end)
            self.ledger.deliver(tp, client.name, start, end)
            positions[tp] = end

    def in_callback(self, client: Client) -> bool:
        """Whether its listener runs, or the commit that precedes it."""
        return self.reader(client).callback is not None or self._in_callback(client)

    def write(self) -> None:
        """Write some more records."""
        topic = self.random.choice(sorted(self.partitions))
        tp = TopicPartition(topic, self.random.choice(self.partitions[topic]))
        self.ledger.line(tp).end += self.random.randrange(1, 8)

    def close(self, client: Client) -> None:
        """Commit, then leave, without waiting long for the responses."""
        if client.core.state is not MembershipState.UNJOINED:
            for tp, position in self.reader(client).positions.items():
                self.reader(client).done[tp] = position
                self.ledger.process(tp, position)
        self.notify(client, ev.Leave())
        while client.requests:
            self.carry_request(client)
        while client.responses:
            self.receive(client)
        self.kill(client)

    # --- turns ------------------------------------------------------------------------------------

    def turn(self) -> None:
        """Let one thing happen, mostly an ordinary one."""
        roll = self.random.random()
        alive = self.live()
        if roll < self.style.accident_rate or not alive:
            self.happen()
            return
        if roll < 0.15:
            self.write()
        if roll < 0.25:
            self.pass_time(self.style.step_ms)
        client = self.random.choice(alive)
        self.tick(client)
        self.ordinary(client)

    def ordinary(self, client: Client) -> None:
        """Take one of the steps that are possible for this member."""
        can: list[Callable[[], None]] = []
        if client.requests:
            can += [lambda: self.carry_request(client)] * 2
        if client.responses:
            can += [lambda: self.receive(client)] * 2
        if client.todo:
            can += [lambda: self.notify(client, client.todo.pop(0))] * 2
        if not client.stuck and not self.in_callback(client):
            can.append(lambda: self.poll(client))
        if can:
            self.random.choice(can)()

    def happen(self) -> None:
        """Cause an accident that this world allows, or a peaceful change."""
        everybody = [client for client in self.clients if not client.dead]
        if len(everybody) < 2:
            self.start()
            return
        client = self.random.choice(everybody)
        what = self.random.choice(self.style.happens)
        self.note(what, client.name)
        if client.frozen:
            self.thaw(client)
        elif what == "start":
            if len(everybody) < 5:
                self.start()
        elif what == "freeze":
            client.frozen = True
        elif what == "stall":
            client.stuck = not client.stuck
        elif what == "load":
            self.loading_until_ms = self.now_ms + self.random.randrange(300)
        elif what == "move quietly":
            self.move_quietly()
        else:
            self._accident(what, client)

    def _accident(self, what: str, client: Client) -> None:
        match what:
            case "kill":
                self.kill(client)
            case "close":
                # In the middle of a join the last commit may be refused, as with the original.
                if not self.style.exact or self._is_calm(client):
                    self.close(client)
            case "move":
                self.move_coordinator()
            case "grow":
                self.add_partition()
            case "subscribe":
                self.change_topics(client)
            case "cut":
                self.lose_connection(client)
            case _:
                raise AssertionError(what)

    def _is_calm(self, client: Client) -> bool:
        return client.core.state is MembershipState.STABLE and client.core._steps.open is None

    def move_quietly(self) -> None:
        """Move the coordinator while the old one keeps running and answers NOT_COORDINATOR."""
        if self.static and self.coordinator.state != "Stable":
            return
        code = ErrorCode.NOT_COORDINATOR
        for member in self.coordinator.members.values():
            if member.joining is not None:
                response = ev.JoinCompleted(round=member.join.round, code=code)
                self._deliver([(member.joining, response)])
            if member.syncing is not None:
                address, round_ = member.syncing
                self._deliver([(address, ev.SyncCompleted(round_, code))])
        self.coordinator.move(self.now_ms)
        self._elsewhere |= {(client.name, client.connection) for client in self.clients}

    # --- rest -------------------------------------------------------------------------------------

    def round_of_all(self) -> None:
        """Let every member do all that it can, and let time pass."""
        for client in self.live():
            self.tick(client)
            while client.requests:
                self.carry_request(client)
            while client.responses:
                self.receive(client)
            while client.todo:
                self.notify(client, client.todo.pop(0))
            if not client.stuck and not self.in_callback(client):
                self.poll(client)
        self.pass_time(40)

    def settle(self, turns: int = 1500) -> None:
        """Settle without accidents; at first one member may be stuck, and others go on."""
        for client in self.clients:
            if client.frozen and not client.dead:
                self.thaw(client)
            client.stuck = False
        live = self.live()
        if len(live) > 1 and self.random.random() < self.style.stuck_at_rest:
            live[0].stuck = True
            self._come_to_rest(turns)
            live[0].stuck = False
        self._come_to_rest(turns)

    def _come_to_rest(self, turns: int) -> None:
        for count in range(turns):
            if count in (0, 50):
                self.notify_topics_changed()
            self.round_of_all()
            if count > 60 and count % 10 == 0 and self.settled():
                return
        raise Violation(f"never at rest: {self}")

    def settled(self) -> bool:
        """Whether every record is read and committed, and members that do not poll are out."""
        stuck = [client for client in self.live() if client.stuck]
        polling = [client for client in self.live() if not client.stuck]
        states = {(client.core.state, client.core.identity.generation) for client in polling}
        read = frozenset[str]().union(*(client.topics for client in polling))
        wanted = {TopicPartition(topic, p) for topic in read for p in self.partitions[topic]}
        shared = [tp for client in polling for tp in client.core.owned]
        lines = [self.ledger.line(tp) for tp in wanted]
        return (
            states == {(MembershipState.STABLE, self.coordinator.generation)}
            and all(client.core.state is MembershipState.UNJOINED for client in stuck)
            and sorted(shared) == sorted(wanted)
            and all(line.committed == line.end == line.handed for line in lines)
        )
