"""Keeps the sets still to be written to each partition, in order. Pure.

Several sets of a partition may be in flight. They are acknowledged in their order, whatever the
order of the responses. After a set has failed, no later one is sent until it is written, and those
that were in flight after it are sent again.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zkconsumer.model import TopicPartition
from zkconsumer.produce.identity import sequence_after
from zkconsumer.produce.outgoing import NO_SEQUENCE, Outgoing, ProducerSequence
from zkconsumer.produce.outgoing_sets import OutgoingPart, OutgoingRecords


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSet:
    """Consecutive records in one partition that a broker acknowledged.

    Attributes:
        topic_partition: the partition.
        base_offset: the offset of the first record.
        count: the number of records.
    """

    topic_partition: TopicPartition
    base_offset: int
    count: int


@dataclass(slots=True, eq=False)
class PendingSet:
    """A set to be written.

    Attributes:
        records: the records of the set.
        sequence: the sequence to send it with.
        base_offset: the offset of its first record, once written; else None.
        is_under_way: whether it is in flight.
    """

    records: OutgoingPart
    sequence: ProducerSequence = NO_SEQUENCE
    base_offset: int | None = None
    is_under_way: bool = False


class _Partition:
    """The sets and queued records of one partition.

    Attributes:
        sets: the unacknowledged sets, in order.
        left: the records that are not in a set yet.
        has_failed: whether one of ``sets`` failed: then nothing is sent until none is in flight.
        is_flowing: whether the last response was an acknowledgement. If not, only one set may be in
            flight: a broker without state of a producer accepts any first sequence, so it would
            accept the second set after refusing the first (KAFKA-7190).
    """

    __slots__ = ("has_failed", "is_flowing", "left", "sets")

    def __init__(self, left: OutgoingRecords) -> None:
        self.left = left
        self.sets: deque[PendingSet] = deque()
        self.has_failed = False
        self.is_flowing = False

    @property
    def under_way(self) -> int:
        """The number of sets in flight."""
        return sum(pending_set.is_under_way for pending_set in self.sets)

    def __len__(self) -> int:
        return len(self.left) + sum(len(pending_set.records) for pending_set in self.sets)


class Pending:
    """Keeps the unacknowledged sets of each partition in order.

    Args:
        records: the records of each partition, in order.
        set_bytes: the maximum size of a set, unless one record is larger.
    """

    def __init__(
        self,
        records: Mapping[TopicPartition, Sequence[Outgoing] | OutgoingRecords],
        *,
        set_bytes: int,
    ) -> None:
        self.written: list[WrittenSet] = []
        self._set_bytes = set_bytes
        self._partitions: dict[TopicPartition, _Partition] = {}
        self.add(records)

    def __bool__(self) -> bool:
        return bool(self._partitions)

    def add(self, records: Mapping[TopicPartition, Sequence[Outgoing] | OutgoingRecords]) -> None:
        """Append records to those that are pending already."""
        for tp, wanted in records.items():
            if not wanted:
                continue
            added = wanted if isinstance(wanted, OutgoingRecords) else OutgoingRecords(wanted)
            found = self._partitions.get(tp)
            if found is None:
                self._partitions[tp] = _Partition(added.copy())
            else:
                found.left.extend(added)

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Return the partitions with unwritten records."""
        return tuple(self._partitions)

    def next_set(self, tp: TopicPartition, depth: int = 1) -> PendingSet | None:
        """Return the next set to send to a partition; None if none may be sent now.

        Args:
            tp: the partition.
            depth: the maximum number of its sets in flight; 1 until a set was acknowledged.
        """
        found = self._partitions.get(tp)
        if found is None:
            return None
        under_way = found.under_way
        if under_way and (found.has_failed or not found.is_flowing or under_way >= depth):
            return None
        found.has_failed = False
        for pending_set in found.sets:
            if not pending_set.is_under_way and pending_set.base_offset is None:
                return pending_set
        if not len(found.left):
            return None
        made = PendingSet(found.left.cut(self._set_bytes))
        found.sets.append(made)
        return made

    def acknowledge(self, tp: TopicPartition, pending_set: PendingSet, base_offset: int) -> None:
        """Record that a set is written; earlier ones may not be yet."""
        pending_set.is_under_way, pending_set.base_offset = False, base_offset
        found = self._partitions[tp]
        found.is_flowing = not found.has_failed
        self._take_written(tp, found)

    def _take_written(self, tp: TopicPartition, found: _Partition) -> None:
        while found.sets and (base := found.sets[0].base_offset) is not None:
            count = len(found.sets.popleft().records)
            self.written.append(WrittenSet(topic_partition=tp, base_offset=base, count=count))
        if not len(found):
            del self._partitions[tp]

    def fail(self, tp: TopicPartition, pending_set: PendingSet) -> bool:
        """Record that a set is not written, or may not be.

        Returns:
            False if it failed only because an earlier set of the partition did.
        """
        pending_set.is_under_way = False
        found = self._partitions[tp]
        found.has_failed, found.is_flowing = True, False
        return found.sets[0] is pending_set

    def halve(self, tp: TopicPartition) -> bool:
        """Split the partition's next set in two; return False if it is a single record."""
        sets = self._partitions[tp].sets
        head = sets[0]
        if len(head.records) == 1:
            return False
        records, others = head.records.split(len(head.records) // 2)
        # The halves keep the set's numbers: later sets in flight were numbered after it.
        first = PendingSet(records, head.sequence)
        second = PendingSet(others, sequence_after(head.sequence, len(records)))
        sets.popleft()
        sets.extendleft((second, first))
        return True

    def renumber(self, tp: TopicPartition) -> None:
        """Remove the numbers of a partition's unwritten sets; sending them assigns new ones."""
        for pending_set in self._partitions[tp].sets:
            if pending_set.base_offset is None:
                pending_set.sequence = NO_SEQUENCE

    def may_be_written(self, tp: TopicPartition) -> bool:
        """Return whether the next set was numbered, so that it may be in the log already."""
        found = self._partitions[tp]
        return bool(found.sets) and found.sets[0].sequence is not NO_SEQUENCE

    def is_under_way(self, tp: TopicPartition) -> bool:
        """Return whether sets of a partition are in flight."""
        return bool(self._partitions[tp].under_way)

    def drop_next(self, tp: TopicPartition) -> int:
        """Remove the next set, while no set is in flight; return its number of records."""
        found = self._partitions[tp]
        count = len(found.sets.popleft().records)
        self._take_written(tp, found)
        return count

    def drop(self, tp: TopicPartition) -> int:
        """Remove a partition without a set in flight; return the number of its records."""
        return len(self._partitions.pop(tp))

    def counts(self) -> dict[TopicPartition, int]:
        """Return the number of unacknowledged records by partition."""
        return {tp: len(found) for tp, found in self._partitions.items()}
