"""What the threads of one member share: the core, the commits, and who has to do what.

Any thread tells the core what happened, one at a time. What follows goes to the thread whose work
it is: requests to the threads of the network, calls of the handler to the caller, who is in
``poll`` when they arise.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace

from zkconsumer.backoff import Backoff
from zkconsumer.clock import Clock
from zkconsumer.consumer.coordination.claims import Claims
from zkconsumer.consumer.coordination.commit_job import CommitJob
from zkconsumer.consumer.coordination.commit_queue import CommitQueue
from zkconsumer.consumer.coordination.coordinator_connection import (
    CoordinatorAddress,
    CoordinatorConnection,
    CoordinatorLocation,
)
from zkconsumer.consumer.coordination.counts import CoordinatorGroupCounts
from zkconsumer.consumer.coordination.read_job import ReadJob
from zkconsumer.consumer.coordination.terms import GroupTerms, changed
from zkconsumer.errors import GroupFailed, ZkConsumerError, without_frames
from zkconsumer.group import events as ev
from zkconsumer.group.membership import MembershipCore
from zkconsumer.group.states import MembershipState
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.coordinator_requests import NOBODY, Signature
from zkconsumer.scope import Mailbox

log = logging.getLogger(__name__)

GroupOrder = ev.FindCoordinator | ev.SendHeartbeat | ev.SendLeave
JoinOrder = ev.SendJoin | ev.Assign | ev.SendSync
HandlerCall = ev.RevokePartitions | ev.TakeOver
Topics = Mapping[str, tuple[int, ...]]


_ALIVE_MS = 10
"""So often at most the core hears that the caller polls: a quick loop polls every 100 us."""


class MemberSession:
    """One member of one group.

    Args:
        terms: which group, and how.
        clock: the time.
        random: numbers in [0, 1).
        wake: rings the caller's bell. Thread: any.
        join_line, group_line: the two connections to the coordinator.

    Attributes:
        where: where the coordinator is.
        group_orders, join_orders: what the two threads have to do; None wakes them.
        responses: wakes the caller that waits for a commit.
        calls: the handler's due calls. Thread: the caller.
        handling: how many of them run, one inside of the other. Thread: the caller.
    """

    def __init__(
        self,
        terms: GroupTerms,
        *,
        clock: Clock,
        random: Callable[[], float],
        wake: Callable[[], None],
        join_line: CoordinatorConnection,
        group_line: CoordinatorConnection,
    ) -> None:
        settings = terms.settings
        self.terms = terms
        self.clock = clock
        self.join_line, self.group_line = join_line, group_line
        backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, jitter=0.0)
        self.where = CoordinatorLocation(backoff, clock, join_line, group_line)
        self.group_orders: Mailbox[GroupOrder | None] = Mailbox()
        self.join_orders: Mailbox[tuple[JoinOrder, CoordinatorAddress | None] | None] = Mailbox()
        self.responses: Mailbox[None] = Mailbox()
        self.calls: deque[HandlerCall] = deque()
        self.handling = 0
        self.counts = CoordinatorGroupCounts()
        # Reentrant: a signal handler may close the consumer in the middle of another call.
        self.lock = threading.RLock()
        self.claims = Claims()
        self.commits = CommitQueue(backoff)
        self.reads: list[ReadJob] = []
        self.ended: deque[CommitJob] = deque()
        self.subscribed = False
        self.left = True
        self._core = MembershipCore(settings, random)
        self._wake = wake
        self._parting: Signature | None = None
        self._leave: ev.SendLeave | None = None
        self._leaving = False
        self._events = True
        self._polled_ms = 0
        self._interrupted = False
        self._request_of: ev.Subscribed | None = None
        self._handed: frozenset[TopicPartition] = frozenset()
        self._awaited_round = 0
        self._failure: ZkConsumerError | None = None
        self._cause: Exception | None = None
        self._group_waits_until_ms: int | None = None
        self._latest_round = 0
        self._joining = False
        self._known_topics: dict[str, tuple[int, ...]] = {}
        self._group_topics: frozenset[str] = frozenset()

    # --- what stands --------------------------------------------------------------------

    @property
    def name(self) -> str:
        """For messages."""
        return f"group {self.terms.group_id}"

    @property
    def state(self) -> MembershipState:
        """Where the member stands."""
        return self._core.state

    def signature(self) -> Signature:
        """Under which name this member commits at the moment."""
        with self.lock:
            if self._parting is not None:
                return self._parting
            if not self.subscribed:
                return NOBODY
            who = self._core.identity
            return Signature(who.member_id, who.generation, self.terms.settings.instance_id)

    def deliverable(self) -> frozenset[TopicPartition]:
        """What is surely ours at this moment."""
        with self.lock:
            until_ms = self._core.trusted_until_ms
            if self._interrupted or until_ms is None or self.clock.now_ms() >= until_ms:
                return frozenset()
            return self._core.owned

    def deadline_ms(self) -> int | None:
        """When the core wants to look at the time; the group thread waits until then."""
        with self.lock:
            self._group_waits_until_ms = (
                None if self._interrupted else self._core.next_deadline_ms()
            )
            return self._group_waits_until_ms

    def take_failure(self) -> ZkConsumerError | None:
        """What ``poll`` has to raise; a final one stays."""
        if self._failure is None:
            return None
        with self.lock:
            failure = self._failure
            if not (isinstance(failure, GroupFailed) and failure.final):
                self._failure = None
            return failure

    # --- what happens -------------------------------------------------------------------

    def notify(self, event: ev.Event, *, cause: Exception | None = None) -> None:
        """Something happened; in a thread of the network.

        Args:
            event: what.
            cause: what lies behind a refusal, for the message.
        """
        with self.lock:
            self._cause = cause
            if not self._interrupted:  # else the next poll begins anew
                self._receive(event)
            self._cause = None
            self._events = True
        if not isinstance(event, ev.TimerExpired):
            self._wake()

    def receive(self, event: ev.Event) -> None:
        """The caller wishes something, or has done it; in its thread."""
        with self.lock:
            self._begin()
            if isinstance(event, ev.Subscribed):
                self.subscribed = True
                self._parting = None
                self._request_of = event
            self._receive(event)
            self._events = True
            self._interrupted = False

    def polled(self) -> None:
        """The caller polls. The core need not hear it each time, unless something has happened."""
        now_ms = self.clock.now_ms()
        if not self._events and now_ms - self._polled_ms < _ALIVE_MS:
            return
        with self.lock:
            if self._awaited_round and not (self.calls or self.handling):
                self._interrupted = (
                    True  # between a call of the handler and the word that it is done
                )
            self._begin()
            self._receive(ev.Polled())
            self._events = False
            self._polled_ms = now_ms
            self._interrupted = False

    def take_over(self, call: ev.TakeOver) -> None:
        """These may be committed from now on."""
        with self.lock:
            self._handed = call.owned
            self.claims.take(call.added)

    def called(self, call: HandlerCall) -> None:
        """The handler has done it."""
        with self.lock:
            self._begin()
            if isinstance(call, ev.RevokePartitions):
                self.claims.drop(call.partitions)
                self._handed -= call.partitions
            if call.round:
                if call.round == self._awaited_round:
                    self._awaited_round = 0
                self._receive(ev.CallbackDone(call.round))
            self._interrupted = False

    def leave(self) -> None:
        """Start to leave: the handler's last call is due, and ``leave_group`` after it."""
        with self.lock:
            torn, self._interrupted = self._interrupted, True
            self._parting = self.signature()
            self.calls.clear()
            self._request_of, self._awaited_round = None, 0
            self._leaving = True
            self._receive(ev.Leave())
            self._leaving = False
            if torn:
                self._lose_all()
            self._interrupted = False

    def leave_group(self) -> bool:
        """All is given up: tell the coordinator; whether there is somebody to tell."""
        with self.lock:
            self.subscribed = False
            self._parting = None
            self._failure = None
            self._group_topics = frozenset()
            self._known_topics = {}
            self.claims.void()
            leave, self._leave = self._leave, None
            self.left = leave is None
            if leave is not None:
                self.group_orders.put(leave)
            return leave is not None

    def has_left(self) -> None:
        """The coordinator knows, or can't be told."""
        self.left = True
        self.responses.put(None)

    def fail(self, error: ZkConsumerError) -> None:
        """The caller's poll raises this."""
        with self.lock:
            if self._failure is None:
                self._failure = without_frames(error)
        self._wake()

    def lost(self, address: CoordinatorAddress, reason: str) -> None:
        """A connection to that place broke."""
        if self.where.lose(address):
            log.info("%s: lost the coordinator, %s: %s", self.name, address.broker, reason)
            self.notify(ev.CoordinatorLost())

    def agreed(self, *, session_timeout_ms: int, rebalance_timeout_ms: int) -> None:
        """These times are told to the coordinator."""
        with self.lock:
            self._core.agreed(
                replace(
                    self.terms.settings,
                    session_timeout_ms=session_timeout_ms,
                    rebalance_timeout_ms=rebalance_timeout_ms,
                )
            )

    # --- commits ------------------------------------------------------------------------

    def settle(self) -> None:
        """Take the commits that are done out of the line, and say so."""
        with self.lock:
            ended = self.commits.ended(self.clock.now_ms())
            self.ended.extend(ended)
        if ended:
            self.responses.put(None)
            self._wake()

    @property
    def commits_wait(self) -> bool:
        """Whether there are commits whose end is open."""
        with self.lock:
            return self.commits.busy

    # --- topics of the group --------------------------------------------------------------

    def leads(self, topics: frozenset[str], partitions: Topics) -> None:
        """We assign these topics, as they are now."""
        with self.lock:
            self._group_topics = topics
            self._known_topics = {topic: partitions.get(topic, ()) for topic in topics}

    def topics_changed(self, partitions: Topics) -> None:
        """The cluster's topics are these now. Thread: any."""
        with self.lock:
            known = self._known_topics
            now = {topic: partitions[topic] for topic in known if topic in partitions}
            if not changed(known, now):
                return
            known.update(now)
        self.notify(ev.RejoinTriggered(ev.JoinReason.TOPICS))

    # --- the work of the join thread ------------------------------------------------------

    def begin_join(self, order: JoinOrder) -> bool:
        """Whether that order is still wanted; then the line may be cut if another one comes."""
        with self.lock:
            self._joining = order.round == self._latest_round
            return self._joining

    def wants(self, order: JoinOrder) -> bool:
        """Return whether no other order came since."""
        with self.lock:
            return order.round == self._latest_round

    def end_join(self, order: JoinOrder) -> bool:
        """Return whether it is still wanted, after the network."""
        with self.lock:
            self._joining = False
            return order.round == self._latest_round

    # --- inside ---------------------------------------------------------------------------

    def _begin(self) -> None:
        """The caller's thread tells the core something: ``_interrupted`` until that is through.

        A signal handler's exception may leave it half done: steps that nobody takes, news that
        nobody hears. Nothing tells which, so such a member leaves, and joins anew.
        """
        if self._interrupted:
            log.warning("%s: a call was broken off by an exception: joins anew", self.name)
            self._awaited_round = 0
            self._leaving = False
            self._receive(ev.Leave())
            self._lose_all()
            if self._request_of is not None:
                self._receive(self._request_of)
        self._interrupted = True

    def _lose_all(self) -> None:
        """Whatever the handler has been given, and was to hear of it."""
        self.claims.void()
        self.calls.clear()
        if self._handed:
            self.calls.append(ev.RevokePartitions(0, self._handed, ev.Why.LOST))

    def _receive(self, event: ev.Event) -> None:
        before = self._core.identity.generation
        for action in self._core.receive(event, self.clock.now_ms()):
            self._dispatch(action)
        if self._core.identity.generation > before:
            self.counts.joined += 1
        deadline_ms, waits_ms = self._core.next_deadline_ms(), self._group_waits_until_ms
        if deadline_ms is not None and (waits_ms is None or deadline_ms < waits_ms):
            self._group_waits_until_ms = deadline_ms
            self.group_orders.put(None)

    def _dispatch(self, action: ev.Action) -> None:
        match action:
            case ev.RevokePartitions() | ev.TakeOver():
                self._awaited_round = action.round
                self.calls.append(action)
            case ev.SendLeave() if self._leaving:
                self._leave = action
            case ev.FindCoordinator() | ev.SendHeartbeat() | ev.SendLeave():
                self.group_orders.put(action)
            case ev.SendJoin() | ev.Assign() | ev.SendSync():
                self._latest_round = action.round
                if self._joining:
                    self.join_line.cut()
                self.join_orders.put((action, self.where.address))
            case ev.ForgetCoordinator(reason):
                log.info("%s: looks for the coordinator again: %s", self.name, reason)
                self.where.forget()
            case ev.FenceMember(reason):
                self.claims.void()
                self.counts.lost += 1
                log.warning("%s: its partitions are lost: %s", self.name, reason)
            case ev.Notice(text):
                self.counts.notices += 1
                log.warning("%s: %s", self.name, text)
            case ev.Raise(code, text, final):
                self._raise(code, text, final=final)

    def _raise(self, code: int | None, text: str, *, final: bool) -> None:
        cause = self._cause if self._cause is None else without_frames(self._cause)
        failure = GroupFailed(
            self.terms.group_id, str(cause) if cause else text, code=code, final=final
        )
        failure.__cause__ = cause
        self._failure = failure
