"""Records that an iteration took and has not handed out yet, by partition. Pure.

A poll takes many records at a time, an iteration hands out one. What lies between is here, so that
positions are those of what the caller has seen, and a seek, a pause or a rebalance in the middle
of it works as between two polls.
"""

from collections.abc import Collection
from operator import length_hint

from zkconsumer.consumer.steps import Steps
from zkconsumer.fetch.polled.starts import PositionView
from zkconsumer.model import TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord


class BufferedRecords:
    """Records of one partition that wait to be handed out, one behind the other.

    Attributes:
        topic_partition: of which partition.
        steps: the records.
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
        """The next record that the caller has not seen."""
        last = self.steps.last
        if last is None:
            return self._start
        return PositionView(last.offset + 1, last.leader_epoch)

    @property
    def is_used_up(self) -> bool:
        """Whether all its records were handed out."""
        return not length_hint(self.steps)


class FetchBuffer:
    """All that waits. Those that are used up stay until ``clear_used_up``, or ``take``."""

    def __init__(self) -> None:
        self._stretches: dict[TopicPartition, BufferedRecords] = {}

    def __bool__(self) -> bool:
        return bool(self._stretches)

    def put(self, range_: BufferedRecords) -> None:
        """Behind all the others; nothing of its partition is here."""
        assert range_.topic_partition not in self._stretches, range_.topic_partition
        self._stretches[range_.topic_partition] = range_

    def first(self, among: Collection[TopicPartition]) -> BufferedRecords | None:
        """The first of these partitions of which something waits."""
        for tp, range_ in self._stretches.items():
            if tp in among:
                return range_
        return None

    def take(
        self, count: int, among: Collection[TopicPartition]
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Take so many at most of these partitions; used up ones go."""
        taken: dict[TopicPartition, list[ConsumerRecord]] = {}
        for tp in [tp for tp in self._stretches if tp in among]:
            if count <= 0:
                break
            records = self._stretches[tp].steps.take(count)
            if len(records) < count:
                del self._stretches[tp]
            if records:
                taken[tp] = records
                count -= len(records)
        return taken

    def position(self, tp: TopicPartition) -> PositionView | None:
        """Where the caller stands in a partition; None where nothing of it waits here."""
        range_ = self._stretches.get(tp)
        return None if range_ is None else range_.position

    def positions(self) -> dict[TopicPartition, PositionView]:
        """Where the caller stands, in all partitions of which something waits."""
        return {tp: range_.position for tp, range_ in self._stretches.items()}

    def partitions(self) -> frozenset[TopicPartition]:
        """Of which partitions something waits."""
        return frozenset(self._stretches)

    def clear_used_up(self) -> None:
        """Nothing waits any more of what was handed out to its end."""
        for tp in [tp for tp, range_ in self._stretches.items() if range_.is_used_up]:
            del self._stretches[tp]

    def drop(self, tp: TopicPartition) -> None:
        """Nothing of this partition waits any more."""
        range_ = self._stretches.pop(tp, None)
        if range_ is not None:
            range_.steps.end()

    def end(self) -> None:
        """Give out nothing more, also to an iteration that is about to take the next record."""
        for range_ in self._stretches.values():
            range_.steps.end()

    def clear(self) -> None:
        """Nothing waits any more."""
        self._stretches.clear()
