"""One member: a connector's real parts, assembled for the simulation."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from tests.fakes.memory_zk import MemoryZkServer
from tests.simulation.callers import Caller
from tests.simulation.kernel import SimClock, SimMailbox, Task
from tests.simulation.ledger import Ledger, Reading
from tests.simulation.logs import SimFetching
from tests.simulation.plans import MemberPlan
from tests.simulation.product import Product
from tests.simulation.store import SimStore
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.errors import ConsumerClosed, OffsetCommitFailed, RebalanceFailed
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.zookeeper.assembly import build_member
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings, RebalanceState
from zkconsumer.membership.zookeeper.threads.environment import MemberSettings, MemberWorld
from zkconsumer.membership.zookeeper.threads.messages import (
    CloseRequest,
    CommitAheadRequest,
    CommitRequest,
    JoinRequest,
    WithdrawRequest,
)
from zkconsumer.membership.zookeeper.threads.subscription import (
    FilterSubscription,
    StaticSubscription,
)
from zkconsumer.model import TopicPartition
from zkconsumer.observe import MemberName, Observation
from zkconsumer.offsets.topic_checked import TopicChecked
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.zk.session import ResponseListener, SessionEvent, SessionState
from zkconsumer.zk.topic_nodes import topic_czxids

GROUP = "g"
PING_MS = 500
"""A twelfth of the session time-out."""
Note = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The objects that members share."""

    server: MemoryZkServer
    clock: SimClock
    rng: Random
    ledger: Ledger
    note: Note
    product: Product


