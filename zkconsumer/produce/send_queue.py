"""The records that a producer was given and that are not acknowledged yet. Pure.

Each partition has a queue. It is due when it holds a batch, when its first record has lingered
long enough, or when somebody waits for it, or for room (``hurry``). What is taken is in hand until
it is settled, of each partition in its order; what was not written goes back to the front.

Source: Kafka 3.9 ``RecordAccumulator``.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from zkconsumer.model import TopicPartition
from zkconsumer.produce.outgoing import Outgoing

_BATCHES_IN_HAND = 10
"""The batches of a partition in hand: five may be in flight, and five more wait their turn."""


class QueuedRecord(NamedTuple):
    """A record to write.

    Attributes:
        outgoing: the record.
        size: its size in bytes.
        since_ms: when it was queued.
        number: the position among all records of this producer.
        future: the caller's, to be resolved.
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
        waiting: those that were not taken yet.
        waiting_bytes: their size.
        in_hand: those that were taken and are not settled.
        in_hand_bytes: their size.
    """

    __slots__ = ("in_hand", "in_hand_bytes", "waiting", "waiting_bytes")

    def __init__(self) -> None:
        self.waiting: deque[QueuedRecord] = deque()
        self.waiting_bytes = 0
        self.in_hand: deque[QueuedRecord] = deque()
        self.in_hand_bytes = 0

    def __len__(self) -> int:
        return len(self.waiting) + len(self.in_hand)


class SendQueue:
    """Records by partition, in order. Thread: one at a time.

    Args:
        limits: the settings.

    Attributes:
        used_bytes: the size of all records, those in hand included.
    """

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._next_number = 0
        self._hurried = 0
        self.used_bytes = 0

    def has_room(self, size: int) -> bool:
        """Return whether a record of this size can be queued; one alone always can."""
        return not self.used_bytes or self.used_bytes + size <= self._limits.buffer_memory

    def add(
        self, tp: TopicPartition, outgoing: Outgoing, *, size: int, now_ms: int, future: object
    ) -> bool:
        """Queue a record; return whether its partition may have become due, or due sooner."""
        found = self._partitions.setdefault(tp, _Partition())
        found.waiting.append(QueuedRecord(outgoing, size, now_ms, self._next_number, future))
        self._next_number += 1
        found.waiting_bytes += size
        self.used_bytes += size
        return len(found.waiting) == 1 or found.waiting_bytes >= self._limits.batch_size

    def hurry(self) -> bool:
        """Make all records due, later ones linger as usual; return whether that changed any."""
        before, self._hurried = self._hurried, self._next_number
        return before != self._hurried

    def everything(self) -> list[QueuedRecord]:
        """Return all records that are not settled."""
        return [
            record
            for found in self._partitions.values()
            for record in (*found.in_hand, *found.waiting)
        ]

    def due_ms(self, now_ms: int) -> int | None:
        """Return in how many ms the first partition is due; None if no record waits."""
        times = [
            self._partition_due_ms(found, now_ms)
            for found in self._partitions.values()
            if found.waiting
        ]
        return min(times, default=None)

    def take(self, now_ms: int) -> Mapping[TopicPartition, Sequence[Outgoing]]:
        """Take the due records in hand, of each partition some batches at most."""
        return {
            tp: taken
            for tp, found in self._partitions.items()
            if found.waiting
            and self._partition_due_ms(found, now_ms) <= 0
            and (taken := self._taken(found))
        }

    def settle(self, tp: TopicPartition, count: int) -> list[QueuedRecord]:
        """Remove the first records in hand of a partition, and return them."""
        found = self._partitions.get(tp)
        if found is None:
            return []
        settled = [found.in_hand.popleft() for _ in range(min(count, len(found.in_hand)))]
        size = sum(record.size for record in settled)
        found.in_hand_bytes -= size
        self._remove(tp, found, size)
        return settled

    def in_hand(self, tp: TopicPartition) -> int:
        """Return the number of records in hand of a partition."""
        found = self._partitions.get(tp)
        return len(found.in_hand) if found else 0

    def put_back(self) -> None:
        """Put all records in hand back to the front of their queues."""
        for found in self._partitions.values():
            found.waiting.extendleft(reversed(found.in_hand))
            found.waiting_bytes += found.in_hand_bytes
            found.in_hand.clear()
            found.in_hand_bytes = 0

    def clear(self) -> list[QueuedRecord]:
        """Remove all records, and return them."""
        removed = self.everything()
        self._partitions.clear()
        self.used_bytes = 0
        return removed

    def expire(self, now_ms: int) -> Mapping[TopicPartition, Sequence[QueuedRecord]]:
        """Remove the waiting records that are too old, and return them."""
        expired: dict[TopicPartition, list[QueuedRecord]] = {}
        for tp, found in list(self._partitions.items()):
            old = []
            while found.waiting and self._is_old(found.waiting[0], now_ms):
                old.append(found.waiting.popleft())
            if old:
                size = sum(record.size for record in old)
                found.waiting_bytes -= size
                self._remove(tp, found, size)
                expired[tp] = old
        return expired

    def may_retry(self, tp: TopicPartition, now_ms: int) -> bool:
        """Return whether the first record in hand of a partition is not too old."""
        found = self._partitions.get(tp)
        if found is None or not found.in_hand:
            return False
        return not self._is_old(found.in_hand[0], now_ms)

    def _is_old(self, record: QueuedRecord, now_ms: int) -> bool:
        return now_ms - record.since_ms >= self._limits.delivery_timeout_ms

    def _partition_due_ms(self, found: _Partition, now_ms: int) -> int:
        first = found.waiting[0]
        if found.waiting_bytes >= self._limits.batch_size or first.number < self._hurried:
            return 0
        return max(0, first.since_ms + self._limits.linger_ms - now_ms)

    def _taken(self, found: _Partition) -> list[Outgoing]:
        taken: list[Outgoing] = []
        limit = _BATCHES_IN_HAND * self._limits.batch_size
        while found.waiting and (found.in_hand_bytes < limit or not found.in_hand):
            record = found.waiting.popleft()
            found.waiting_bytes -= record.size
            found.in_hand.append(record)
            found.in_hand_bytes += record.size
            taken.append(record.outgoing)
        return taken

    def _remove(self, tp: TopicPartition, found: _Partition, size: int) -> None:
        self.used_bytes -= size
        if not len(found):
            del self._partitions[tp]
