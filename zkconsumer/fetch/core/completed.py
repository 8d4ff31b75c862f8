"""Unpack and check one partition's part of a fetch response. Pure, and most of the work.

Record objects are made when they are collected; here they become ``FetchedRecords``, without the
GIL if the core is native. A response's list of aborted transactions is valid for that response
only, from its start offset on. So polls unpack each response once, and fetch again what does not
fit into memory. Readers whose settings set ``unpacked_bytes`` keep the rest packed, and unpack it
in pieces: ranges begin when the response arrives, streams when their queues have capacity.
"""

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from zkconsumer.errors import CorruptRecord, MessageTooLarge
from zkconsumer.fetch.core.record_set import Reading, RecordSet, after_piece, readable_part
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.records.engine import decode_fetched
from zkconsumer.records.entries import CutOff
from zkconsumer.records.slices import FetchedRecords
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.absent import NO_EPOCH
from zkconsumer.wire.messages.fetch import AbortedTransaction, FetchedPartition


@dataclass(slots=True, eq=False)  # not frozen: a thousand of them are made for each request
class PartitionRequest:
    """Describe one partition in a request; a response counts while the partition still holds it.

    Attributes:
        topic_partition: the partition.
        start: the fetch offset, and the leader epoch of the record before it.
        max_bytes: the requested size.
        leader_epoch: the leader's epoch to send; -1: none is sent.
        broker: the broker that the request goes to.
        is_again: whether the last response at this offset was corrupt.
        topic_id: the topic's id as we know it; None if not known.
        planned_ms: the time when it was planned; None if not known.
    """

    topic_partition: TopicPartition
    start: PositionView
    max_bytes: int
    leader_epoch: int
    broker: Broker
    is_again: bool = False
    topic_id: bytes | None = None
    planned_ms: int | None = None


_MIN_PIECE_BYTES: Final = 4096
_EXPANSION: Final = 8
"""Maximum ratio of a record's size in memory to that in the log (for the smallest records)."""

_MOST_SHARED: Final = 8
"""A set smaller than its response divided by this is copied, lest it keep all of that in memory."""


class ResponseFrame(NamedTuple):
    """Identify a response whose bytes hold records of several partitions.

    Attributes:
        key: unique key of the response.
        size_bytes: its size; all of it stays in memory while any record of it is buffered.
    """

    key: int
    size_bytes: int


class BufferedChunk:
    """Records buffered for the caller, with the position after them.

    Attributes:
        records: the records not handed out yet.
        end: the caller's position after all of them.
        memory_bytes: memory held until the last record is handed out.
        wire_bytes: size of the set that they come from.
        has_wire_bytes: whether that is known; else it is their size in memory.
        frame: the response that holds them; None: the bytes are their own.
    """

    __slots__ = (
        "_count",
        "end",
        "frame",
        "has_wire_bytes",
        "memory_bytes",
        "records",
        "wire_bytes",
    )

    def __init__(
        self,
        records: FetchedRecords,
        end: PositionView,
        frame: ResponseFrame | None = None,
        *,
        front_bytes: int = 0,
        has_wire_bytes: bool = True,
    ) -> None:
        self.records = records
        self.end = end
        self.frame = frame
        self.memory_bytes = records.memory_bytes
        self.wire_bytes = records.valid_bytes - front_bytes
        self.has_wire_bytes = has_wire_bytes
        self._count = len(records)

    @property
    def unread_bytes(self) -> int:
        """Estimated wire bytes of the records not handed out yet."""
        if not self._count:
            return 0
        return self.wire_bytes * len(self.records) // self._count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unpacked:
    """Hold the result of unpacking a record set.

    Attributes:
        chunk: records to buffer; None if the position does not advance.
        needed_bytes: minimum size of the next request; 0: no minimum.
        corrupt: the corruption after the chunk.
        too_large: the message at the position exceeds the fetch limit.
        cut_off: what the received part of that message shows about it; None: nothing.
        read_bytes: how many bytes of the set precede the unreadable entry.
        wire_bytes: received bytes.
        count: number of records.
        packed: the rest of the set, still to be unpacked; None: nothing.
    """

    chunk: BufferedChunk | None = None
    needed_bytes: int = 0
    corrupt: CorruptRecord | None = None
    too_large: MessageTooLarge | None = None
    cut_off: CutOff | None = None
    read_bytes: int = 0
    wire_bytes: int = 0
    count: int = 0
    packed: "PackedSet | None" = None


