"""What one poll gave, on its way into the target: what is written, and how far that reaches. Pure.

An offset may be committed when everything in front of it is acknowledged. With ``key`` and
``round-robin`` the messages of one partition go to many, so that may end before what was
acknowledged last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zkconsumer.mirror.landed import Landed, runs_of
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.outgoing import HeadedRecord, Outgoing
from zkconsumer.records.consumer_record import ConsumerRecord


@dataclass(slots=True)
class _Strand:
    """What goes to one partition of the target; the first ``done`` are there, or dropped."""

    outgoing: list[Outgoing] = field(default_factory=list)
    sources: list[tuple[TopicPartition, int]] = field(default_factory=list)
    """Of each message where it comes from."""
    done: int = 0


@dataclass(frozen=True, slots=True)
class Dropped:
    """A message that the target will never take."""

    source: TopicPartition
    offset: int
    target: TopicPartition


def outgoing_of(record: ConsumerRecord, *, with_headers: bool) -> Outgoing:
    """The message as it is written: key, value, timestamp, headers."""
    plain = Record(record.offset, record.key, record.value, record.timestamp)
    headers = record.headers if with_headers else ()
    return HeadedRecord(plain, tuple(headers)) if headers else plain


class Batch:
    """Thread: one at a time."""

    def __init__(self) -> None:
        self._strands: dict[TopicPartition, _Strand] = {}
        self._behind: dict[TopicPartition, int] = {}

    def __len__(self) -> int:
        """How many messages it has, written or not."""
        return sum(len(strand.outgoing) for strand in self._strands.values())

    def add(
        self,
        source: TopicPartition,
        records: Sequence[ConsumerRecord],
        places: Mapping[TopicPartition, Sequence[int]],
        *,
        behind: int,
        with_headers: bool = True,
    ) -> None:
        """Add messages of a partition, once.

        Args:
            source: which.
            records: in the order of their offsets.
            places: the indexes of those that go to each place, ascending.
            behind: the offset to go on with when all of them are done.
            with_headers: keep their headers.
        """
        self._behind[source] = behind
        for target, indexes in places.items():
            strand = self._strands.setdefault(target, _Strand())
            for index in indexes:
                record = records[index]
                strand.outgoing.append(outgoing_of(record, with_headers=with_headers))
                strand.sources.append((source, record.offset))

    def rest(self) -> dict[TopicPartition, list[Outgoing]]:
        """What is not written yet."""
        return {
            target: strand.outgoing[strand.done :] if strand.done else strand.outgoing
            for target, strand in self._strands.items()
            if strand.done < len(strand.outgoing)
        }

    def acknowledge(self, target: TopicPartition, base_offset: int, count: int) -> list[Landed]:
        """The next so many that go there are there, from this offset on."""
        strand = self._strands[target]
        first = strand.done
        strand.done += count
        landed: list[Landed] = []
        while first < strand.done:
            source = strand.sources[first][0]
            last = first
            while last < strand.done and strand.sources[last][0] == source:
                last += 1
            offsets = [offset for _, offset in strand.sources[first:last]]
            landed.append(Landed(source, runs_of(offsets), target, base_offset))
            base_offset += last - first
            first = last
        return landed

    def drop_next(self, target: TopicPartition) -> Dropped:
        """Give up the next message that goes there."""
        strand = self._strands[target]
        source, offset = strand.sources[strand.done]
        strand.done += 1
        return Dropped(source, offset, target)

    def next_of(self, target: TopicPartition) -> tuple[TopicPartition, int]:
        """Where the next message that goes there comes from."""
        strand = self._strands[target]
        return strand.sources[strand.done]

    def positions(self) -> dict[TopicPartition, int]:
        """How far each partition is done without a gap: the offset to go on with.

        A partition of which nothing is done stands in front of its first message.
        """
        found = dict(self._behind)
        for strand in self._strands.values():
            seen: set[TopicPartition] = set()
            for source, offset in strand.sources[strand.done :]:
                # Ascending in each partition: the first one counts.
                if source not in seen:
                    seen.add(source)
                    found[source] = min(found[source], offset)
        return found
