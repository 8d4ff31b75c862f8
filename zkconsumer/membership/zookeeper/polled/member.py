"""A member of a ZooKeeper group, as the poll API sees it.

The control thread works as it does for a connector; a ``Bridge`` turns its actions into notices,
which the caller's thread processes in ``poll``. Deliverable partitions are read from the claims,
which end when the control thread gives them up, or the session ends.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import ConsumerClosed, GroupFailed, ZkConsumerError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.protocol import CommitDone, Offsets, OwnershipHandler, Partitions
from zkconsumer.membership.zookeeper.assembly import MemberRuntime
from zkconsumer.membership.zookeeper.configured import MemberContext
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.polled.bridge import Bridge
from zkconsumer.membership.zookeeper.polled.commits import ManualCommits
from zkconsumer.membership.zookeeper.polled.counts import ZookeeperGroupCounts
from zkconsumer.membership.zookeeper.polled.failure_queue import FailureQueue
from zkconsumer.membership.zookeeper.polled.handler_calls import HandlerCalls
from zkconsumer.membership.zookeeper.threads.messages import (
    CloseRequest,
    ControlTask,
    JoinRequest,
    Message,
    WithdrawRequest,
)
from zkconsumer.membership.zookeeper.threads.poll_watch import PollWatch
from zkconsumer.membership.zookeeper.threads.reply import ObservedReply
from zkconsumer.membership.zookeeper.threads.subscription import StaticSubscription
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.scope import Mailbox, ThreadScope, WakeEvent
from zkconsumer.zk.store import CLOSE_TIMEOUT_MS

log = logging.getLogger(__name__)

_MAX_SLEEP_MS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerSide:
    """The objects through which a member and the caller that polls communicate.

    Attributes:
        bridge: the control thread's end.
        watch: makes the member leave when the caller stops polling.
        counts: the counts of events, for metrics.
        signal: wakes the caller's thread, and ``wakeup``.
        wakeup: wakes a waiting call of the member.
    """

    bridge: Bridge
    watch: PollWatch
    counts: ZookeeperGroupCounts
    signal: Callable[[], None]
    wakeup: WakeEvent


class ZookeeperMember:
    """``Membership`` in a ZooKeeper group; without a subscription, access to its offsets only.

    Args:
        context: its session, and the objects that belong to it.
        member: the wired member; its control thread is started here.
        caller: the objects that it shares with the caller.
        handler: called in the caller's thread when partitions come and go.
    """

    def __init__(
        self,
        context: MemberContext,
        member: MemberRuntime,
        caller: CallerSide,
        handler: OwnershipHandler,
    ) -> None:
        self._context = context
        self._core = member.core
        self._control = member.control
        self._caller = caller
        self._group_id, self._consumer_id = context.name
        self._scope = ThreadScope(self._consumer_id)
        self._calls = HandlerCalls(handler, caller.bridge.notices, self._nudge)
        self._failures: Mailbox[ZkConsumerError] = Mailbox()
        self._queue = FailureQueue(self._fail)
        self._broken: GroupFailed | None = None
        self._wanted: frozenset[str] | None = None
        self._requested: frozenset[str] | None = None
        self._join: JoinRequest | None = None
        self._join_reply: ObservedReply[None] = ObservedReply(caller.signal)
        self._left: ObservedReply[None] | None = None
        self._as_member = False
        self._closed = False
        self._commits = ManualCommits(
            self._group_id,
            send=self._send,
            offsets=context.offsets,
            signal=caller.signal,
            clock=context.clock,
            is_connected=lambda: context.store.connected,
        )
        control = self._control
        self._scope.spawn("control", control.run, stop=control.stop, on_error=self._die)

    # --- state ----------------------------------------------------------------------------

    @property
    def member_id(self) -> str:
        """See ``Membership``."""
        return self._consumer_id if self._join is not None else ""

    @property
    def generation(self) -> int:
        """See ``Membership``: the number of finished rebalances (ZooKeeper has no generations)."""
        return self._calls.rounds if self._join is not None else -1

    @property
    def state(self) -> str:
        """See ``Membership``: the state of the rebalance (docs/architecture.md)."""
        return self._core.state.name.lower()

    def numbers(self) -> Mapping[str, float]:
        """See ``Membership``."""
        return self._caller.counts.numbers()

    def deliverable(self) -> Partitions:
        """See ``Membership``.

        Raises:
            ConsumerForked: this is a child of the consumer's process.
        """
        return frozenset() if self._context.gate.is_shut() else self._calls.active()

    # --- membership -----------------------------------------------------------------------

    def subscribe(self, topics: frozenset[str], *, open_ended: bool) -> None:
        """See ``Membership``. If the topics changed, the member leaves and joins again."""
        del open_ended
        self._wanted = topics
        self._as_member = True
        # Patterns are expanded in a poll, after it has called this member: make it call again.
        self._caller.signal()

    def poll(self) -> None:
        """See ``Membership``.

        Raises:
            RebalanceFailed: no assignment after all attempts; the member keeps trying.
            PartitionFailed: a partition can't be claimed, or its offset can't be read.
            GroupFailed: the member broke down; final.
            Exception: the handler's first error, after all due calls were made.
        """
        self._caller.wakeup.clear()
        self._caller.watch.on_poll()
        self._commits.run_callbacks()
        self._rejoin_after_silence()
        self._join_or_leave()
        self._calls.run()
        if self._broken is not None:
            raise self._broken
        failure = self._failures.get(0)
        if failure is not None:
            raise failure

    def on_topics_changed(self, view: ClusterView) -> None:
        """See ``Membership``: watches in ZooKeeper do this."""

    def rejoin(self) -> None:
        """See ``Membership``."""
        self._control.mailbox.put(ev.RebalanceTriggered(ev.RebalanceCause.REQUESTED))

    def unsubscribe(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        self._wanted = None
        failed: Exception | None = None
        if not self._control.done:
            self._join_or_leave()
            if self._left is not None:
                failed = self._run_calls_until(
                    self._left, self._context.clock.now_ms() + timeout_ms
                )
        try:
            self._end(failed)
        finally:
            self._as_member = False

    def close(self, timeout_ms: int) -> None:
        """See ``Membership``: the session with ZooKeeper ends, too."""
        context, mailbox = self._context, self._control.mailbox
        deadline_ms = context.clock.now_ms() + timeout_ms
        self._commits.closing_by_ms = deadline_ms
        self._wanted = None
        failed: Exception | None = None
        try:
            if not self._control.done:
                context.offsets.stop_fetching()
                left: ObservedReply[None] = ObservedReply(self._caller.signal)
                mailbox.put(CloseRequest(left))
                # Keep some of the time to end whatever did not stop properly.
                failed = self._run_calls_until(left, deadline_ms - min(1000, timeout_ms // 4))
            self._end(failed)
        finally:
            left_ms = max(0, deadline_ms - context.clock.now_ms())
            # The session first: it takes our nodes with it, and frees a control thread blocked on
            # it.
            context.store.close(min(left_ms, CLOSE_TIMEOUT_MS))
            # Whether the session would have come back in time no longer matters.
            mailbox.put(ev.SessionEnded(context.store.session_id))
            context.offsets.close()
            running = self._scope.close(max(0, deadline_ms - context.clock.now_ms()))
            if running:
                log.error("%s: still running: %s", self._consumer_id, ", ".join(running))
            self._closed = True
            self._commits.run_callbacks()

    def _rejoin_after_silence(self) -> None:
        """Join again after the member left because its caller did not poll."""
        watch = self._caller.watch
        if watch.fell_silent:
            watch.fell_silent = False
            log.warning(
                "%s: left its group after %d ms without a poll (max.poll.interval.ms): rejoining. "
                "Take fewer records with each poll (max.poll.records), or allow more time",
                self._consumer_id,
                watch.limit_ms,
            )
            self._join = self._requested = None

    def _join_or_leave(self) -> None:
        """Join with the wanted topics, or leave, if they have changed since the last request."""
        control = self._control
        join = self._join
        if join is not None and self._join_reply.is_done() and self._join_reply.error is not None:
            # The control thread has withdrawn the join, or ended; the next poll tries again.
            self._join = self._requested = None
            self._fail(self._join_reply.error)
            return
        if self._wanted == self._requested:
            return
        if join is not None:
            self._left = ObservedReply(self._caller.signal)
            control.mailbox.put(WithdrawRequest(join, self._left))
            self._join = None
        self._requested = self._wanted
        self._caller.watch.watch(joined=bool(self._wanted))
        self._calls.joined = bool(self._wanted)
        if self._wanted:
            # By name: Scala members would take our patterns, which are Python's, for Java's.
            queues = dict.fromkeys(sorted(self._wanted), (self._queue,))
            self._join_reply = ObservedReply(self._caller.signal)
            self._join = JoinRequest(StaticSubscription(queues), self._join_reply)
            self._send(self._join)

    def _run_calls_until(self, response: ObservedReply[None], deadline_ms: int) -> Exception | None:
        """Call the handler until the reply is there; return the first error."""
        failed: Exception | None = None
        while True:
            is_done = response.is_done() or self._control.done
            try:
                self._calls.run()
            except Exception as error:  # noqa: BLE001 - the caller's code: raised at the end
                failed = failed or error
            left_ms = deadline_ms - self._context.clock.now_ms()
            if is_done or left_ms <= 0:
                return failed
            self._caller.wakeup.wait(min(left_ms, _MAX_SLEEP_MS))

    def _end(self, failed: Exception | None) -> None:
        """Report everything that was not handed over as lost."""
        self._join = self._requested = None
        try:
            self._calls.lose_the_rest()
        except Exception as error:
            if failed is not None:
                log.exception("%s: the handler failed again", self._consumer_id)
            failed = failed or error
        self._commits.run_callbacks()
        if failed is not None:
            raise failed

    # --- commits --------------------------------------------------------------------------

    def commit(self, offsets: Offsets, *, timeout_ms: int) -> None:
        """See ``Membership``."""
        self._commits.commit(offsets, timeout_ms=timeout_ms, claims=self._claims())

    def commit_async(self, offsets: Offsets, done: CommitDone | None) -> None:
        """See ``Membership``."""
        self._commits.commit_async(offsets, done, claims=self._claims())

    def run_callbacks(self) -> None:
        """See ``Membership``."""
        self._commits.run_callbacks()

    def committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """See ``Membership``. Thread: any."""
        return self._commits.committed(partitions, timeout_ms=timeout_ms, as_member=self._as_member)

    def _claims(self) -> Mapping[TopicPartition, PartitionClaim] | None:
        """Return our claims; None without a subscription, when any partition may be committed."""
        return self._calls.claims() if self._as_member else None

    # --- the control thread ---------------------------------------------------------------

    def _send(self, message: Message) -> None:
        """Put a message into the mailbox; the control thread replies, even while it ends.

        Raises:
            ConsumerClosed: the control thread has ended.
        """
        control = self._control
        if not self._closed:
            control.mailbox.put(message)
        if self._closed or control.done:
            raise self._broken or ConsumerClosed(f"group {self._group_id}: shut down")

    def _nudge(self) -> None:
        """Make the control thread check again what it is waiting for."""
        if not self._control.done:
            nobody: ObservedReply[None] = ObservedReply(lambda: None)
            self._control.mailbox.put(ControlTask(lambda: None, nobody))

    def _fail(self, error: ZkConsumerError) -> None:
        """Make ``poll`` raise this error. Thread: any."""
        self._failures.put(error)
        self._caller.signal()

    def _die(self, error: BaseException) -> None:
        """Record that the control thread died: that is a bug, which every ``poll`` reports."""
        failure = GroupFailed(self._group_id, f"the member broke down: {error!r}", final=True)
        failure.__cause__ = error
        self._broken = failure
        self._caller.signal()
