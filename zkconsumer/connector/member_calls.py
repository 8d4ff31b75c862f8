"""The calls of user threads to a connector's member; its control thread executes them."""

import threading
from collections.abc import Mapping
from functools import partial

from zkconsumer.connector.assembly import ConnectorComponents
from zkconsumer.errors import ConsumerClosed, MessageStreamsExist, RebalanceFailed
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.zookeeper.threads.messages import (
    CloseRequest,
    CommitAheadRequest,
    CommitRequest,
    JoinRequest,
    Message,
    WithdrawRequest,
)
from zkconsumer.membership.zookeeper.threads.subscription import StreamSubscription
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.scope import ThreadScope


class MemberCalls:
    """Sends requests to the control thread and waits for its replies. Thread: any.

    Args:
        parts: the connector's components; the control thread need not run yet.
    """

    def __init__(self, parts: ConnectorComponents) -> None:
        self._parts = parts
        self._context = parts.context
        self._config = parts.context.config
        self._control = parts.member.control
        self._clock = parts.context.clock
        # Held from the creation of the streams on. Acquired without waiting, so that the first of
        # several threads wins, and neither a signal handler nor a forked child waits for it.
        self._created = threading.Lock()

    def start(self) -> None:
        """Start the control thread."""
        self._parts.control_scope.spawn("control", self._control.run, stop=self._control.stop)

    def claim_creation(self) -> None:
        """Record that the streams are being created; a second call is refused.

        Raises:
            MessageStreamsExist, ConsumerClosed, ConsumerForked: see ``check_fresh``.
        """
        self.check_fresh()
        if not self._created.acquire(blocking=False):
            raise self._streams_exist()

    def check_fresh(self) -> None:
        """Check that no streams have been created.

        Raises:
            MessageStreamsExist: the streams of this connector were created before.
            ConsumerClosed: the connector was shut down.
            ConsumerForked: this is a child of the connector's process.
        """
        self._context.fork_guard.check()
        if self._control.done:
            raise self._shut_down()
        if self._created.locked():
            raise self._streams_exist()

    def join(self, subscription: StreamSubscription) -> None:
        """Join the group; return when the partitions assigned to this member are being read.

        Raises:
            RebalanceFailed: no assignment in time; the member has left the group again.
            ConsumerClosed: the connector was shut down.
            ConsumerForked: this is a child of the connector's process.
        """
        request = JoinRequest(subscription)
        config = self._config
        tries_ms = config.rebalance_max_retries * (
            config.rebalance_backoff_ms + 2 * self._context.store.negotiated_timeout_ms
        )
        limit_ms = tries_ms + config.zookeeper_connection_timeout_ms
        try:
            self._send(request)
            _, joined = request.reply.wait(limit_ms)
        except BaseException:
            self._withdraw(request)
            raise
        if not joined:
            self._withdraw(request)
            raise RebalanceFailed(
                f"group {config.group_id}: not joined within {limit_ms} ms: is ZooKeeper at "
                f"{config.zookeeper_connect} reachable?"
            )

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None, *, retry: bool
    ) -> int:
        """Commit offsets, also from the rebalance listener; return the number of partitions.

        Args:
            offsets: the next offset to read of each partition; None: all messages handed over.
            retry: whether to retry after errors that may pass.

        Raises:
            OffsetCommitFailed: names the partitions that were not written.
            ConsumerClosed: the connector was shut down.
            ConsumerForked: this is a child of the connector's process.
        """
        request = CommitRequest(offsets, retry)
        if self._control.is_current:
            self._control.commit(request)
        else:
            self._send(request)
        count, _ = request.reply.wait(None)
        return count or 0

    def commit_ahead(self, claim: PartitionClaim, offset: int) -> bool:
        """Commit `offset` before a stream hands a chunk over; return whether it may do so."""
        request = CommitAheadRequest(claim, offset)
        try:
            self._send(request)
        except ConsumerClosed:
            return False  # the stream's end is in its queue
        done, _ = request.reply.wait(None)
        return bool(done)

    def shut_down(self) -> None:
        """Leave the group, then end the threads and the session. Thread: any, any signal handler.

        Called by the rebalance listener, it only requests this, which follows the rebalance.
        """
        deadline_ms = self._clock.now_ms() + self._config.shutdown_timeout_ms
        self._context.offsets.stop_fetching()
        request = CloseRequest()
        self._control.mailbox.put(request)
        if self._control.is_current:
            # This thread can't wait for itself, and shutdown may never be called again.
            closer = ThreadScope(self._context.name.consumer_id)
            closer.spawn("closer", partial(self._close, request, deadline_ms), stop=lambda: None)
        else:
            self._close(request, deadline_ms)

    def _close(self, request: CloseRequest, deadline_ms: int) -> None:
        """Wait until the member has left, then end the threads and the session."""
        if not self._control.done:
            # Reserve some of the time for threads that are slow to end.
            timeout_ms = max(0, deadline_ms - self._clock.now_ms())
            request.reply.wait(timeout_ms - min(1000, timeout_ms // 4))
        self._parts.close(max(0, deadline_ms - self._clock.now_ms()))

    def _send(self, message: Message) -> None:
        """Put a message into the mailbox; the control thread replies, even while it is ending.

        Raises:
            ConsumerClosed: the control thread has ended.
            ConsumerForked: this is a child of the connector's process.
        """
        self._context.fork_guard.check()
        if self._control.done:
            raise self._shut_down()
        self._control.mailbox.put(message)
        if self._control.done:
            raise self._shut_down()

    def _withdraw(self, join: JoinRequest) -> None:
        """Leave the group after an error or Ctrl-C: a member without readers must own nothing."""
        self._control.mailbox.put(WithdrawRequest(join))
        self._created.release()

    def _streams_exist(self) -> MessageStreamsExist:
        return MessageStreamsExist(
            f"group {self._config.group_id}: the streams of {self._context.name.consumer_id} "
            "already exist; create another connector"
        )

    def _shut_down(self) -> ConsumerClosed:
        return ConsumerClosed(f"group {self._config.group_id}: shut down")
