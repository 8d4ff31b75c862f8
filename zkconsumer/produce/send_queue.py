"""Keeps the records of a producer that are not acknowledged yet. Pure.

Each partition has a queue. It is due when it holds a batch, when its first record has lingered
long enough, or when a caller waits for its records or for capacity (``hurry``). Records that were
taken are in flight until they are settled, for each partition in order.

Source: Kafka 3.9 ``RecordAccumulator``.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from zkconsumer.model import TopicPartition
from zkconsumer.produce.outgoing import Outgoing

_BATCHES_IN_FLIGHT = 10
"""The maximum of batches taken from a partition: five in requests, and five more ready."""


class QueuedRecord(NamedTuple):
    """A record to write.

    Attributes:
        outgoing: the record.
        size: its size in bytes.
        since_ms: when it was queued.
        number: its position among all records of this producer.
        future: the caller's future.
    """

    outgoing: Outgoing
    size: int
    since_ms: int
    number: int
    future: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """The settings of a queue; see the producer's settings of the same names.

    Attributes:
        batch_size: bytes.
        linger_ms: milliseconds.
        buffer_memory: bytes.
        delivery_timeout_ms: milliseconds.
    """

    batch_size: int
    linger_ms: int
    buffer_memory: int
    delivery_timeout_ms: int


class _Partition:
    """The records of one partition.

    Attributes:
        waiting: the records that were not taken yet.
        waiting_bytes: the size of waiting records.
        in_flight: the records that were taken and are not settled.
        in_flight_bytes: the size of records in flight.
    """

    __slots__ = ("in_flight", "in_flight_bytes", "waiting", "waiting_bytes")

    def __init__(self) -> None:
        self.waiting: deque[QueuedRecord] = deque()
        self.waiting_bytes = 0
        self.in_flight: deque[QueuedRecord] = deque()
        self.in_flight_bytes = 0

    def __len__(self) -> int:
        return len(self.waiting) + len(self.in_flight)


class SendQueue:
    """A queue of records for each partition, in order. Thread: one at a time.

    Attributes:
        used_bytes: the size of all records, including those in flight.
    """

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._next_number = 0
        self._hurried = 0
        self.used_bytes = 0

    def has_capacity(self, size: int) -> bool:
        """Return whether a record of this size can be queued; an empty queue takes any."""
        return not self.used_bytes or self.used_bytes + size <= self._limits.buffer_memory

    def add(
        self, tp: TopicPartition, outgoing: Outgoing, *, size: int, now_ms: int, future: object
    ) -> bool:
        """Queue a record; return whether its partition may have become due, or due sooner."""
        partition = self._partitions.setdefault(tp, _Partition())
        partition.waiting.append(QueuedRecord(outgoing, size, now_ms, self._next_number, future))
        self._next_number += 1
        partition.waiting_bytes += size
        self.used_bytes += size
        return len(partition.waiting) == 1 or partition.waiting_bytes >= self._limits.batch_size

    def hurry(self) -> bool:
        """Make all queued records due; return whether any were queued since the last call."""
        before, self._hurried = self._hurried, self._next_number
        return before != self._hurried

    def everything(self) -> list[QueuedRecord]:
        """Return all records that are not settled."""
        return [
            record
            for partition in self._partitions.values()
            for record in (*partition.in_flight, *partition.waiting)
        ]

    def due_ms(self, now_ms: int) -> int | None:
        """Return the time until the first partition is due, ms; None if no record waits."""
        times = [
            self._partition_due_ms(partition, now_ms)
            for partition in self._partitions.values()
            if partition.waiting
        ]
        return min(times, default=None)

    def take(self, now_ms: int) -> Mapping[TopicPartition, Sequence[Outgoing]]:
        """Take due records, a limited number of batches per partition; they are then in flight."""
        return {
            tp: taken
            for tp, partition in self._partitions.items()
            if partition.waiting
            and self._partition_due_ms(partition, now_ms) <= 0
            and (taken := self._taken(partition))
        }

    def settle(self, tp: TopicPartition, count: int) -> list[QueuedRecord]:
        """Remove the first ``count`` records in flight of a partition, and return them."""
        partition = self._partitions.get(tp)
        if partition is None:
            return []
        settled = [
            partition.in_flight.popleft() for _ in range(min(count, len(partition.in_flight)))
        ]
        size = sum(record.size for record in settled)
        partition.in_flight_bytes -= size
        self._remove(tp, partition, size)
        return settled

    def clear(self) -> list[QueuedRecord]:
        """Remove all records, and return them."""
        removed = self.everything()
        self._partitions.clear()
        self.used_bytes = 0
        return removed

    def expire(self, now_ms: int) -> Mapping[TopicPartition, Sequence[QueuedRecord]]:
        """Remove the waiting records that are too old, and return them."""
        expired: dict[TopicPartition, list[QueuedRecord]] = {}
        for tp, partition in list(self._partitions.items()):
            old = []
            while partition.waiting and self._is_old(partition.waiting[0], now_ms):
                old.append(partition.waiting.popleft())
            if old:
                size = sum(record.size for record in old)
                partition.waiting_bytes -= size
                self._remove(tp, partition, size)
                expired[tp] = old
        return expired

    def may_retry(self, tp: TopicPartition, now_ms: int) -> bool:
        """Return whether a partition's first record in flight is not too old to be sent again."""
        partition = self._partitions.get(tp)
        if partition is None or not partition.in_flight:
            return False
        return not self._is_old(partition.in_flight[0], now_ms)

    def _is_old(self, record: QueuedRecord, now_ms: int) -> bool:
        return now_ms - record.since_ms >= self._limits.delivery_timeout_ms

    def _partition_due_ms(self, partition: _Partition, now_ms: int) -> int:
        first = partition.waiting[0]
        if partition.waiting_bytes >= self._limits.batch_size or first.number < self._hurried:
            return 0
        return max(0, first.since_ms + self._limits.linger_ms - now_ms)

    def _taken(self, partition: _Partition) -> list[Outgoing]:
        taken: list[Outgoing] = []
        limit = _BATCHES_IN_FLIGHT * self._limits.batch_size
        # A record larger than a batch makes a batch of its own, which must not wait for the others.
        while partition.waiting and (
            partition.in_flight_bytes < limit or len(partition.in_flight) < _BATCHES_IN_FLIGHT
        ):
            record = partition.waiting.popleft()
            partition.waiting_bytes -= record.size
            partition.in_flight.append(record)
            partition.in_flight_bytes += record.size
            taken.append(record.outgoing)
        return taken

    def _remove(self, tp: TopicPartition, partition: _Partition, size: int) -> None:
        self.used_bytes -= size
        if not len(partition):
            del self._partitions[tp]
