"""Records that an iteration took and has not handed out yet, by partition. Pure.

A poll takes many records at a time, an iteration hands out one. What lies between is here, so that
positions are those of what the caller has seen, and a seek, a pause or a rebalance in the middle
of it works as between two polls.
"""

from collections.abc import Collection, Iterator

from zkconsumer.fetch.polled.starts import NO_EPOCH, PositionView
from zkconsumer.model import TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord


class Stretch:
    """Records of one partition that wait to be handed out, one behind the other.

    Attributes:
        topic_partition: of which partition.
        left: gives those that are left; whoever takes one says so in ``last``.
        last: the record that was handed out last; None where none was.
    """

    __slots__ = ("_start", "last", "left", "topic_partition")

    def __init__(
        self, tp: TopicPartition, records: list[ConsumerRecord], start: PositionView
    ) -> None:
        self.topic_partition = tp
        self.left: Iterator[ConsumerRecord] = iter(records)
        self.last: ConsumerRecord | None = None
        self._start = start

    @property
    def position(self) -> PositionView:
        """The next record that the caller has not seen."""
        if self.last is None:
            return self._start
        epoch = self.last.leader_epoch
        return PositionView(self.last.offset + 1, NO_EPOCH if epoch is None else epoch)

    def end(self) -> None:
        """Nothing more comes of it, also for an iteration that is about to take the next."""
        for _ in self.left:
            pass

    def take(self, count: int) -> list[ConsumerRecord]:
        """Take so many at most."""
        taken = [record for _, record in zip(range(count), self.left, strict=False)]
        if taken:
            self.last = taken[-1]
        return taken


class Shelf:
    """All that waits. One that is used up is taken away by whoever finds it so."""

    def __init__(self) -> None:
        self._stretches: dict[TopicPartition, Stretch] = {}

    def __bool__(self) -> bool:
        return bool(self._stretches)

    def put(self, stretch: Stretch) -> None:
        """Behind all the others; nothing of its partition is here."""
        assert stretch.topic_partition not in self._stretches, stretch.topic_partition
        self._stretches[stretch.topic_partition] = stretch

    def first(self, among: Collection[TopicPartition]) -> Stretch | None:
        """The first of these partitions of which something waits."""
        for tp, stretch in self._stretches.items():
            if tp in among:
                return stretch
        return None

    def take(
        self, count: int, among: Collection[TopicPartition]
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Take so many at most of these partitions; used up ones go."""
        taken: dict[TopicPartition, list[ConsumerRecord]] = {}
        for tp in [one for one in self._stretches if one in among]:
            if count <= 0:
                break
            records = self._stretches[tp].take(count)
            if len(records) < count:
                del self._stretches[tp]
            if records:
                taken[tp] = records
                count -= len(records)
        return taken

    def position(self, tp: TopicPartition) -> PositionView | None:
        """Where the caller stands in a partition; None where nothing of it waits here."""
        stretch = self._stretches.get(tp)
        return None if stretch is None else stretch.position

    def positions(self) -> dict[TopicPartition, PositionView]:
        """Where the caller stands, in all partitions of which something waits."""
        return {tp: stretch.position for tp, stretch in self._stretches.items()}

    def partitions(self) -> frozenset[TopicPartition]:
        """Of which partitions something waits."""
        return frozenset(self._stretches)

    def used_up(self, stretch: Stretch) -> None:
        """Nothing of this one is left; another one may have taken its place already."""
        if self._stretches.get(stretch.topic_partition) is stretch:
            # A signal handler that closes may have come between.
            self._stretches.pop(stretch.topic_partition, None)

    def drop(self, tp: TopicPartition) -> None:
        """Nothing of this partition waits any more."""
        stretch = self._stretches.pop(tp, None)
        if stretch is not None:
            stretch.end()

    def clear(self) -> None:
        """Nothing waits any more."""
        self._stretches.clear()
