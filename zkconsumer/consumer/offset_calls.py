"""The calls of a ``KafkaConsumer`` about positions and commits."""

import contextlib
from collections.abc import Mapping
from typing import Literal, overload

from zkconsumer.consumer.arguments import offset_of, partition_of, positions_of, timeout_of
from zkconsumer.consumer.closing import public_call
from zkconsumer.consumer.commit_future import CommitFuture
from zkconsumer.consumer.membership import CommitDone, Offsets
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.consumer.poll_loop import deadline_of
from zkconsumer.errors import IllegalArgumentError, IllegalState, NotAssigned, RequestTimedOut
from zkconsumer.fetch.polled.starts import EARLIEST, LATEST, AtOffset, Reset, ResetPolicy
from zkconsumer.model import (
    ConsumerGroupMetadata,
    MemberState,
    OffsetAndMetadata,
    TopicPartition,
)
from zkconsumer.scope import wait_ms

_LOOK_MS = 20
"""So often a call that waits for a position looks whether it is known."""
_STATES = {
    **dict.fromkeys(("unjoined", "outside", "no group"), MemberState.UNJOINED),
    **dict.fromkeys(("stable", "owning"), MemberState.STABLE),
}
"""Where a member stands, of either kind of group; all else is a rebalance."""


class OffsetCalls:
    """What a consumer says, and is told, of where it stands."""

    _parts: ConsumerComponents

    @public_call
    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit, and wait until that is done.

        Args:
            offsets: the *next* offset to read of each partition; None: behind everything that was
                handed out, the record that an iteration handed out last among it.
            timeout_ms: by default ``default_api_timeout_ms``.

        Raises:
            CommitFailed: others may have the partitions by now; nothing was committed.
            RebalanceInProgress: poll, then commit again what is still ours.
            OffsetCommitFailed: some were not committed, or it isn't known in time; names them.
            GroupFailed: the group does not take our commits.
            IllegalState: there is no ``group_id``.
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
        """Commit without waiting; commits are done in the order in which they are asked for.

        Args:
            offsets: see ``commit``.
            callback: called as ``callback(offsets, error)``, error None where all went well; out
                of a later ``poll``, ``commit``, ``unsubscribe`` or ``close``, in their thread. By
                default ``default_offset_commit_callback``.

        Returns:
            What becomes of it.

        Raises:
            IllegalState: there is no ``group_id``.
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
        """For who asks after a commit without polling."""
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
        """What the group committed last for a partition, ours or not; None: nothing.

        Args:
            partition: which.
            metadata: whether to give all of it, not the offset alone.
            timeout_ms: by default ``default_api_timeout_ms``.

        Raises:
            RequestTimedOut: nobody could say in time.
            IllegalState: there is no ``group_id``.
        """
        found = self._committed(partition, timeout_ms)
        return found if found is None or metadata else found.offset

    @overload
    def position(self, partition: TopicPartition) -> int: ...
    @overload
    def position(
        self, partition: TopicPartition, timeout_ms: float | None = None
    ) -> int | None: ...

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int | None:
        """The offset of the next record that will be handed out; waits where it isn't known yet.

        Any thread may ask, also while another one polls; where it isn't known yet, that one's polls
        find it out.

        Args:
            partition: an assigned one.
            timeout_ms: how long to wait; by default ``default_api_timeout_ms``.

        Returns:
            The offset; None where it isn't known within the ``timeout_ms`` that was given.

        Raises:
            IllegalState: the partition is not assigned, or a rebalance took it meanwhile.
            NoOffsetForPartition: nothing is committed, and ``auto_offset_reset`` is none.
            RequestTimedOut: no time was given, and it isn't known within the default.
            ConsumerClosed: the consumer was closed, before or meanwhile.
        """
        return self._position(partition, timeout_ms)

    @public_call
    def _position(self, partition: TopicPartition, timeout_ms: float | None) -> int | None:
        parts = self._parts
        gate, session = parts.one_caller, parts.session
        gate.look_in()
        tp = self._assigned(partition)
        limit_ms = timeout_of(timeout_ms, parts.config.default_api_timeout_ms)
        deadline_ms = deadline_of(parts.clock, limit_ms)
        while (found := session.position_seen(tp)) is None:
            if not gate.is_anothers:
                with gate:
                    parts.loop.check()
                    session.starts.advance()
            left_ms = deadline_ms - parts.clock.now_ms()
            if left_ms <= 0:
                gate.check_open()
                if timeout_ms is not None:
                    return None
                why = parts.metadata.failure
                raise RequestTimedOut(
                    f"{tp}: where to read is not known after {limit_ms} ms"
                    f"{'' if why is None else f': {why}'}"
                )
            if gate.is_anothers:
                # His bell, and what is due, are not ours.
                wait_ms(min(left_ms, _LOOK_MS))
                gate.look_in()
                gate.check_open()
            else:
                with gate:
                    # It rings for records, not for a position that was found.
                    parts.wakeup.wait(min(left_ms, _LOOK_MS))
            # A rebalance may have taken it meanwhile.
            self._assigned(tp)
        return found.offset

    @public_call
    def highwater(self, partition: TopicPartition) -> int | None:
        """Behind the last record that is replicated, as of the last fetch; None: none came yet.

        Any thread may ask, also while another one polls.

        Raises:
            IllegalState: the partition is not assigned.
        """
        self._parts.one_caller.look_in()
        return self._parts.engine.high_watermark(self._assigned(partition))

    @public_call
    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Read on from an offset; the last word before the next poll counts.

        Args:
            partition: an assigned one.
            offset: the next one to read. With the leader's epoch of an ``OffsetAndMetadata`` a
                log that was cut back below it is noticed (KIP-320).

        Raises:
            IllegalState: the partition is not assigned.
        """
        with self._parts.one_caller:
            tp = self._assigned(partition)
            if isinstance(offset, OffsetAndMetadata):
                start = AtOffset(offset_of(offset.offset, f"{tp}"), offset.leader_epoch)
            else:
                start = AtOffset(offset_of(offset, f"{tp}"))
            self._parts.session.seek(tp, start)

    @public_call
    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Read on from the oldest record there is; of all assigned partitions where none is given.

        Raises:
            IllegalState: a partition is not assigned, or none is.
        """
        self._reset(partitions, EARLIEST)

    @public_call
    def group_metadata(self) -> ConsumerGroupMetadata:
        """Who we are to the group, at this moment. Any thread may ask, also while another polls.

        A transactional producer hands it on with the offsets that it commits for us, and the
        coordinator refuses them if others have our partitions by then (KIP-447).
        """
        self._parts.one_caller.look_in()
        config, membership = self._parts.config, self._parts.session.membership
        while True:
            found = ConsumerGroupMetadata(
                group_id=config.group_id,
                generation_id=membership.generation,
                member_id=membership.member_id,
                group_instance_id=config.group_instance_id,
                state=_STATES.get(membership.state, MemberState.REBALANCING),
            )
            # A rebalance may come between: a member of one generation, and another generation.
            if membership.generation == found.generation_id:
                return found

    @public_call
    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Read on with what comes from now on; see ``seek_to_beginning``.

        With ``read_committed`` that is behind the last record that no open transaction precedes.
        """
        self._reset(partitions, LATEST)

    @public_call
    def pause(self, *partitions: TopicPartition) -> None:
        """Hand out nothing of these partitions until ``resume``; what was fetched is kept.

        A rebalance that takes a partition away ends its pause, also where it gives it back at once,
        as all do but cooperative ones: pause it again in ``on_partitions_assigned``.

        Any thread may call it; a poll that is under way in another one may still hand out what it
        had taken when this began.

        Raises:
            IllegalState: a partition is not assigned.
        """
        self._parts.one_caller.look_in()
        self._parts.session.pause([self._assigned(partition) for partition in partitions])

    @public_call
    def resume(self, *partitions: TopicPartition) -> None:
        """Undo ``pause``. Any thread may call it, also while another one polls.

        Raises:
            IllegalState: a partition is not assigned.
        """
        self._parts.one_caller.look_in()
        self._parts.session.resume([self._assigned(partition) for partition in partitions])

    @public_call
    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused. Any thread may ask, also while another one polls."""
        self._parts.one_caller.look_in()
        return set(self._parts.engine.paused())

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
            return session.consumed(session.assignment())
        return positions_of(offsets, bare=bare)

    def _reset(self, partitions: tuple[TopicPartition, ...], policy: ResetPolicy) -> None:
        with self._parts.one_caller:
            session = self._parts.session
            chosen = [self._assigned(partition) for partition in partitions] or sorted(
                session.assignment()
            )
            if not chosen:
                raise NotAssigned("no partition is assigned yet: poll until some are")
            for tp in chosen:
                session.seek(tp, Reset(policy))

    def _assigned(self, partition: object) -> TopicPartition:
        tp = partition_of(partition)
        if tp not in self._parts.session.assignment():
            # By a close of another thread, it may be, at this moment.
            self._parts.one_caller.look_in()
            self._parts.one_caller.check_open()
            raise NotAssigned(f"{tp} is not assigned to this consumer (now, or yet)")
        return tp