class SimMember:
    """A connector without its threads: each is run by the scheduler.

    Attributes:
        control_task: its control thread.
        callers: the threads that iterate its streams, once it has joined.
        frozen_until_ms: when the whole process resumes.
        stalled_until_ms: when its control thread resumes.
        heard_lost: the sessions whose end it was told of.
        connected_ms: when the server answered its last request to connect.
        confirmed_ms: when it sent the last request that it knows to be answered.
    """

    def __init__(self, plan: MemberPlan, around: Surroundings, serial: int) -> None:
        self.plan = plan
        self.name = f"{plan.consumer_id}#{serial}"
        self.auto_commit = plan.auto_commit
        self.delivery = plan.delivery
        self._around = around
        self.dead = False
        self.left = False
        self.closing = False
        self.readings: dict[TopicPartition, Reading] = {}
        self.heard_lost: set[int] = set()
        self.silent_since_ms: int | None = None
        self.callers: list[Caller] = []
        self.frozen_until_ms = 0
        self.stalled_until_ms = 0
        self.connected_ms = self.confirmed_ms = around.clock.now_ms()
        self._response_listeners: list[ResponseListener] = []
        self._joining: tuple[JoinRequest, list[StreamQueue], int] | None = None
        self._commit: tuple[CommitRequest, list[tuple[Reading, int]]] | None = None
        self.store = SimStore(around.server, around.rng)
        self.mailbox: SimMailbox[Any] = SimMailbox()
        self.registry = around.product.registry(self.store, GROUP)
        self.fetching = SimFetching(around.rng, self._start, self._stopped)
        self._budget = ByteBudget(plan.queue_bytes)
        self._assemble()
        self.control_task = Task(around.clock, self._run)
        self.store.task = self.mailbox.task = self.control_task
        self.store.on_error = self._request_failed

    def _assemble(self) -> None:
        plan, around = self.plan, self._around
        observation = Observation(MemberName(GROUP, plan.consumer_id))
        member = build_member(
            self._settings(),
            MemberWorld(
                store=self.store,
                registry=self.registry,
                offset_store=TopicChecked(
                    around.product.offsets(self.store, GROUP, guard=self.registry),
                    partial(topic_czxids, self.store),
                ),
                fetching=self.fetching,
                clock=around.clock,
                random=around.rng.random,
                observation=observation,
                mailbox=self.mailbox,
            ),
        )
        self.core, self.claims, self.control = member.core, member.claims, member.control
        self.silence_ms = self.store.negotiated_timeout_ms * plan.silence_percent // 100
        self._gate = DeliveryGate(around.clock, self.silence_ms, observation)
        self.store.hears = self._hears
        self.store.on_listening = self._listening
        around.product.listen(
            self.store,
            self.mailbox.put,
            claims=self.claims,
            gate=self._gate,
            interrupt=lambda: None,
            observation=observation,
        )

    def _settings(self) -> MemberSettings:
        plan = self.plan
        return MemberSettings(
            group_id=GROUP,
            rebalance=RebalanceSettings(
                consumer_id=plan.consumer_id,
                strategy=plan.strategy,
                max_retries=plan.max_retries,
                backoff_ms=plan.backoff_ms,
                session_timeout_ms=self.store.negotiated_timeout_ms,
                audit_interval_ms=plan.audit_interval_ms,
            ),
            auto_commit=plan.auto_commit,
            auto_commit_interval_ms=plan.commit_interval_ms,
            delivery=plan.delivery,
            leave_timeout_ms=plan.leave_timeout_ms,
        )

    def _run(self) -> None:
        self.control.run()
        # As ``ConnectorComponents.close`` does when the control thread has left.
        self.control_task.stop_here()
        self.store.close()

    # --- events from the product ------------------------------------------------------------------

    def _start(self, claim: PartitionClaim, offset: int | None) -> None:
        self._around.ledger.started(self, claim, offset)
        self._around.note("start", self.name, str(claim.topic_partition), offset)

    def _stopped(self) -> None:
        self._around.ledger.stopped(self)

    def _hears(self, event: SessionEvent) -> None:
        """Receive a session event just before the product does."""
        match event.state:
            case SessionState.CONNECTED:
                self.silent_since_ms = None
                # The event may be late, so the time of the connection counts.
                self._on_response(self.connected_ms)
            case SessionState.LOST:
                self.heard_lost.add(event.session_id)
            case SessionState.SUSPENDED:
                if self.silent_since_ms is None:
                    self.silent_since_ms = self._around.clock.now_ms()
            case SessionState.DEAD:
                raise AssertionError("the in-memory client never dies")

    def _listening(self, listener: ResponseListener) -> None:
        self._response_listeners.append(listener)
        listener(self.confirmed_ms, PING_MS)

    def on_response(self) -> None:
        """Receive the response to a ping sent just now, in the session that it knows of."""
        self._on_response(self._around.clock.now_ms())

    def _on_response(self, sent_ms: int) -> None:
        self.confirmed_ms = max(self.confirmed_ms, sent_ms)
        for notify in self._response_listeners:
            notify(sent_ms, PING_MS)

    @property
    def is_ping_due(self) -> bool:
        """Whether a ping is due."""
        return self._around.clock.now_ms() - self.confirmed_ms >= PING_MS

    @property
    def is_suspicious(self) -> bool:
        """See ``Owner``."""
        return self._gate.suspect_since_ms is not None or self._gate.is_shut()

    @property
    def is_silenced(self) -> bool:
        """See ``Reader``."""
        since_ms, now_ms = self.silent_since_ms, self._around.clock.now_ms()
        if now_ms - self.confirmed_ms >= max(self.silence_ms, 2 * PING_MS):
            return True
        return since_ms is not None and now_ms - since_ms >= self.silence_ms

    def _request_failed(self, reason: str) -> None:
        self._around.note("failed", self.name, reason)
        for reading in self.readings.values():
            if not reading.claim.active:
                reading.excused = True

    def claims_session(self) -> int:
        """See ``Reader``."""
        return self.registry.session_id

    @property
    def commit_open(self) -> bool:
        """See ``Reader``."""
        return self._commit is not None

    # --- its callers ------------------------------------------------------------------------------

    def join(self) -> None:
        """Create the streams, as a caller does."""
        topics, new_queue = self.plan.topics, self._new_queue
        if isinstance(topics, str):
            made = [new_queue(), new_queue()]
            request = JoinRequest(FilterSubscription(Whitelist(topics), tuple(made)))
        else:
            queues = {
                topic: tuple(new_queue() for _ in range(count)) for topic, count in topics.items()
            }
            made = [queue for of_topic in queues.values() for queue in of_topic]
            request = JoinRequest(StaticSubscription(queues))
        limit_ms = self.plan.max_retries * (self.plan.backoff_ms + 12_000) + 6_000
        give_up_ms = self._around.clock.now_ms() + limit_ms
        self._joining = (request, made, give_up_ms)
        self.mailbox.put(request)

    def _new_queue(self) -> StreamQueue:
        return self._around.product.queue(self.plan.max_chunks, self._budget)

    def _new_caller(self, queue: StreamQueue) -> Caller:
        around = self._around
        caller = Caller(self, queue, around.clock, around.ledger, around.note)
        caller.batch_records = around.product.batch_records
        caller.stream = around.product.stream(
            queue,
            clock=around.clock,
            timeout_ms=0,
            gate=self._gate,
            delivery=self.plan.delivery,
            commit_ahead=lambda claim, offset: self._commit_ahead(caller, claim, offset),
        )
        return caller

    def _commit_ahead(self, caller: Caller, claim: PartitionClaim, offset: int) -> bool:
        """Commit ahead as ``ZookeeperConsumerConnector`` does, but let other tasks run."""
        if self.control.done:
            return False
        request = CommitAheadRequest(claim, offset)
        self.mailbox.put(request)
        done: bool | None = caller.wait_for(request.reply)
        return bool(done)

    def hear_replies(self) -> bool:
        """Resume a caller whose reply has arrived; return whether there was one."""
        return self._hear_joined() or self._hear_committed()

    def _hear_joined(self) -> bool:
        if self._joining is None:
            return False
        request, queues, give_up_ms = self._joining
        try:
            _, joined = request.reply.wait(0)
        except (RebalanceFailed, ConsumerClosed) as error:
            self._around.note("join refused", self.name, str(error))
            self._joining = None
            self.mailbox.put(WithdrawRequest(request))
            return True
        if joined:
            self._joining = None
            self.callers = [self._new_caller(queue) for queue in queues]
            self._around.note("joined", self.name)
        elif self._around.clock.now_ms() >= give_up_ms:
            self._joining = None
            self.mailbox.put(WithdrawRequest(request))
        return joined

    @property
    def outside(self) -> bool:
        """Whether its caller has no streams and waits for none."""
        return not self.callers and self._joining is None and not self.closing

    def commit(self) -> None:
        """Commit the delivered offsets, as a caller does."""
        if self._commit is None and self.callers and not self.closing:
            handed = [
                (reading, reading.handed_to)
                for reading in self.readings.values()
                if reading.claim.active
            ]
            self._around.note("commit", self.name)
            self._commit = (CommitRequest(), handed)
            self.mailbox.put(self._commit[0])

    def _hear_committed(self) -> bool:
        if self._commit is None:
            return False
        request, handed = self._commit
        try:
            count, is_done = request.reply.wait(0)
        except (OffsetCommitFailed, ConsumerClosed) as error:
            self._around.note("commit refused", self.name, str(error))
            self._commit = None
            return True
        if is_done:
            self._around.note("committed", self.name, count)
            self._commit = None
            self._around.ledger.commit_kept(handed)
        return is_done

    def close(self) -> None:
        """Shut the connector down, as a caller does."""
        if not self.closing:
            self.closing = True
            self.mailbox.put(CloseRequest())

    def crash(self) -> None:
        """Kill the process; the server does not know it yet."""
        self.dead = self.store.dead = True
        self.control_task.kill()
        for caller in self.callers:
            caller.task.kill()

    @property
    def at_rest(self) -> bool:
        """Whether it owns what it should and has nothing to do."""
        return (
            self.core.state is RebalanceState.OWNING
            and not self.mailbox
            and not self.control._backlog
        )
