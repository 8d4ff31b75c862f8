"""Passes the caller's commits to the control thread, which executes them in order."""

import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from zkconsumer.clock import Clock
from zkconsumer.errors import (
    CommitFailed,
    OffsetCommitFailed,
    OffsetCommitTimedOut,
    PartitionFailed,
    RegistryError,
    RequestTimedOut,
    TransportError,
    ZkConsumerError,
    without_frames,
)
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.protocol import CommitDone, Offsets
from zkconsumer.membership.zookeeper.threads.commits import NOT_READ_HERE
from zkconsumer.membership.zookeeper.threads.messages import CommitRequest, ControlTask, Message
from zkconsumer.membership.zookeeper.threads.reply import ObservedReply
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.offsets.topic_checked import former_topic_warnings
from zkconsumer.offsets.wiring import OffsetSide
from zkconsumer.scope import wait_ms

log = logging.getLogger(__name__)

_RETRY_MS = 100
Claims = Mapping[TopicPartition, PartitionClaim] | None
"""The claims under which the caller reads; None: it is not a member; its commits are unchecked."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """An asynchronous commit."""

    offsets: Offsets
    reply: ObservedReply[int]
    done: CommitDone | None


class ManualCommits:
    """Commits offsets for the caller, and reads them. Thread: the caller's; ``committed``: any.

    Args:
        send: puts a message into the control thread's mailbox; raises if the thread has ended.
        offsets: the group's offset stores.
        signal: wakes the caller's thread.
        is_connected: returns whether ZooKeeper is connected, as far as is known.

    Attributes:
        closing_by_ms: the deadline of a close in progress; None: none.
    """

    def __init__(
        self,
        group_id: str,
        *,
        send: Callable[[Message], None],
        offsets: OffsetSide,
        signal: Callable[[], None],
        clock: Clock,
        is_connected: Callable[[], bool],
    ) -> None:
        self._group_id = group_id
        self._send = send
        self._offsets = offsets
        self._signal = signal
        self._clock = clock
        self._is_connected = is_connected
        self._pending: deque[_Pending] = deque()
        self._in_callback = False
        self._reported: dict[TopicPartition, int] = {}
        self.closing_by_ms: int | None = None

    def commit(self, offsets: Offsets, *, timeout_ms: int, claims: Claims) -> None:
        """See ``Membership.commit``; a failure while ZooKeeper is disconnected is retried."""
        if not offsets:
            return
        deadline_ms = self._deadline(timeout_ms)
        while True:
            failure = self._try(offsets, deadline_ms, claims)
            self.run_callbacks()
            if failure is None:
                return
            if isinstance(failure, CommitFailed) or self._is_connected():
                raise failure
            if self._clock.now_ms() + _RETRY_MS >= deadline_ms:
                raise failure
            wait_ms(_RETRY_MS)

    def commit_async(self, offsets: Offsets, done: CommitDone | None, *, claims: Claims) -> None:
        """See ``Membership.commit_async``."""
        self._pending.append(_Pending(offsets, self._sent(offsets, claims), done))

    def run_callbacks(self) -> None:
        """Run the callbacks of ended asynchronous commits, in order; do nothing in a callback."""
        if self._in_callback:
            return
        self._in_callback = True
        try:
            while self._pending and self._pending[0].reply.is_done():
                pending = self._pending.popleft()
                self._notify(pending, self._translated(pending.reply.error))
        finally:
            self._in_callback = False

    def committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int, as_member: bool
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """See ``Membership.committed``. Thread: any.

        Offsets of former topics are logged here unless we are a member: then a rebalance logs them.

        Raises:
            RequestTimedOut: no result came in time.
            PartitionFailed: an offset exists, but can't be read.
            UnsupportedVersion: offsets are to be in Kafka, and the brokers are too old for that.
        """
        wanted = list(partitions)
        if not wanted:
            return {}
        deadline_ms = self._deadline(timeout_ms)
        while True:
            reply: ObservedReply[dict[TopicPartition, FetchedOffset]] = ObservedReply(self._signal)
            self._send(ControlTask(lambda: self._offsets.unguarded.fetch(wanted), reply))
            failure = "no response"
            try:
                found, is_done = reply.wait(max(0, deadline_ms - self._clock.now_ms()))
            except (RegistryError, TransportError) as error:  # of ZooKeeper, of a coordinator
                found, is_done, failure = None, False, str(error)
            if is_done and found is not None:
                if not as_member:
                    self._report_former_topics(found)
                return {tp: _readable(tp, offset) for tp, offset in found.items()}
            if self._clock.now_ms() + _RETRY_MS >= deadline_ms:
                raise RequestTimedOut(f"group {self._group_id}: committed offsets: {failure}")
            wait_ms(_RETRY_MS)

    def _report_former_topics(self, found: Mapping[TopicPartition, FetchedOffset]) -> None:
        """Warn once about each committed offset of a former topic, which is ignored."""
        former = {tp: offset.former for tp, offset in found.items() if offset.former is not None}
        events = {tp: offset for tp, offset in former.items() if self._reported.get(tp) != offset}
        self._reported |= events
        for topic, text in former_topic_warnings(events).items():
            log.warning("group %s: topic %s %s", self._group_id, topic, text)

    def _try(self, offsets: Offsets, deadline_ms: int, claims: Claims) -> ZkConsumerError | None:
        try:
            reply = self._sent(offsets, claims)
            _, is_done = reply.wait(max(0, deadline_ms - self._clock.now_ms()))
        except ZkConsumerError as error:
            return self._translated(without_frames(error))
        if is_done:
            return None
        late = "no response in time: it may be committed all the same"
        return OffsetCommitTimedOut(self._group_id, dict.fromkeys(offsets, late))

    def _sent(self, offsets: Offsets, claims: Claims) -> ObservedReply[int]:
        reply: ObservedReply[int] = ObservedReply(self._signal)
        wanted = dict(offsets)
        try:
            if claims is None:
                self._send(ControlTask(lambda: self._write(wanted), reply))
            else:
                self._send(CommitRequest(wanted, retry=True, reply=reply, claims=claims))
        except ZkConsumerError as error:
            reply.set_error(without_frames(error))
        return reply

    def _write(self, offsets: Offsets) -> int:
        """Commit for a consumer that is not a member. Thread: control.

        Raises:
            OffsetCommitFailed: names the partitions that were not written.
        """
        outcome = self._offsets.unguarded.commit(offsets, retry=True, rewind=True)
        failed = {tp: reason for tp, reason in outcome.items() if reason is not None}
        if failed:
            raise OffsetCommitFailed(self._group_id, failed)
        return len(offsets)

    def _translated(self, error: ZkConsumerError | None) -> ZkConsumerError | None:
        """Translate an error for the poll API: lost partitions become ``CommitFailed``."""
        if not isinstance(error, OffsetCommitFailed):
            return error
        lost = sorted(tp for tp, reason in error.failed.items() if reason == NOT_READ_HERE)
        if not lost:
            return error
        names = ", ".join(map(format, lost[:10]))
        return CommitFailed(
            f"group {self._group_id}: {names} went to other members, or were lost, after they were "
            f"read: their records since the last commit will be read again. ({error})"
        )

    def _deadline(self, timeout_ms: int) -> int:
        deadline_ms = self._clock.now_ms() + timeout_ms
        return deadline_ms if self.closing_by_ms is None else min(deadline_ms, self.closing_by_ms)

    def _notify(self, pending: _Pending, error: ZkConsumerError | None) -> None:
        if pending.done is None:
            return
        try:
            pending.done(pending.offsets, error)
        except Exception:  # the caller's code
            log.exception("group %s: the callback of a commit failed", self._group_id)


def _readable(tp: TopicPartition, found: FetchedOffset) -> OffsetAndMetadata | None:
    if found.error is not None:
        raise PartitionFailed(tp, -1, found.error)
    return None if found.offset is None else OffsetAndMetadata(found.offset, found.metadata)
