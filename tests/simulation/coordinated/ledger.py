"""What was written, handed out, processed and committed in a world, and what must never be."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.simulation.ledger import Violation
from zkconsumer.model import TopicPartition


@dataclass(slots=True, eq=False)
class Line:
    """One partition.

    Attributes:
        end: how much was written.
        handed: all below this was handed out by some poll.
        processed: all below this was handed out, and its member polled again.
        committed: what the coordinator stores.
        acknowledged: the highest commit that its sender was told to be stored.
        reader: who had records of it last.
        begins: how many had taken it over when each member did.
        read: how many had when records were last handed out.
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
    """The truth about all partitions.

    Attributes:
        delivered: how many records polls gave.
        repeated: how many of them some poll had given before.
        refused: how many commits were refused.
    """

    lines: dict[TopicPartition, Line] = field(default_factory=dict)
    delivered: int = 0
    repeated: int = 0
    refused: int = 0

    def line(self, tp: TopicPartition) -> Line:
        """The partition's."""
        line = self.lines.get(tp)
        if line is None:
            line = self.lines[tp] = Line()
        return line

    def take_over(self, tp: TopicPartition, who: str) -> int:
        """Somebody reads it from now on; gives where.

        Raises:
            Violation: that is before what a member knows to be committed.
        """
        line = self.line(tp)
        line.begins[who] = 1 + max(line.begins.values(), default=0)
        if line.committed < line.acknowledged:
            raise Violation(
                f"{who} starts {tp} at {line.committed}, but {line.acknowledged} was committed"
            )
        return line.committed

    def deliver(self, tp: TopicPartition, who: str, start: int, end: int) -> None:
        """A poll gives these records.

        Raises:
            Violation: something before them was never given.
        """
        line = self.line(tp)
        if start > line.handed:
            raise Violation(f"{who} reads {tp} from {start}: {line.handed} was never handed out")
        line.reader, line.read = who, line.begins[who]
        self.delivered += end - start
        self.repeated += max(0, min(end, line.handed) - start)
        line.handed = max(line.handed, end)

    def process(self, tp: TopicPartition, end: int) -> None:
        """The member polls again: it is done with what it had."""
        line = self.line(tp)
        line.processed = max(line.processed, end)

    def commit(self, offsets: Iterable[tuple[TopicPartition, int]], who: str) -> None:
        """The coordinator stores these.

        Raises:
            Violation: something below was not processed, or somebody who took the partition over
                later has read of it.
        """
        for tp, offset in offsets:
            line = self.line(tp)
            if offset > line.processed:
                raise Violation(f"{who} commits {tp} at {offset}: done is {line.processed}")
            if line.read > line.begins[who]:
                raise Violation(f"{who} commits {tp}, which {line.reader} reads by now")
            line.committed = offset

    def acknowledge(self, offsets: Iterable[tuple[TopicPartition, int]]) -> None:
        """Their sender knows."""
        for tp, offset in offsets:
            line = self.line(tp)
            line.acknowledged = max(line.acknowledged, offset)
