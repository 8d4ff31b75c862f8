"""What one answer brought of one partition: unpacked, and judged. Pure, and most of the work.

Records are made when they are collected; here they become ``FetchedRecords``, without the GIL where
the native core is there. What an answer names as aborted transactions holds for that answer alone,
so each is unpacked once, from its start: what does not fit into memory is fetched again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from zkconsumer.errors import CorruptRecord, MessageTooLarge
from zkconsumer.fetch.polled.settings import PollFetchSettings
from zkconsumer.fetch.polled.starts import NO_EPOCH, PositionView
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.records.engine import believed
from zkconsumer.records.entries import CutOff, cut_off_entry, offset_at
from zkconsumer.records.fetched import FetchedRecords, decode_fetched
from zkconsumer.wire.messages.fetch import AbortedTransaction


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a request said of one partition; an answer counts while the partition still holds it.

    Attributes:
        topic_partition: which.
        start: from where, and the epoch of the leader that wrote what lies in front of it.
        max_bytes: how much.
        leader_epoch: the leader's, as it is to be named; -1: not at all.
        broker: who was asked.
        is_again: whether the last answer from there was corrupt.
        topic_id: of the topic, as we know it; None if not known.
    """

    topic_partition: TopicPartition
    start: PositionView
    max_bytes: int
    leader_epoch: int
    broker: Broker
    is_again: bool = False
    topic_id: bytes | None = None


class Chunk:
    """Records that wait for the caller, and how far they reach.

    Attributes:
        records: what is left of them.
        end: the position of a caller that has taken all of it.
        memory_bytes: what it takes in memory as long as anything of it is there.
    """

    __slots__ = ("_count", "_wire_bytes", "end", "memory_bytes", "records")

    def __init__(self, records: FetchedRecords, end: PositionView) -> None:
        self.records = records
        self.end = end
        self.memory_bytes = records.memory_bytes
        self._count = len(records)
        self._wire_bytes = records.valid_bytes

    @property
    def unread_bytes(self) -> int:
        """How much of what came from the wire waits still, about."""
        if not self._count:
            return 0
        return self._wire_bytes * len(self.records) // self._count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unpacked:
    """What a record set came to.

    Attributes:
        chunk: what is to wait for the caller; None where nothing moved.
        needed_bytes: what the next request must ask for at least; 0: nothing special.
        corrupt: what can't be read, behind the chunk.
        too_large: the message at the position is larger than may be fetched.
        wire_bytes: how much came.
        count: the records.
    """

    chunk: Chunk | None = None
    needed_bytes: int = 0
    corrupt: CorruptRecord | None = None
    too_large: MessageTooLarge | None = None
    wire_bytes: int = 0
    count: int = 0


def unpack(
    asked: Asked,
    data: memoryview,
    aborted: Iterable[AbortedTransaction] | None,
    settings: PollFetchSettings,
    enough_bytes: int,
    high_watermark: int,
) -> Unpacked:
    """Unpack the record set of a sound answer. Thread: any.

    Args:
        asked: what it answers.
        data: the record set.
        aborted: the aborted transactions that came with it.
        settings: sizes.
        enough_bytes: about how much may be decompressed; a single entry is, whatever it takes.
        high_watermark: as of the same answer; no record lies there or behind.
    """
    if not data:
        # The end of the log. A message that seemed to need more is not there any more.
        return Unpacked()
    offset = asked.start.offset
    placed = believed(
        data,
        fetch_offset=offset,
        high_watermark=high_watermark,
        is_again=asked.is_again,
        max_decompressed_bytes=settings.max_decompressed_bytes,
    )
    sound = data[placed.start : placed.stop]
    if not sound and placed.error is None and high_watermark <= offset:
        return Unpacked(wire_bytes=len(data))  # all of it lies below, as far as the log goes
    fetched = decode_fetched(
        sound,
        fetch_offset=offset,
        max_decompressed_bytes=settings.max_decompressed_bytes,
        enough_bytes=min(enough_bytes, settings.max_decompressed_bytes),
        isolation=settings.isolation,
        aborted=aborted,
    )
    if fetched.error is not None:
        return _damaged(fetched, fetched.error, sound, offset)
    if placed.error is not None and fetched.valid_bytes == len(sound):
        return _damaged(fetched, placed.error, data, offset)
    cut_off = cut_off_entry(sound[fetched.valid_bytes :])
    if fetched.next_offset <= offset:
        return _grown(asked, data, cut_off, placed.start + fetched.valid_bytes, settings)
    # The next fetch brings at least the entry that this one ended in the middle of.
    size = cut_off.size_bytes if cut_off is not None else 0
    return Unpacked(
        chunk=Chunk(fetched, PositionView(fetched.next_offset, fetched.last_leader_epoch)),
        needed_bytes=size if size <= settings.growth_max_bytes else 0,
        wire_bytes=len(data),
        count=len(fetched),
    )


def _damaged(
    fetched: FetchedRecords, error: CorruptRecord, data: memoryview, offset: int
) -> Unpacked:
    """Keep what is sound; the next fetch begins behind that, and meets the damage again.

    Not at the corrupt entry's own offset: for a compressed set that is its last message's.
    """
    behind = data[error.position + len(error.raw) :]
    following, claimed = offset_at(behind), error.next_offset
    # No checksum covers an entry's offset: to go on where it says could pass over sound messages
    # if what lies behind it says otherwise.
    if following is not None and claimed is not None and following < claimed:
        error.next_offset = None
    last_offset = fetched.last_offset
    resume = max(fetched.next_offset, -1 if last_offset is None else last_offset + 1)
    chunk = Chunk(fetched, PositionView(resume, NO_EPOCH)) if resume > offset else None
    return Unpacked(chunk=chunk, corrupt=error, wire_bytes=len(data), count=len(fetched))


def _grown(
    asked: Asked,
    data: memoryview,
    cut_off: CutOff | None,
    front_bytes: int,
    settings: PollFetchSettings,
) -> Unpacked:
    """Ask for more where the first entry did not fit; give up where it never will.

    What lies in front of it is passed over, and comes again. Brokers before 0.10.1 cut a set off in
    the middle of an entry.
    """
    size, limit = -1 if cut_off is None else cut_off.size_bytes, settings.growth_max_bytes
    if size < 0 and asked.max_bytes < limit:
        return Unpacked(needed_bytes=min(asked.max_bytes * 2, limit), wire_bytes=len(data))
    if 0 <= size <= limit:
        needed_bytes = max(front_bytes + size, asked.max_bytes)
        return Unpacked(needed_bytes=needed_bytes, wire_bytes=len(data))
    too_large = MessageTooLarge(asked.topic_partition, asked.start.offset, size, limit)
    return Unpacked(too_large=too_large, wire_bytes=len(data))
