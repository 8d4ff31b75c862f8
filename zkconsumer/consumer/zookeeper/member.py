"""A member of a ZooKeeper group, as the poll API sees it.

The connector's control thread does what it always does; a ``Bridge`` makes notices of it, which the
caller's thread works off in ``poll``. What may be handed out is looked up in the claims themselves,
which end in the moment in which the control thread gives them up, or the session ends.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from zkconsumer.clock import Clock
from zkconsumer.connector import rebalance_events as ev
from zkconsumer.connector.control import ControlThread
from zkconsumer.connector.messages import CloseRequest, JoinRequest, Message, WithdrawRequest
from zkconsumer.connector.offset_wiring import OffsetSide
from zkconsumer.connector.rebalance import RebalanceCore
from zkconsumer.consumer.membership import CommitDone, Offsets, OwnershipHandler, Partitions
from zkconsumer.consumer.zookeeper.bridge import Bridge
from zkconsumer.consumer.zookeeper.commits import CallersCommits
from zkconsumer.consumer.zookeeper.counts import ZookeeperGroupCounts
from zkconsumer.consumer.zookeeper.failures import FailureQueue
from zkconsumer.consumer.zookeeper.handler_calls import HandlerCalls
from zkconsumer.consumer.zookeeper.poll_watch import PollWatch
from zkconsumer.consumer.zookeeper.replies import ObservedReply, task
from zkconsumer.consumer.zookeeper.subscription import PollSubscription
from zkconsumer.errors import ConsumerClosed, GroupFailed, ZkConsumerError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.scope import Mailbox, ThreadScope
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.zk.store import CLOSE_TIMEOUT_MS, ZkStore

log = logging.getLogger(__name__)

_NAP_MS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberComponents:
    """What a member is made of.

    Attributes:
        signal: rings the caller's bell, and this one.
        wakeup: rings for whoever waits inside of a call of the member.
    """

    group_id: str
    consumer_id: str
    store: ZkStore
    control: ControlThread
    core: RebalanceCore
    bridge: Bridge
    watch: PollWatch
    counts: ZookeeperGroupCounts
    gate: DeliveryGate
    offsets: OffsetSide
    scope: ThreadScope
    clock: Clock
    signal: Callable[[], None]
    wakeup: Mailbox[None]


class ZookeeperMember:
    """``Membership`` in a ZooKeeper group; or only its offsets, where nothing is subscribed.

    Args:
        parts: see there.
        handler: hears in the caller's thread what comes and goes.

    Attributes:
        counts: what has happened, for metrics.
    """

    def __init__(self, parts: MemberComponents, handler: OwnershipHandler) -> None:
        self._parts = parts
        self.counts = parts.counts
        self._calls = HandlerCalls(handler, parts.bridge.notices, self._nudge)
        self._failures: Mailbox[ZkConsumerError] = Mailbox()
        self._queue = FailureQueue(self._fail)
        self._broken: GroupFailed | None = None
        self._wanted: frozenset[str] | None = None
        self._requested: frozenset[str] | None = None
        self._join: JoinRequest | None = None
        self._join_reply: ObservedReply[None] = ObservedReply(parts.signal)
        self._left: ObservedReply[None] | None = None
        self._as_member = False
        self._closed = False
        self._commits = CallersCommits(
            parts.group_id,
            send=self._send,
            offsets=parts.offsets,
            signal=parts.signal,
            clock=parts.clock,
            is_connected=lambda: parts.store.connected,
        )
        parts.scope.spawn("control", parts.control.run, stop=parts.control.stop, on_error=self._die)

    # --- what stands ----------------------------------------------------------------------

    @property
    def member_id(self) -> str:
        """See ``Membership``."""
        return self._parts.consumer_id if self._join is not None else ""

    @property
    def generation(self) -> int:
        """See ``Membership``: how many rebalances have come through; ZooKeeper does not count."""
        return self._calls.rounds if self._join is not None else -1

    @property
    def state(self) -> str:
        """See ``Membership``: that of the rebalance (docs/architecture.md)."""
        return self._parts.core.state.name.lower()

    def numbers(self) -> Mapping[str, float]:
        """See ``Membership``."""
        return self.counts.numbers()

    def deliverable(self) -> Partitions:
        """See ``Membership``.

        Raises:
            ConsumerForked: this is a child of the consumer's process.
        """
        return frozenset() if self._parts.gate.is_shut() else self._calls.active()

    # --- membership -----------------------------------------------------------------------

    def subscribe(self, topics: frozenset[str], *, open_ended: bool) -> None:
        """See ``Membership``. Other topics than before: it leaves, and joins with these."""
        del open_ended
        self._wanted = topics
        self._as_member = True
        # A pattern is expanded amid a poll, whose call of ours is over: it is to call again.
        self._parts.signal()

    def poll(self) -> None:
        """See ``Membership``.

        Raises:
            RebalanceFailed: no share of the partitions after all tries; they go on.
            PartitionFailed: a partition of ours can't be claimed, or its offset not be read.
            GroupFailed: the member broke down; for good.
            Exception: what the handler raised; all that was due has been called.
        """
        self._parts.wakeup.drain()
        self._parts.watch.polled()
        self._commits.run_callbacks()
        self._come_back()
        self._join_or_leave()
        self._calls.run()
        if self._broken is not None:
            raise self._broken
        failure = self._failures.get(0)
        if failure is not None:
            raise failure

    def topics_changed(self) -> None:
        """See ``Membership``: watches in ZooKeeper tell."""

    def rejoin(self) -> None:
        """See ``Membership``."""
        self._parts.control.mailbox.put(ev.RebalanceTriggered(ev.RebalanceCause.ASKED))

    def unsubscribe(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        self._wanted = None
        failed: Exception | None = None
        if not self._parts.control.done:
            self._join_or_leave()
            if self._left is not None:
                failed = self._work_off(self._left, self._parts.clock.now_ms() + timeout_ms)
        try:
            self._end(failed)
        finally:
            self._as_member = False

    def close(self, timeout_ms: int) -> None:
        """See ``Membership``: the session with ZooKeeper ends, too."""
        parts = self._parts
        deadline_ms = parts.clock.now_ms() + timeout_ms
        self._commits.closing_by_ms = deadline_ms
        self._wanted = None
        failed: Exception | None = None
        try:
            if not parts.control.done:
                parts.offsets.stop_fetching()
                left: ObservedReply[None] = ObservedReply(parts.signal)
                parts.control.mailbox.put(CloseRequest(left))
                # Some of the time is for ending what does not leave in order.
                failed = self._work_off(left, deadline_ms - min(1000, timeout_ms // 4))
            self._end(failed)
        finally:
            left_ms = max(0, deadline_ms - parts.clock.now_ms())
            # The session first: with it go our nodes, and a control thread that hangs on it wakes.
            parts.store.close(min(left_ms, CLOSE_TIMEOUT_MS))
            # Whether it would have come back in time is of no interest any more.
            parts.control.mailbox.put(ev.SessionEnded(parts.store.session_id))
            parts.offsets.close()
            running = parts.scope.close(max(0, deadline_ms - parts.clock.now_ms()))
            if running:
                log.error("%s: still running: %s", parts.consumer_id, ", ".join(running))
            self._closed = True
            self._commits.run_callbacks()

    def _come_back(self) -> None:
        """A member that left because nobody polled joins again."""
        watch = self._parts.watch
        if watch.fell_silent:
            watch.fell_silent = False
            log.warning(
                "%s: left its group, since no poll came for %d ms (max.poll.interval.ms): joining "
                "again. Take fewer records a poll (max.poll.records), or allow more time",
                self._parts.consumer_id,
                watch.limit_ms,
            )
            self._join = self._requested = None

    def _join_or_leave(self) -> None:
        """Ask for what is wanted, where that is not what was asked for."""
        control = self._parts.control
        join = self._join
        if join is not None and self._join_reply.look() and self._join_reply.error is not None:
            # The control thread has withdrawn it, or is at its end; the next poll tries again.
            self._join = self._requested = None
            self._fail(self._join_reply.error)
            return
        if self._wanted == self._requested:
            return
        if join is not None:
            self._left = ObservedReply(self._parts.signal)
            control.mailbox.put(WithdrawRequest(join, self._left))
            self._join = None
        self._requested = self._wanted
        self._parts.watch.watch(joined=bool(self._wanted))
        self._calls.joined = bool(self._wanted)
        if self._wanted:
            subscription = PollSubscription(self._wanted, self._queue)
            self._join_reply = ObservedReply(self._parts.signal)
            self._join = JoinRequest(subscription, self._join_reply)
            self._send(self._join)

    def _work_off(self, response: ObservedReply[None], deadline_ms: int) -> Exception | None:
        """Call the handler until the answer is there; gives the first error."""
        failed: Exception | None = None
        while True:
            is_done = response.look() or self._parts.control.done
            try:
                self._calls.run()
            except Exception as error:  # noqa: BLE001 - the caller's code: raised at the end
                failed = failed or error
            left_ms = deadline_ms - self._parts.clock.now_ms()
            if is_done or left_ms <= 0:
                return failed
            self._parts.wakeup.get(min(left_ms, _NAP_MS))

    def _end(self, failed: Exception | None) -> None:
        """Whatever was not handed over by now is lost."""
        self._join = self._requested = None
        try:
            self._calls.lose_the_rest()
        except Exception as error:
            if failed is not None:
                log.exception("%s: the handler failed again", self._parts.consumer_id)
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
        """Under which we read; None where nothing is subscribed, so that anything may be ours."""
        return self._calls.claims() if self._as_member else None

    # --- the control thread ---------------------------------------------------------------

    def _send(self, message: Message) -> None:
        """Put it into the mailbox; it is answered, by the thread that works or that ends.

        Raises:
            ConsumerClosed: nobody would answer.
        """
        control = self._parts.control
        if not self._closed:
            control.mailbox.put(message)
        if self._closed or control.done:
            raise self._broken or ConsumerClosed(f"group {self._parts.group_id}: shut down")

    def _nudge(self) -> None:
        """Have the control thread look around."""
        if not self._parts.control.done:
            nobody: ObservedReply[None] = ObservedReply(lambda: None)
            self._parts.control.mailbox.put(task(lambda: None, nobody))

    def _fail(self, error: ZkConsumerError) -> None:
        """Have ``poll`` raise this. Thread: any."""
        self._failures.put(error)
        self._parts.signal()

    def _die(self, error: BaseException) -> None:
        """The control thread is dead: that is a bug, and ``poll`` tells of it for ever."""
        failure = GroupFailed(self._parts.group_id, f"the member broke down: {error!r}", final=True)
        failure.__cause__ = error
        self._broken = failure
        self._parts.signal()
