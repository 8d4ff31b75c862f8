"""The records written, delivered, processed and committed in a world, and their invariants."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.simulation.ledger import Violation
from zkconsumer.model import TopicPartition


@dataclass(slots=True, eq=False)
class PartitionHistory:
    """The history of one partition.

    Attributes:
        end: how many records were written.
        handed: every record below this was delivered by some poll.
        processed: every record below this was delivered, and its member polled again.
        committed: the offset that the coordinator stores.
        acknowledged: the highest commit whose sender received a success.
        reader: the member that received its records last.
        begins: by member, how many take-overs there had been when it took over.
        read: how many take-overs there had been when records were last delivered.
    """

    end: int = 0
    handed: int = 0
    processed: int = 0
    committed: int = 0
    acknowledged: int = 0
    reader: str = ""
    begins: dict[str, int] = field(default_factory=dict)
    read: int = 0


@dataclass(slots=True, eq=False)
class GroupLedger:
    """The history of all partitions.

    Attributes:
        delivered: how many records polls returned.
        repeated: how many of them an earlier poll had returned.
        refused: how many commits were refused.
    """

    lines: dict[TopicPartition, PartitionHistory] = field(default_factory=dict)
    delivered: int = 0
    repeated: int = 0
    refused: int = 0

    def line(self, tp: TopicPartition) -> PartitionHistory:
        """Return the partition's history, creating it if needed."""
        line = self.lines.get(tp)
        if line is None:
            line = self.lines[tp] = PartitionHistory()
        return line

    def take_over(self, tp: TopicPartition, who: str) -> int:
        """Record that a member takes the partition over; return its start offset.

        Raises:
            Violation: the offset is lower than one that a member knows to be committed.
        """
        line = self.line(tp)
        line.begins[who] = 1 + max(line.begins.values(), default=0)
        if line.committed < line.acknowledged:
            raise Violation(
                f"{who} starts {tp} at {line.committed}, but {line.acknowledged} was committed"
            )
        return line.committed

    def deliver(self, tp: TopicPartition, who: str, start: int, end: int) -> None:
        """Record that a poll returns these records.

        Raises:
            Violation: an earlier record was never delivered.
        """
        line = self.line(tp)
        if start > line.handed:
            raise Violation(f"{who} reads {tp} from {start}: {line.handed} was never handed out")
        line.reader, line.read = who, line.begins[who]
        self.delivered += end - start
        self.repeated += max(0, min(end, line.handed) - start)
        line.handed = max(line.handed, end)

    def process(self, tp: TopicPartition, end: int) -> None:
        """Record that the member polls again and so has processed its records."""
        line = self.line(tp)
        line.processed = max(line.processed, end)

    def commit(self, offsets: Iterable[tuple[TopicPartition, int]], who: str) -> None:
        """Record that the coordinator stores these offsets.

        Raises:
            Violation: a record below was not processed, or a member that took the partition over
                later has read from it.
        """
        for tp, offset in offsets:
            line = self.line(tp)
            if offset > line.processed:
                raise Violation(f"{who} commits {tp} at {offset}: done is {line.processed}")
            if line.read > line.begins[who]:
                raise Violation(f"{who} commits {tp}, which {line.reader} reads by now")
            line.committed = offset

    def acknowledge(self, offsets: Iterable[tuple[TopicPartition, int]]) -> None:
        """Record that the sender received a success."""
        for tp, offset in offsets:
            line = self.line(tp)
            line.acknowledged = max(line.acknowledged, offset)
