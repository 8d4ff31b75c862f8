"""Buffers records that an iteration took and has not handed out yet, by partition. Pure.

An iteration takes many records at a time and hands them out one by one. The rest is buffered here:
so positions follow the records that the caller has seen, and a seek, a pause or a rebalance between
two records works as between two polls.
"""

from collections.abc import Collection
from operator import length_hint
from typing import Final

from zkconsumer.consumer.steps import Steps
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.model import TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord

_ENOUGH_BYTES: Final = 1 << 20
_MOST_RECORDS: Final = 4_000
"""An iteration takes no more at a time than the larger of this many records and
``max_poll_records``: each time costs some 30 us, whatever it takes."""


class BufferedRecords:
    """Records of one partition that wait to be handed out, in order.

    Attributes:
        topic_partition: their partition.
        steps: iterates over the remaining ones.
    """

    __slots__ = ("_start", "steps", "topic_partition")

    def __init__(
        self, tp: TopicPartition, records: list[ConsumerRecord], start: PositionView
    ) -> None:
        self.topic_partition = tp
        self.steps = Steps(records)
        self._start = start

    @property
    def position(self) -> PositionView:
        """The position of the next record to hand out."""
        last = self.steps.last
        if last is None:
            return self._start
        return PositionView(last.offset + 1, last.leader_epoch)

    @property
    def is_used_up(self) -> bool:
        """Whether all records were handed out."""
        return not length_hint(self.steps)


class FetchBuffer:
    """Holds the buffered records; used-up entries stay until ``clear_used_up`` or ``take``."""

    def __init__(self) -> None:
        self._by_partition: dict[TopicPartition, BufferedRecords] = {}
        self._taken_records = self._taken_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._by_partition)

    def count_to_take(self, least: int) -> int:
        """Return how many records to take at a time: more than ``least`` if records are small.

        It grows step by step, so that a few small records do not have many large ones copied.
        """
        if not self._taken_records:
            return least
        count = _ENOUGH_BYTES * self._taken_records // max(1, self._taken_bytes)
        return max(least, min(count, 2 * self._taken_records, _MOST_RECORDS))

    def on_taken(self, records: int, size_bytes: int) -> None:
        """Learn the size of records from those taken last."""
        self._taken_records, self._taken_bytes = records, size_bytes

    def put(self, buffered: BufferedRecords) -> None:
        """Add an entry for a partition that has none."""
        assert buffered.topic_partition not in self._by_partition, buffered.topic_partition
        self._by_partition[buffered.topic_partition] = buffered

    def first(self, among: Collection[TopicPartition]) -> BufferedRecords | None:
        """Return the first entry of these partitions, or None."""
        for tp, buffered in self._by_partition.items():
            if tp in among:
                return buffered
        return None

    def take(
        self, count: int, among: Collection[TopicPartition]
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Take up to ``count`` records of these partitions; remove entries that had fewer."""
        taken: dict[TopicPartition, list[ConsumerRecord]] = {}
        for tp in [tp for tp in self._by_partition if tp in among]:
            if count <= 0:
                break
            records = self._by_partition[tp].steps.take(count)
            if len(records) < count:
                del self._by_partition[tp]
            if records:
                taken[tp] = records
                count -= len(records)
        return taken

    def position(self, tp: TopicPartition) -> PositionView | None:
        """Return the caller's position in a partition; None if it has no entry."""
        buffered = self._by_partition.get(tp)
        return None if buffered is None else buffered.position

    def positions(self) -> dict[TopicPartition, PositionView]:
        """Return the caller's positions in all buffered partitions."""
        return {tp: buffered.position for tp, buffered in self._by_partition.items()}

    def partitions(self) -> frozenset[TopicPartition]:
        """Return the partitions with entries."""
        return frozenset(self._by_partition)

    def clear_used_up(self) -> None:
        """Remove the used-up entries."""
        for tp in [tp for tp, buffered in self._by_partition.items() if buffered.is_used_up]:
            del self._by_partition[tp]

    def drop(self, tp: TopicPartition) -> None:
        """Remove a partition's entry."""
        buffered = self._by_partition.pop(tp, None)
        if buffered is not None:
            buffered.steps.end()

    def end(self) -> None:
        """Hand out no further record, even to an iteration that is about to take one."""
        for buffered in self._by_partition.values():
            buffered.steps.end()

    def clear(self) -> None:
        """Remove all entries."""
        self._by_partition.clear()
