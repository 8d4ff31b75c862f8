"""What one answer brought of one partition: unpacked, and judged. Pure, and most of the work.

Records are made when they are collected; here they become ``FetchedRecords``, without the GIL where
the native core is there. What an answer names as aborted transactions holds for that answer alone,
from its start on: polls unpack each once, and what does not fit into memory is fetched again.
Ranges, whose settings name ``unpacked_bytes``, keep the rest packed, and unpack piece by piece.
"""

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from zkconsumer.errors import CorruptRecord, MessageTooLarge
from zkconsumer.fetch.core.record_set import Reading, RecordSet, after_piece, judged
from zkconsumer.fetch.core.settings import PollFetchSettings
from zkconsumer.fetch.core.starts import NO_EPOCH, PositionView
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.records.fetched import FetchedRecords, IsolationLevel, decode_fetched
from zkconsumer.wire.messages.fetch import FetchedPartition


@dataclass(frozen=True, slots=True, eq=False)
class PartitionRequest:
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


_MOST_SHARED: Final = 8
"""A set that is a smaller part of its answer is copied: else little could keep much in memory."""


class ResponseFrame(NamedTuple):
    """An answer in whose bytes records lie, together with those of other partitions.

    Attributes:
        key: tells it from others.
        size_bytes: all of it stays in memory as long as any record of it waits.
    """

    key: int
    size_bytes: int


class BufferedChunk:
    """Records that wait for the caller, and how far they reach.

    Attributes:
        records: what is left of them.
        end: the position of a caller that has taken all of it.
        memory_bytes: what it takes in memory as long as anything of it is there.
        wire_bytes: how much of the set it was made of.
        frame: the answer that it lies in; None: it has bytes of its own.
    """

    __slots__ = ("_count", "end", "frame", "memory_bytes", "records", "wire_bytes")

    def __init__(
        self,
        records: FetchedRecords,
        end: PositionView,
        frame: ResponseFrame | None = None,
        *,
        front_bytes: int = 0,
    ) -> None:
        self.records = records
        self.end = end
        self.frame = frame
        self.memory_bytes = records.memory_bytes
        self.wire_bytes = records.valid_bytes - front_bytes
        self._count = len(records)

    @property
    def unread_bytes(self) -> int:
        """How much of what came from the wire waits still, about."""
        if not self._count:
            return 0
        return self.wire_bytes * len(self.records) // self._count


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
        packed: what of the set is to be unpacked behind the chunk; None: nothing.
    """

    chunk: BufferedChunk | None = None
    needed_bytes: int = 0
    corrupt: CorruptRecord | None = None
    too_large: MessageTooLarge | None = None
    wire_bytes: int = 0
    count: int = 0
    packed: "PackedSet | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class PackedSet:
    """A set of which a part is unpacked.

    Attributes:
        requested: what it answers.
        response: the answer.
        records: the set, and how far it is unpacked.
        frame: the answer that it lies in; None: it has bytes of its own.
    """

    requested: PartitionRequest
    response: FetchedPartition
    records: RecordSet
    frame: ResponseFrame | None


def unpack(
    requested: PartitionRequest,
    response: FetchedPartition,
    settings: PollFetchSettings,
    enough_bytes: int,
) -> Unpacked:
    """Unpack the record set of a sound answer. Thread: any.

    Args:
        requested: what it answers.
        response: the answer; no record lies at its high watermark or behind.
        settings: sizes.
        enough_bytes: about how much may be decompressed; a single entry is, whatever it takes.
    """
    data = response.records
    if not data:
        # The end of the log. A message that seemed to need more is not there any more.
        return Unpacked()
    frame = _frame_of(data)
    if frame is not None:
        # Nobody writes to an answer that came: what is made of it may point into it.
        data = data.toreadonly()
    sound = judged(
        RecordSet(data, requested.start.offset, requested.max_bytes),
        high_watermark=response.high_watermark,
        is_again=requested.is_again,
        max_decompressed_bytes=settings.max_decompressed_bytes,
    )
    if sound is None:
        return Unpacked(wire_bytes=len(data))
    packed = PackedSet(requested, response, sound, frame)
    unpacked = unpack_piece(packed, requested.start.offset, settings, enough_bytes)
    return replace(unpacked, wire_bytes=len(data))


def unpack_piece(
    packed: PackedSet, offset: int, settings: PollFetchSettings, enough_bytes: int
) -> Unpacked:
    """Unpack the next piece of a set; what came of the wire is not counted again. Thread: any.

    Args:
        packed: the set.
        offset: behind what was unpacked of it.
        settings: see ``unpack``; so for the next.
        enough_bytes: see there.
    """
    one, requested, limit = packed.records, packed.requested, settings.growth_max_bytes
    front_bytes = 0
    if settings.isolation is IsolationLevel.READ_COMMITTED:
        # What the answer says of aborted transactions holds from its start on. What lies below the
        # offset is passed over there without decompressing it.
        front_bytes, one = one.at_byte, replace(one, at_byte=0)
    fetched = decode_fetched(
        one.rest,
        fetch_offset=offset,
        max_decompressed_bytes=settings.max_decompressed_bytes,
        enough_bytes=min(enough_bytes, settings.max_decompressed_bytes),
        isolation=settings.isolation,
        aborted=packed.response.aborted_transactions,
    )
    reading = after_piece(one, fetched, last_offset=fetched.last_offset, growth_max_bytes=limit)
    too_large = reading.too_large and MessageTooLarge(
        requested.topic_partition, requested.start.offset, reading.too_large.size_bytes, limit
    )
    chunk: BufferedChunk | None = None
    if reading.next_offset > offset:
        chunk = _chunk(fetched, reading, packed.frame, front_bytes)
    rest = reading.rest
    if settings.unpacked_bytes is None or fetched.valid_bytes <= front_bytes:
        rest = None  # What does not get on must not go on for ever.
    return Unpacked(
        chunk=chunk,
        needed_bytes=reading.needed_bytes,
        corrupt=reading.damage,
        too_large=too_large,
        count=len(fetched),
        packed=None if rest is None else replace(packed, records=rest),
    )


def _frame_of(data: memoryview) -> ResponseFrame | None:
    """The answer that a set lies in, if it is a large part of it."""
    frame = data.obj
    if isinstance(frame, bytearray) and len(frame) <= _MOST_SHARED * len(data):
        return ResponseFrame(id(frame), len(frame))
    return None


def _chunk(
    fetched: FetchedRecords, reading: Reading, frame: ResponseFrame | None, front_bytes: int
) -> BufferedChunk:
    """What waits, up to where reading goes on; in front of damage nobody knows the epoch."""
    epoch = fetched.last_leader_epoch if reading.damage is None else NO_EPOCH
    end = PositionView(reading.next_offset, epoch)
    return BufferedChunk(fetched, end, frame, front_bytes=front_bytes)
