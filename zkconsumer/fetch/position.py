"""State of one partition's fetching, and the effects of responses on it. Pure.

A response is kept packed and unpacked piece by piece, as the stream's queue has capacity: what
waits for a slow stream waits packed.
"""

from dataclasses import dataclass, replace

from zkconsumer.errors import CorruptRecord, MessageTooLarge, PartitionFailed
from zkconsumer.fetch.claim import Chunk, PartitionClaim, Poison
from zkconsumer.fetch.core.record_set import RecordSet, after_piece, judged, next_behind, twice
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.records.entries import CutOff
from zkconsumer.records.fetched import FetchedRecords, decode_fetched

_MIN_PIECE_BYTES = 4096
_EXPANSION = 8
"""Maximum ratio of a record's size in memory to that in the log (the smallest records')."""


@dataclass(slots=True, eq=False)
class FetchPosition:
    """Hold the state of one partition in one fetcher.

    Attributes:
        claim: the claim that it is fetched under.
        fetch_offset: the offset after the last unpacked record; None until it is looked up.
        needed_bytes: size that the next entry is known to need; 0 if not known.
        grown_bytes: size that it may request, since the last response filled the request; 0:
            its equal part.
        packed: received bytes not unpacked yet.
        pending: a chunk that the full queue did not take.
        halted: the partition can't be read on; its error has been handed to the stream.
        is_doubtful: the leader says that ``fetch_offset`` is out of range: ask for its log's ends.
        suspect_offset: offset of the last corruption; a second one there is believed.
    """

    claim: PartitionClaim
    fetch_offset: int | None
    needed_bytes: int = 0
    grown_bytes: int = 0
    packed: RecordSet | None = None
    pending: Chunk | None = None
    halted: bool = False
    is_doubtful: bool = False
    suspect_offset: int | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a chunk or packed set has to be delivered before the next request."""
        return self.pending is not None or self.packed is not None

    @property
    def ready(self) -> bool:
        """Whether the next Fetch request should include it."""
        has_offset = self.fetch_offset is not None and not self.is_doubtful
        return has_offset and not self.is_waiting and not self.halted

    @property
    def needs_offset(self) -> bool:
        """Whether a ListOffsets request must find its start first."""
        return self.fetch_offset is None and not self.is_waiting and not self.halted

    @property
    def resume_offset(self) -> int | None:
        """The offset from which another fetcher loses no undelivered record.

        A jump that waits for capacity goes along: to look up the start again instead could pass
        over what was written in between.
        """
        return self.pending.fetch_offset if self.pending is not None else self.fetch_offset


def start_at(position: FetchPosition, offset: int) -> Chunk | None:
    """Set the offset that ListOffsets returned as the new position.

    Returns:
        For a partition that was already being read, a chunk without records that carries the jump
        to the stream *after* what is still queued, so that nothing queued is skipped.
    """
    claim = position.claim
    position.fetch_offset = offset
    position.is_doubtful = False
    position.suspect_offset = None
    position.needed_bytes = 0
    if claim.consumed_offset is None:
        claim.consumed_offset = offset
        return None
    return jump_to(claim, offset)


def jump_to(claim: PartitionClaim, offset: int) -> Chunk:
    """Return the chunk that tells the stream, behind what is queued, where its position moves."""
    return Chunk(claim, offset, offset, (), 0)


def take_response(
    position: FetchPosition,
    data: memoryview,
    requested_bytes: int,
    settings: FetchSettings,
    *,
    is_passed_over: bool = False,
) -> None:
    """Keep the record set of a fetch from ``position.fetch_offset``, to be unpacked.

    Args:
        position: the position that was fetched.
        data: the record set.
        requested_bytes: its requested size.
        settings: limits of unpacking.
        is_passed_over: whether an empty set only means that the response was full.
    """
    offset = position.fetch_offset
    assert offset is not None
    if data:
        position.packed = RecordSet(data, offset, requested_bytes)
        judge_offsets(position, settings)
    if position.packed is None and (data or not is_passed_over):
        # The end of the log. A message that seemed to need more is gone.
        position.needed_bytes = 0


def judge_offsets(position: FetchPosition, settings: FetchSettings) -> None:
    """Cut off an unread set before the first entry that can't lie at the offset that it claims."""
    packed = position.packed
    assert packed is not None
    position.packed = judged(
        packed,
        high_watermark=position.claim.high_watermark,
        is_again=position.suspect_offset == packed.fetch_offset,
        max_decompressed_bytes=settings.max_decompressed_bytes,
    )


