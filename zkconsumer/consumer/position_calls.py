"""The calls of a ``KafkaConsumer`` about positions."""

from typing import overload

from zkconsumer.consumer.arguments import offset_of, partition_of, timeout_of
from zkconsumer.consumer.closing import public_call
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.consumer.poll_loop import deadline_of
from zkconsumer.errors import NotAssigned, RequestTimedOut
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, LogEdge, PositionView
from zkconsumer.model import (
    OffsetAndMetadata,
    TopicPartition,
)
from zkconsumer.scope import wait_ms

_CHECK_INTERVAL_MS = 20
"""How often a call that waits for a position checks whether it is known."""


class PositionCalls:
    """The calls that read or change positions, or pause partitions. Thread: see each."""

    _parts: ConsumerComponents

    @overload
    def position(self, partition: TopicPartition) -> int: ...
    @overload
    def position(
        self, partition: TopicPartition, timeout_ms: float | None = None
    ) -> int | None: ...

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int | None:
        """Return the offset of the next record to hand out; wait while it is unknown.

        Args:
            partition: an assigned partition.
            timeout_ms: how long to wait, in ms; None: ``default_api_timeout_ms``.

        Returns:
            The offset; None if it is not known within a given ``timeout_ms``.

        Raises:
            ConfigError: an argument is invalid.
            IllegalState: the partition is not assigned, or a rebalance revoked it meanwhile; or the
                position is not known yet, and another thread is in a call of this consumer.
            NoOffsetForPartition: nothing is committed, and ``auto_offset_reset`` is none.
            RequestTimedOut: no time-out was given, and the position is unknown after the
                default.
            ConsumerClosed: the consumer was closed, before or meanwhile.
            ConsumerForked: this is a forked child.

        Thread: any, also while another one polls; a position that is not known yet is then looked
            up by that thread's polls.
        Source: Kafka ``KafkaConsumer.position``.
        """
        return self._position(partition, timeout_ms)

    @public_call
    def _position(self, partition: TopicPartition, timeout_ms: float | None) -> int | None:
        parts = self._parts
        gate, session = parts.one_caller, parts.session
        gate.check_access()
        tp = self._assigned(partition)
        limit_ms = timeout_of(timeout_ms, parts.config.default_api_timeout_ms)
        deadline_ms = deadline_of(parts.clock, limit_ms)
        while (found := session.positions.position_seen(tp)) is None:
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
                    f"{tp}: its position is still unknown after {limit_ms} ms"
                    f"{'' if why is None else f': {why}'}"
                )
            if gate.is_anothers:
                # Wake-ups and the work that is due belong to the polling thread.
                wait_ms(min(left_ms, _CHECK_INTERVAL_MS))
                gate.check_access()
                gate.check_open()
            else:
                with gate:
                    # Records wake this thread, a position that becomes known does not.
                    parts.wakeup.wait(min(left_ms, _CHECK_INTERVAL_MS))
            # A rebalance may have revoked it meanwhile.
            self._assigned(tp)
        return found.offset

    @public_call
    def highwater(self, partition: TopicPartition) -> int | None:
        """Return the high watermark of the last fetch, or None before the first.

        Args:
            partition: an assigned partition.

        Returns:
            The offset after the last replicated record; None before the first fetch.

        Raises:
            ConfigError: the argument is no partition.
            IllegalState: the partition is not assigned.
            ConsumerClosed: another thread is closing the consumer.
            ConsumerForked: this is a forked child.

        Thread: any, also while another one polls.
        Source: kafka-python ``KafkaConsumer.highwater``.
        """
        self._parts.one_caller.check_access()
        return self._parts.engine.high_watermark(self._assigned(partition))

    @public_call
    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Continue reading at an offset; only the last call before the next poll counts.

        Args:
            partition: an assigned partition.
            offset: the next offset to read. With the leader epoch of an ``OffsetAndMetadata``, a
                log truncated below it is detected (KIP-320).

        Raises:
            IllegalState: the partition is not assigned, or another thread is in a call of this
                consumer.
            ConfigError: an argument is no partition, or no offset.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll; a listener or a callback may call it.
        Source: Kafka ``KafkaConsumer.seek``.
        """
        with self._parts.one_caller:
            tp = self._assigned(partition)
            if isinstance(offset, OffsetAndMetadata):
                start = PositionView(offset_of(offset.offset, f"{tp}"), offset.leader_epoch)
            else:
                start = PositionView(offset_of(offset, f"{tp}"))
            self._parts.session.positions.seek(tp, start)

    @public_call
    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Continue reading at the first offset of each log, in all partitions if none is given.

        Args:
            *partitions: assigned partitions; none given: all that are assigned.

        Raises:
            ConfigError: an argument is no partition.
            IllegalState: a partition is not assigned, or none is, or another thread is in a call of
                this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll; a listener or a callback may call it.
        Source: Kafka ``KafkaConsumer.seekToBeginning``.
        """
        self._reset(partitions, EARLIEST)

    @public_call
    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Continue reading at the end of each log, in all partitions if none is given.

        With ``read_committed`` the end is the last stable offset.

        Args:
            *partitions: assigned partitions; none given: all that are assigned.

        Raises:
            ConfigError: an argument is no partition.
            IllegalState: a partition is not assigned, or none is, or another thread is in a call of
                this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll; a listener or a callback may call it.
        Source: Kafka ``KafkaConsumer.seekToEnd``.
        """
        self._reset(partitions, LATEST)

    @public_call
    def pause(self, *partitions: TopicPartition) -> None:
        """Hand out no records of partitions until ``resume``; fetched records are kept.

        The pause ends when a rebalance revokes the partition, even if it is assigned again, as in
        every rebalance that is not cooperative: pause it again in ``on_partitions_assigned``.

        Args:
            *partitions: assigned partitions.

        Raises:
            ConfigError: an argument is no partition.
            IllegalState: a partition is not assigned.
            ConsumerClosed: another thread is closing the consumer.
            ConsumerForked: this is a forked child.

        Thread: any; a poll under way in another thread may still hand out records that it has
            taken already.
        Source: Kafka ``KafkaConsumer.pause``.
        """
        self._parts.one_caller.check_access()
        self._parts.session.pause([self._assigned(partition) for partition in partitions])

    @public_call
    def resume(self, *partitions: TopicPartition) -> None:
        """Hand out records of paused partitions again.

        Args:
            *partitions: assigned partitions.

        Raises:
            ConfigError: an argument is no partition.
            IllegalState: a partition is not assigned.
            ConsumerClosed: another thread is closing the consumer.
            ConsumerForked: this is a forked child.

        Thread: any, also while another one polls.
        Source: Kafka ``KafkaConsumer.resume``.
        """
        self._parts.one_caller.check_access()
        self._parts.session.resume([self._assigned(partition) for partition in partitions])

    @public_call
    def paused(self) -> set[TopicPartition]:
        """Return the paused partitions.

        Returns:
            A new set.

        Raises:
            ConsumerClosed: another thread is closing the consumer.
            ConsumerForked: this is a forked child.

        Thread: any, also while another one polls.
        Source: Kafka ``KafkaConsumer.paused``.
        """
        self._parts.one_caller.check_access()
        return set(self._parts.engine.paused())

    def _reset(self, partitions: tuple[TopicPartition, ...], policy: LogEdge) -> None:
        with self._parts.one_caller:
            session = self._parts.session
            chosen = [self._assigned(partition) for partition in partitions] or sorted(
                session.assignment()
            )
            if not chosen:
                raise NotAssigned("no partition is assigned yet: poll until some are")
            for tp in chosen:
                session.positions.seek(tp, policy)

    def _assigned(self, partition: object) -> TopicPartition:
        tp = partition_of(partition)
        if tp not in self._parts.session.assignment():
            # Perhaps because another thread is closing the consumer.
            self._parts.one_caller.check_access()
            self._parts.one_caller.check_open()
            raise NotAssigned(f"{tp} is not assigned to this consumer (now, or yet)")
        return tp
