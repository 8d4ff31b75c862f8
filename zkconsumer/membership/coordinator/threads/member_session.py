"""The shared state of a member's threads: the core, the commits, and each thread's orders.

Any thread reports events to the core, one at a time. The resulting actions go to the thread that
does them: requests to the network threads, calls of the handler to the caller, which is in ``poll``
when they arise.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace

from zkconsumer.backoff import Backoff
from zkconsumer.clock import Clock
from zkconsumer.errors import GroupFailed, ZkConsumerError, without_frames
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.claims import Claims
from zkconsumer.membership.coordinator.core.commit_job import CommitJob
from zkconsumer.membership.coordinator.core.commit_queue import CommitQueue
from zkconsumer.membership.coordinator.core.membership import MembershipCore
from zkconsumer.membership.coordinator.core.read_job import ReadJob
from zkconsumer.membership.coordinator.core.states import MembershipState
from zkconsumer.membership.coordinator.core.terms import GroupTerms, changed
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    CoordinatorAddress,
    CoordinatorConnection,
    CoordinatorLocation,
)
from zkconsumer.membership.coordinator.threads.counts import CoordinatorGroupCounts
from zkconsumer.membership.coordinator.threads.join_steps import JoinSteps
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.coordinator_requests import NOBODY, Signature
from zkconsumer.scope import Mailbox, WakeEvent

log = logging.getLogger(__name__)

GroupOrder = ev.FindCoordinator | ev.SendHeartbeat | ev.SendLeave
HandlerCall = ev.RevokePartitions | ev.TakeOver
Topics = Mapping[str, tuple[int, ...]]


_POLL_NOTICE_MS = 10
"""Minimum interval between poll notifications to the core: a quick loop polls every 100 us."""


class MemberSession:
    """One member of one group, shared by its threads.

    Args:
        terms: the group, and its settings.
        random: returns numbers in [0, 1).
        wake: wakes the caller's thread. Thread: any.
        join_connection, group_connection: the two connections to the coordinator.

    Attributes:
        location: the coordinator's address.
        group_orders: those of the group thread; None wakes it.
        join_steps: those of the join thread.
        responses: wakes the caller that waits for a commit.
        calls: the handler calls that are due. Thread: the caller.
        handling: how many of them run, nested. Thread: the caller.
    """

    def __init__(
        self,
        terms: GroupTerms,
        *,
        clock: Clock,
        random: Callable[[], float],
        wake: Callable[[], None],
        join_connection: CoordinatorConnection,
        group_connection: CoordinatorConnection,
    ) -> None:
        settings = terms.settings
        self.terms = terms
        self.clock = clock
        self.group_connection = group_connection
        backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, jitter=0.0)
        self.location = CoordinatorLocation(backoff, clock, join_connection, group_connection)
        self.group_orders: Mailbox[GroupOrder | None] = Mailbox()
        self.responses = WakeEvent()
        self.calls: deque[HandlerCall] = deque()
        self.handling = 0
        self.counts = CoordinatorGroupCounts()
        # Reentrant: a signal handler may close the consumer in the middle of another call.
        self.lock = threading.RLock()
        self.join_steps = JoinSteps(join_connection, self.lock)
        self.claims = Claims()
        self.commits = CommitQueue(backoff)
        self.reads: list[ReadJob] = []
        self.ended: deque[CommitJob] = deque()
        self.subscribed = False
        self.left = True
        self._core = MembershipCore(settings, random)
        self._wake = wake
        self._leaving_identity: Signature | None = None
        self._leave: ev.SendLeave | None = None
        self._leaving = False
        self._events = True
        self._polled_ms = 0
        self._interrupted = False
        self._subscription: ev.Subscribed | None = None
        self._taken_over: frozenset[TopicPartition] = frozenset()
        self._awaited_round = 0
        self._failure: ZkConsumerError | None = None
        self._cause: Exception | None = None
        self._group_waits_until_ms: int | None = None
        self._known_topics: dict[str, tuple[int, ...]] = {}

    # --- state --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The member's name in log messages."""
        return f"group {self.terms.group_id}"

    @property
    def state(self) -> MembershipState:
        """The state of the member."""
        return self._core.state

    def signature(self) -> Signature:
        """Return the identity under which this member commits at present."""
        with self.lock:
            if self._leaving_identity is not None:
                return self._leaving_identity
            if not self.subscribed:
                return NOBODY
            identity = self._core.identity
            return Signature(
                identity.member_id, identity.generation, self.terms.settings.instance_id
            )

    def deliverable(self) -> frozenset[TopicPartition]:
        """Return the partitions that are certainly ours now."""
        with self.lock:
            until_ms = self._core.trusted_until_ms
            if self._interrupted or until_ms is None or self.clock.now_ms() >= until_ms:
                return frozenset()
            return self._core.owned

    def deadline_ms(self) -> int | None:
        """Return the core's next deadline; the group thread waits until then."""
        with self.lock:
            self._group_waits_until_ms = (
                None if self._interrupted else self._core.next_deadline_ms()
            )
            return self._group_waits_until_ms

    def take_failure(self) -> ZkConsumerError | None:
        """Return the error that ``poll`` has to raise; a final one stays."""
        if self._failure is None:
            return None
        with self.lock:
            failure = self._failure
            if not (isinstance(failure, GroupFailed) and failure.final):
                self._failure = None
            return failure

    # --- events -------------------------------------------------------------------------

    def notify(self, event: ev.Event, *, cause: Exception | None = None) -> None:
        """Report an event to the core, from a network thread.

        Args:
            event: the event.
            cause: the cause of a refusal, for the message.
        """
        with self.lock:
            self._cause = cause
            if not self._interrupted:  # else the next poll starts again
                self._receive(event)
            self._cause = None
            self._events = True
        if not isinstance(event, ev.TimerExpired):
            self._wake()

    def receive(self, event: ev.Event) -> None:
        """Report the caller's event to the core, in its thread."""
        with self.lock:
            self._begin()
            if isinstance(event, ev.Subscribed):
                self.subscribed = True
                self._leaving_identity = None
                self._subscription = event
            self._receive(event)
            self._events = True
            self._interrupted = False

    def on_poll(self) -> None:
        """Report a poll to the core, unless one was reported just now and nothing has happened."""
        now_ms = self.clock.now_ms()
        if not self._events and now_ms - self._polled_ms < _POLL_NOTICE_MS:
            return
        with self.lock:
            if self._awaited_round and not (self.calls or self.handling):
                # Interrupted between a handler call and the report that it is done.
                self._interrupted = True
            self._begin()
            self._receive(ev.Polled())
            self._events = False
            self._polled_ms = now_ms
            self._interrupted = False

    def take_over(self, call: ev.TakeOver) -> None:
        """Allow commits of the partitions taken over."""
        with self.lock:
            self._taken_over = call.owned
            self.claims.take(call.added)

    def on_call_done(self, call: HandlerCall) -> None:
        """Report that a handler call is done."""
        with self.lock:
            self._begin()
            if isinstance(call, ev.RevokePartitions):
                self.claims.drop(call.partitions)
                self._taken_over -= call.partitions
            if call.round:
                if call.round == self._awaited_round:
                    self._awaited_round = 0
                self._receive(ev.CallbackDone(call.round))
            self._interrupted = False

    def leave(self) -> None:
        """Begin to leave: make the handler's last call due; call ``leave_group`` after it."""
        with self.lock:
            was_interrupted, self._interrupted = self._interrupted, True
            self._leaving_identity = self.signature()
            self.calls.clear()
            self._subscription, self._awaited_round = None, 0
            self._leaving = True
            self._receive(ev.Leave())
            self._leaving = False
            if was_interrupted:
                self._lose_all()
            self._interrupted = False

    def leave_group(self) -> bool:
        """Queue a LeaveGroup request; return True if the coordinator must be notified."""
        with self.lock:
            self.subscribed = False
            self._leaving_identity = None
            self._failure = None
            self._known_topics = {}
            self.claims.void()
            leave, self._leave = self._leave, None
            self.left = leave is None
            if leave is not None:
                self.group_orders.put(leave)
            return leave is not None

    def on_left(self) -> None:
        """Record that LeaveGroup was sent, or could not be."""
        self.left = True
        self.responses.notify()

    def fail(self, error: ZkConsumerError) -> None:
        """Have the caller's poll raise this error."""
        with self.lock:
            if self._failure is None:
                self._failure = without_frames(error)
        self._wake()

    def on_connection_lost(self, address: CoordinatorAddress, reason: str) -> None:
        """Record that a connection to this address broke."""
        if self.location.lose(address):
            log.info("%s: lost the coordinator, %s: %s", self.name, address.broker, reason)
            self.notify(ev.CoordinatorLost())

    def set_timeouts(self, *, session_timeout_ms: int, rebalance_timeout_ms: int) -> None:
        """Set the timeouts that were agreed with the coordinator."""
        with self.lock:
            self._core.set_timeouts(
                replace(
                    self.terms.settings,
                    session_timeout_ms=session_timeout_ms,
                    rebalance_timeout_ms=rebalance_timeout_ms,
                )
            )

    # --- commits ------------------------------------------------------------------------

    def settle(self) -> None:
        """Remove the commits that are done from the queue, and wake their callers."""
        with self.lock:
            ended = self.commits.ended(self.clock.now_ms())
            self.ended.extend(ended)
        if ended:
            self.responses.notify()
            self._wake()

    @property
    def commits_wait(self) -> bool:
        """Whether commits are pending."""
        with self.lock:
            return self.commits.busy

    # --- topics of the group --------------------------------------------------------------

    def on_leading(self, topics: frozenset[str], partitions: Topics) -> None:
        """Record the topics that we assign, and their present partitions."""
        with self.lock:
            self._known_topics = {topic: partitions.get(topic, ()) for topic in topics}

    def on_topics_changed(self, partitions: Topics) -> None:
        """Compare the group's topics with the cluster's; rejoin if they changed. Thread: any."""
        with self.lock:
            known = self._known_topics
            now = {topic: partitions[topic] for topic in known if topic in partitions}
            if not changed(known, now):
                return
            known.update(now)
        self.notify(ev.RejoinTriggered(ev.JoinReason.TOPICS))

    # --- helpers --------------------------------------------------------------------------

    def _begin(self) -> None:
        """Set ``_interrupted`` until the caller's report to the core is complete.

        A signal handler's exception may leave it half done: steps without a thread to do them,
        events without a listener. Nothing tells which, so such a member leaves, and joins again.
        """
        if self._interrupted:
            log.warning("%s: a call was interrupted by an exception: it joins again", self.name)
            self._awaited_round = 0
            self._leaving = False
            self._receive(ev.Leave())
            self._lose_all()
            if self._subscription is not None:
                self._receive(self._subscription)
        self._interrupted = True

    def _lose_all(self) -> None:
        """Void the claims, and report as lost all that the handler was given."""
        self.claims.void()
        self.calls.clear()
        if self._taken_over:
            self.calls.append(ev.RevokePartitions(0, self._taken_over, RevocationKind.LOST))

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
                self.join_steps.put(action, self.location.address)
            case ev.ForgetCoordinator(reason):
                log.info("%s: looks for the coordinator again: %s", self.name, reason)
                self.location.forget()
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
