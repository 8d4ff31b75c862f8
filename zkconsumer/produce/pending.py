"""What is still to be written to each partition, in the order it has to be written in. Pure.

Several sets of a partition may be under way. They are acknowledged in their order, whatever the
order of the answers; behind one that failed nothing more is sent before it is written, and what was
under way behind it goes again after it.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zkconsumer.model import TopicPartition
from zkconsumer.produce.identity import sequence_behind
from zkconsumer.produce.outgoing import NO_SEQUENCE, Outgoing, ProducerSequence
from zkconsumer.produce.outgoing_sets import OutgoingRecords, OutgoingSet


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSet:
    """Records that a broker acknowledged, one behind the other in one partition.

    Attributes:
        topic_partition: where they lie.
        base_offset: the offset of the first one.
        count: how many there are.
    """

    topic_partition: TopicPartition
    base_offset: int
    count: int


@dataclass(slots=True, eq=False)
class PendingSet:
    """A set that was cut off, until it is written.

    Attributes:
        records: what it holds.
        sequence: as it was sent, or is to be sent again.
        base_offset: where it was written; None where it is not.
        is_under_way: a request with it waits for its response.
    """

    records: OutgoingSet
    sequence: ProducerSequence = NO_SEQUENCE
    base_offset: int | None = None
    is_under_way: bool = False


class _Partition:
    """What goes to one of them.

    Attributes:
        sets: those that were cut off and are not acknowledged, in order.
        left: what was not cut off yet.
        has_failed: one of ``sets`` failed: none is sent before nothing is under way.
        is_flowing: the last one that was answered was acknowledged. Before that a second one may
            not follow the first: a broker that knows nothing of a producer takes any number first,
            so that it would take the second where it refused the first (KAFKA-7190).
    """

    __slots__ = ("has_failed", "is_flowing", "left", "sets")

    def __init__(self, left: OutgoingRecords) -> None:
        self.left = left
        self.sets: deque[PendingSet] = deque()
        self.has_failed = False
        self.is_flowing = False

    @property
    def under_way(self) -> int:
        """How many sets are."""
        return sum(pending_set.is_under_way for pending_set in self.sets)

    def __len__(self) -> int:
        return len(self.left) + sum(len(pending_set.records) for pending_set in self.sets)


class Pending:
    """Sets that wait for their acknowledgement, in each partition one behind the other.

    Args:
        records: what each partition is to get, in this order.
        set_bytes: no set is made larger than this, unless one record is.
    """

    def __init__(
        self,
        records: Mapping[TopicPartition, Sequence[Outgoing] | OutgoingRecords],
        *,
        set_bytes: int,
    ) -> None:
        self.written: list[WrittenSet] = []
        self._set_bytes = set_bytes
        self._partitions = {
            tp: _Partition(
                wanted.copy() if isinstance(wanted, OutgoingRecords) else OutgoingRecords(wanted)
            )
            for tp, wanted in records.items()
            if wanted
        }

    def __bool__(self) -> bool:
        return bool(self._partitions)

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Return those to which something is still to be written."""
        return tuple(self._partitions)

    def next_set(self, tp: TopicPartition, depth: int = 1) -> PendingSet | None:
        """Return the set that may be sent to a partition now; None: there is none.

        Args:
            tp: the partition.
            depth: how many of its sets may be under way; one until one was acknowledged.
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
        """A set is written; what stands in front of it may not be yet."""
        pending_set.is_under_way, pending_set.base_offset = False, base_offset
        found = self._partitions[tp]
        found.is_flowing = not found.has_failed
        while found.sets and (base := found.sets[0].base_offset) is not None:
            count = len(found.sets.popleft().records)
            self.written.append(WrittenSet(topic_partition=tp, base_offset=base, count=count))
        if not len(found):
            del self._partitions[tp]

    def fail(self, tp: TopicPartition, pending_set: PendingSet) -> bool:
        """Return a set is not written, or nobody knows.

        Returns:
            Whether that is its own failure: nothing in front of it in the partition failed.
        """
        pending_set.is_under_way = False
        found = self._partitions[tp]
        found.has_failed, found.is_flowing = True, False
        return found.sets[0] is pending_set

    def halve(self, tp: TopicPartition) -> bool:
        """Cut the partition's next set in two; False where it is one record."""
        sets = self._partitions[tp].sets
        head = sets[0]
        if len(head.records) == 1:
            return False
        records, others = head.records.halves()
        # The numbers stay: what is under way behind it was counted with both.
        first = PendingSet(records, head.sequence)
        second = PendingSet(others, sequence_behind(head.sequence, len(records)))
        sets.popleft()
        sets.extendleft((second, first))
        return True

    def unsent(self) -> Iterator[PendingSet]:
        """All sets that were cut off and are not written, to be numbered again; none is in flight.

        Brokers know nothing of the new numbers, so one set goes first again (``is_flowing``).
        """
        for found in self._partitions.values():
            found.is_flowing = False
            for pending_set in found.sets:
                if pending_set.base_offset is None:
                    yield pending_set

    def counts(self) -> dict[TopicPartition, int]:
        """Return how many records of each partition are not acknowledged."""
        return {tp: len(found) for tp, found in self._partitions.items()}
