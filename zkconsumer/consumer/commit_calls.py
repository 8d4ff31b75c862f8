"""The calls of a ``KafkaConsumer`` about commits and about its identity in the group."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Literal, overload

from zkconsumer.consumer.arguments import partition_of, positions_of, timeout_of
from zkconsumer.consumer.closing import public_call
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.errors import IllegalArgumentError, IllegalState, RebalanceInProgress
from zkconsumer.futures import CallbackFuture
from zkconsumer.membership.protocol import CommitDone, Offsets
from zkconsumer.model import (
    ConsumerGroupMetadata,
    MemberState,
    OffsetAndMetadata,
    TopicPartition,
)

_STATES = {
    **dict.fromkeys(("unjoined", "outside", "no group"), MemberState.UNJOINED),
    **dict.fromkeys(("stable", "owning"), MemberState.STABLE),
}
"""The public state for each state of a member, of both kinds of groups; others: rebalancing."""


class CommitFuture(CallbackFuture[Offsets]):
    """The future outcome of ``commit_async``: the committed offsets, or an error.

    It is resolved when callbacks run: in a later ``poll``, ``commit``, ``unsubscribe`` or ``close``
    of the consumer, or when ``is_done`` is read while no other thread is in a call.

    Args:
        run_callbacks: runs the callbacks that are due, if that is possible now.

    Example:
        >>> record = next(consumer)
        >>> future = consumer.commit_async()
        >>> _ = future.add_errback(lambda error: print("not committed:", error))
        >>> consumer.commit()
        >>> [offset.offset for offset in future.value.values()]
        [1]
    """

    __slots__ = ("_run_callbacks",)

    def __init__(self, run_callbacks: Callable[[], object]) -> None:
        super().__init__()
        self._run_callbacks = run_callbacks

    @property
    def is_done(self) -> bool:
        """Whether the outcome is known; runs the callbacks that are due to find out."""
        if not self._is_done:
            self._run_callbacks()
        return self._is_done

    def retriable(self) -> bool:
        """Return whether the commit failed because of a rebalance: poll, then commit again."""
        return self.is_done and isinstance(self.exception, RebalanceInProgress)


class CommitCalls:
    """The calls that commit offsets and read committed ones. Thread: the caller's."""

    _parts: ConsumerComponents

    @public_call
    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit offsets, and wait for the outcome.

        Args:
            offsets: the *next* offset to read of each partition; None: those after all records
                handed out, including the last one of an iteration.
            timeout_ms: how long to wait, in ms; None: ``default_api_timeout_ms``.

        Raises:
            CommitFailed: the partitions may have other owners by now; nothing was committed.
            RebalanceInProgress: poll, then commit the partitions that are still assigned.
            OffsetCommitFailed: some offsets were not committed, or the outcome is unknown; names
                their partitions.
            GroupFailed: the coordinator refuses the commits of this member; or see ``poll``.
            ConfigError: an argument is invalid.
            IllegalState: there is no ``group_id``, or another thread is in a call of this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll; a listener or a callback may call it.
        Source: Kafka ``KafkaConsumer.commitSync``; kafka-python ``KafkaConsumer.commit``.
        """
        parts = self._parts
        with parts.one_caller:
            due = self._due(offsets, bare=False)
            limit_ms = timeout_of(timeout_ms, parts.config.default_api_timeout_ms)
            if due or parts.config.group_id is None:
                parts.session.membership.commit(due, timeout_ms=limit_ms)

    @public_call
    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        callback: CommitDone | None = None,
    ) -> CommitFuture:
        """Commit offsets without waiting; commits are sent in the order of the calls.

        Args:
            offsets: see ``commit``.
            callback: called as ``callback(offsets, error)``, with error None on success, by a later
                ``poll``, ``commit``, ``unsubscribe`` or ``close``, in its thread. None:
                ``default_offset_commit_callback``.

        Returns:
            The future outcome.

        Raises:
            ConfigError: an argument is invalid.
            IllegalState: there is no ``group_id``, or another thread is in a call of this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll; a listener or a callback may call it.
        Source: Kafka ``KafkaConsumer.commitAsync``.
        """
        parts = self._parts
        with parts.one_caller:
            due = self._due(offsets)
            done = callback or parts.config.objects.default_offset_commit_callback
            if callback is not None and not callable(callback):
                raise IllegalArgumentError(
                    f"callback {callback!r}: give a function of offsets and an error"
                )
            future = CommitFuture(self._run_callbacks)

            def received(committed: Offsets, error: Exception | None) -> None:
                future.notify(committed, error)
                if done is not None:
                    done(committed, error)

            if due or parts.config.group_id is None:
                parts.session.membership.commit_async(due, received)
            else:
                future.notify(due, None)
        return future

    @public_call
    def _run_callbacks(self) -> None:
        """Run the callbacks that are due, for a caller that reads an outcome without polling."""
        parts = self._parts
        if not parts.one_caller.closed:
            with contextlib.suppress(IllegalState), parts.one_caller:
                parts.session.membership.run_callbacks()

    @overload
    def committed(
        self,
        partition: TopicPartition,
        metadata: Literal[False] = False,  # noqa: FBT002 - kafka-python's signature
        timeout_ms: float | None = None,
    ) -> int | None: ...
    @overload
    def committed(
        self, partition: TopicPartition, metadata: Literal[True], timeout_ms: float | None = None
    ) -> OffsetAndMetadata | None: ...

    def committed(
        self,
        partition: TopicPartition,
        metadata: bool = False,  # noqa: FBT001, FBT002 - kafka-python's signature
        timeout_ms: float | None = None,
    ) -> int | OffsetAndMetadata | None:
        """Return the group's committed offset of any partition; None if there is none.

        Args:
            partition: any partition.
            metadata: whether to return an ``OffsetAndMetadata`` instead of the offset alone.
            timeout_ms: how long to wait, in ms; None: ``default_api_timeout_ms``.

        Returns:
            The next offset to read, with ``metadata`` an ``OffsetAndMetadata``; None if nothing is
            committed.

        Raises:
            ConfigError: an argument is invalid.
            RequestTimedOut: no response came in time.
            PartitionFailed: in a ZooKeeper group, the committed offset can't be read.
            GroupFailed: the coordinator refused the request; or see ``poll``.
            IllegalState: there is no ``group_id``, or another thread is in a call of this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll; a listener or a callback may call it.
        Source: Kafka ``KafkaConsumer.committed``.
        """
        found = self._committed(partition, timeout_ms)
        return found if found is None or metadata else found.offset

    @public_call
    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return the current identity of this member in the group.

        A transactional producer sends it with the offsets that it commits for this consumer, and
        the coordinator refuses them if other members own the partitions by then (KIP-447).

        Returns:
            The ids and the generation, consistent with each other; -1 outside of any generation.

        Raises:
            ConsumerClosed: another thread is closing the consumer.
            ConsumerForked: this is a forked child.

        Thread: any, also while another one polls.
        Source: Kafka ``KafkaConsumer.groupMetadata`` (KIP-447).
        """
        self._parts.one_caller.check_access()
        config, membership = self._parts.config, self._parts.session.membership
        while True:
            found = ConsumerGroupMetadata(
                group_id=config.group_id,
                generation_id=membership.generation,
                member_id=membership.member_id,
                group_instance_id=config.group_instance_id,
                state=_STATES.get(membership.state, MemberState.REBALANCING),
            )
            # A rebalance in between would combine a member id with another generation.
            if membership.generation == found.generation_id:
                return found

    @public_call
    def _committed(self, partition: object, timeout_ms: float | None) -> OffsetAndMetadata | None:
        parts = self._parts
        with parts.one_caller:
            tp = partition_of(partition)
            limit_ms = timeout_of(timeout_ms, parts.config.default_api_timeout_ms)
            return parts.session.membership.committed((tp,), timeout_ms=limit_ms).get(tp)

    def _due(
        self, offsets: object, *, bare: bool = True
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        session = self._parts.session
        if offsets is None:
            return session.positions.consumed(session.assignment())
        return positions_of(offsets, bare=bare)