NOTHING: Final = Unpacked()
"""Result of unpacking an empty set, or an error response."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedSet:
    """Hold a set that is still to be unpacked, in whole or in part.

    Attributes:
        requested: the request that it answers.
        aborted: the response's aborted transactions.
        records: the set, with its read position.
        frame: the response that holds it; None: the bytes are its own.
    """

    requested: PartitionRequest
    aborted: tuple[AbortedTransaction, ...] | None
    records: RecordSet
    frame: ResponseFrame | None = None


def unpack(
    requested: PartitionRequest,
    response: FetchedPartition,
    settings: CoreFetchSettings,
    enough_bytes: int,
) -> Unpacked:
    """Unpack the record set of an error-free response. Thread: any.

    Args:
        requested: the request that it answers.
        response: the response; no record may lie at its high watermark or beyond.
        settings: size limits.
        enough_bytes: about how much to decompress; a single entry is decompressed whatever its
            size.
    """
    data = response.records
    if not data:
        # The end of the log: a message that seemed to need a larger request is gone.
        return NOTHING
    frame = _frame_of(data)
    if frame is not None:
        # Nothing writes to a received response: the result may point into it.
        data = data.toreadonly()
    sound = readable_part(
        RecordSet(data, requested.start.offset, requested.max_bytes),
        high_watermark=response.high_watermark,
        is_again=requested.is_again,
        max_decompressed_bytes=settings.max_decompressed_bytes,
    )
    if sound is None:
        return Unpacked(wire_bytes=len(data))
    packed = PackedSet(requested, response.aborted_transactions, sound, frame)
    if settings.is_unpacked_on_demand:
        return Unpacked(wire_bytes=len(data), packed=packed)
    unpacked = unpack_piece(packed, requested.start.offset, settings, enough_bytes)
    return replace(unpacked, wire_bytes=len(data))


def unpack_piece(
    packed: PackedSet, offset: int, settings: CoreFetchSettings, enough_bytes: int
) -> Unpacked:
    """Unpack the next piece of a set; its wire bytes are not counted again. Thread: any.

    Args:
        packed: the set.
        offset: the offset after the unpacked part.
        settings: see ``unpack``.
        enough_bytes: see ``unpack``.
    """
    requested, limit = packed.requested, settings.growth_max_bytes
    one = packed.records
    front_bytes = 0
    if settings.isolation is IsolationLevel.READ_COMMITTED:
        # The response's list of aborted transactions is valid from its start on. Entries below the
        # offset are skipped without decompressing them.
        front_bytes, one = one.at_byte, replace(one, at_byte=0)
    if settings.is_unpacked_on_demand:
        fetched = _decode_copy(one.rest, offset, settings, enough_bytes)
    else:
        fetched = decode_fetched(
            one.rest,
            fetch_offset=offset,
            max_decompressed_bytes=settings.max_decompressed_bytes,
            enough_bytes=min(enough_bytes, settings.max_decompressed_bytes),
            isolation=settings.isolation,
            aborted=packed.aborted,
            kept_codec=settings.kept_codec,
        )
    reading = after_piece(one, fetched, growth_max_bytes=limit)
    too_large = reading.too_large and MessageTooLarge(
        requested.topic_partition, requested.start.offset, reading.too_large.size_bytes, limit
    )
    chunk: BufferedChunk | None = None
    if reading.next_offset > offset:
        frame = None if settings.is_unpacked_on_demand else packed.frame
        chunk = _chunk(fetched, reading, frame, front_bytes, has_epoch=settings.epochs)
    rest = reading.rest
    if settings.unpacked_bytes is None or fetched.valid_bytes <= front_bytes:
        rest = None  # Without progress, retrying the rest would never end.
    return Unpacked(
        chunk=chunk,
        needed_bytes=reading.needed_bytes,
        corrupt=reading.damage,
        too_large=too_large,
        cut_off=reading.too_large,
        read_bytes=one.at_byte + fetched.valid_bytes,
        count=len(fetched),
        packed=None if rest is None else replace(packed, records=rest),
    )


def _frame_of(data: memoryview) -> ResponseFrame | None:
    """Return the response that holds a set, if the set is a large part of it."""
    frame = data.obj
    if isinstance(frame, bytes):
        return None  # the set is a copy already
    frame_bytes = memoryview(frame).nbytes
    return (
        ResponseFrame(id(frame), frame_bytes) if frame_bytes <= _MOST_SHARED * len(data) else None
    )


def _decode_copy(
    rest: memoryview, offset: int, settings: CoreFetchSettings, free_bytes: int
) -> FetchedRecords:
    """Decode about as much as fits into a queue, and at least one entry, from a copy.

    Queued records must not keep the whole response in memory.
    """
    piece_bytes = max(_MIN_PIECE_BYTES, free_bytes // _EXPANSION)
    while True:
        piece = bytes(rest[:piece_bytes])
        decoded = decode_fetched(
            piece,
            fetch_offset=offset,
            max_decompressed_bytes=settings.max_decompressed_bytes,
            enough_bytes=piece_bytes,
        )
        first_bytes = decoded.first_entry_size_bytes
        if first_bytes is None or len(piece) == len(rest):
            return decoded
        piece_bytes = first_bytes


def _chunk(
    fetched: FetchedRecords,
    reading: Reading,
    frame: ResponseFrame | None,
    front_bytes: int,
    *,
    has_epoch: bool,
) -> BufferedChunk:
    """Make a chunk up to where reading continues; before damage its epoch is unknown."""
    has_epoch = has_epoch and reading.damage is None
    epoch = fetched.last_leader_epoch if has_epoch else NO_EPOCH
    end = PositionView(reading.next_offset, epoch)
    return BufferedChunk(fetched, end, frame, front_bytes=front_bytes)