def unpack(position: FetchPosition, free_bytes: int, settings: FetchSettings) -> Chunk | None:
    """Unpack the next piece of what is packed, and advance over it.

    Args:
        position: a position with a packed set.
        free_bytes: about how much memory the records may take. A single entry is unpacked
            whatever its size.
        settings: limits of growth.

    Returns:
        The chunk to deliver, or None if the piece has nothing to deliver.
    """
    packed, fetch_offset = position.packed, position.fetch_offset
    assert packed is not None
    assert fetch_offset is not None
    decoded = _decode_piece(packed, fetch_offset, free_bytes, settings)
    reading = after_piece(packed, decoded, growth_max_bytes=settings.growth_max_bytes)
    position.packed = reading.rest
    if reading.damage is not None:
        if _needs_a_look_behind(position, packed, decoded, settings):
            position.needed_bytes = twice(packed.requested_bytes, settings.growth_max_bytes)
            return None
        return _take_damage(position, decoded, reading.damage, reading.next_offset, settings)
    if reading.too_large is not None:
        return _take_too_large(position, packed, decoded, reading.too_large, settings)
    if reading.rest is None:
        position.needed_bytes = reading.needed_bytes
    if reading.next_offset <= fetch_offset:
        return None
    position.suspect_offset = None
    position.fetch_offset = reading.next_offset
    return _chunk(position, decoded, fetch_offset)


def _needs_a_look_behind(
    position: FetchPosition, packed: RecordSet, decoded: FetchedRecords, settings: FetchSettings
) -> bool:
    """Return whether only bytes not fetched yet can show how to skip an entry."""
    is_in_front = decoded.next_offset == packed.fetch_offset == position.suspect_offset
    is_lonely = (
        decoded.error is None
        and packed.misplaced is not None
        and packed.misplaced.next_offset is None
    )
    can_grow = packed.is_cut and packed.requested_bytes < settings.growth_max_bytes
    return settings.skip_poison and is_in_front and is_lonely and can_grow


def _decode_piece(
    packed: RecordSet, fetch_offset: int, free_bytes: int, settings: FetchSettings
) -> FetchedRecords:
    piece_bytes = max(_MIN_PIECE_BYTES, free_bytes // _EXPANSION)
    while True:
        # A copy: what is queued must not keep the whole response in memory.
        piece = bytes(packed.data[packed.at_byte : packed.at_byte + piece_bytes])
        decoded = decode_fetched(
            piece,
            fetch_offset=fetch_offset,
            max_decompressed_bytes=settings.max_decompressed_bytes,
            enough_bytes=piece_bytes,
        )
        first_bytes = decoded.first_entry_size_bytes
        if first_bytes is None or packed.at_byte + len(piece) == len(packed.data):
            return decoded
        piece_bytes = first_bytes


def _take_damage(
    position: FetchPosition,
    decoded: FetchedRecords,
    error: CorruptRecord,
    resume: int,
    settings: FetchSettings,
) -> Chunk | None:
    """Deliver what is sound; fetch again before believing that the rest is not.

    The next fetch starts after the last sound *record*: the corrupt entry's own offset may be
    that of a wrapper, which is the offset of its last message.
    """
    fetch_offset = position.fetch_offset
    assert fetch_offset is not None
    position.fetch_offset = resume
    chunk = _chunk(position, decoded, fetch_offset)
    if position.suspect_offset != resume:
        position.suspect_offset = resume
        return chunk if chunk.records else None
    tp = position.claim.topic_partition
    failure = PartitionFailed(tp, resume, str(error), code=error.errno)
    failure.__cause__ = error
    _poison(position, chunk, settings, Poison(tp, resume, error.next_offset, failure, error.raw))
    return chunk


def _take_too_large(
    position: FetchPosition,
    packed: RecordSet,
    decoded: FetchedRecords,
    cut_off: CutOff,
    settings: FetchSettings,
) -> Chunk:
    offset, tp = packed.fetch_offset, position.claim.topic_partition
    failure = MessageTooLarge(tp, offset, cut_off.size_bytes, settings.growth_max_bytes)
    chunk = Chunk(position.claim, offset, offset, (), 0)
    raw = bytes(packed.rest[decoded.valid_bytes :])
    poison = Poison(tp, offset, cut_off.next_offset, failure, raw, raw_is_whole=False)
    _poison(position, chunk, settings, poison)
    return chunk


def refused(position: FetchPosition, reason: str) -> Chunk:
    """Halt a partition that the broker refuses to serve, with an error for its stream."""
    offset = position.fetch_offset
    assert offset is not None
    tp = position.claim.topic_partition
    position.halted = True
    poison = Poison(tp, offset, None, PartitionFailed(tp, offset, reason))
    return Chunk(position.claim, offset, offset, (), 0, poison)


def _poison(position: FetchPosition, chunk: Chunk, settings: FetchSettings, poison: Poison) -> None:
    """End the chunk with the unreadable entry; go on after it, or halt the partition there."""
    next_offset = next_behind(poison.next_offset, poison.offset, position.claim.high_watermark)
    chunk.poison = replace(poison, next_offset=next_offset)
    chunk.size_bytes += len(poison.raw)
    if settings.skip_poison and next_offset is not None:
        chunk.next_offset = position.fetch_offset = next_offset
        position.suspect_offset = None
        position.needed_bytes = 0
    else:
        position.halted = True


def _chunk(position: FetchPosition, decoded: FetchedRecords, fetch_offset: int) -> Chunk:
    """Make a chunk of a piece's records, up to the present position."""
    next_offset = position.fetch_offset
    assert next_offset is not None
    return Chunk(position.claim, fetch_offset, next_offset, *decoded.take_records())
