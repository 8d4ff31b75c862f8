"""What is still to be written to each partition, in the order it has to be written in. Pure."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zkconsumer.model import TopicPartition
from zkconsumer.produce.outgoing import Outgoing, outgoing_bytes


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


class Pending:
    """Sets that wait for their acknowledgement, in each partition one behind the other.

    Args:
        records: what each partition is to get, in this order.
        set_bytes: no set is made larger than this, unless one record is.
    """

    def __init__(
        self, records: Mapping[TopicPartition, Sequence[Outgoing]], *, set_bytes: int
    ) -> None:
        self.written: list[WrittenSet] = []
        self._sets = {
            tp: deque(_cut(wanted, set_bytes)) for tp, wanted in records.items() if wanted
        }

    def __bool__(self) -> bool:
        return bool(self._sets)

    def heads(self) -> dict[TopicPartition, tuple[Outgoing, ...]]:
        """The next set of each partition."""
        return {tp: sets[0] for tp, sets in self._sets.items()}

    def acknowledge(self, tp: TopicPartition, base_offset: int) -> None:
        """The partition's next set is written."""
        sets = self._sets[tp]
        done = sets.popleft()
        self.written.append(
            WrittenSet(topic_partition=tp, base_offset=base_offset, count=len(done))
        )
        if not sets:
            del self._sets[tp]

    def halve(self, tp: TopicPartition) -> bool:
        """Cut the partition's next set in two; False where it is one record."""
        sets = self._sets[tp]
        head = sets[0]
        if len(head) == 1:
            return False
        middle = len(head) // 2
        sets[0] = head[middle:]
        sets.appendleft(head[:middle])
        return True

    def counts(self) -> dict[TopicPartition, int]:
        """How many records of each partition are not acknowledged."""
        return {tp: sum(map(len, sets)) for tp, sets in self._sets.items()}


def _cut(records: Sequence[Outgoing], set_bytes: int) -> Iterator[tuple[Outgoing, ...]]:
    taken: list[Outgoing] = []
    size = 0
    for record in records:
        wanted = outgoing_bytes(record)
        if taken and size + wanted > set_bytes:
            yield tuple(taken)
            taken, size = [], 0
        taken.append(record)
        size += wanted
    if taken:
        yield tuple(taken)
