"""Where fetching of one partition stands: pure state, and what an answer does to it."""

from dataclasses import dataclass

from zkconsumer.errors import MessageTooLarge, PartitionFailed
from zkconsumer.fetch.claim import Chunk, PartitionClaim, Poison
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.sizes import records_bytes
from zkconsumer.records.decode import DecodedSet


@dataclass(slots=True, eq=False)
class FetchPosition:
    """One partition in one fetcher.

    Attributes:
        claim: the ownership it is fetched under.
        fetch_offset: the next offset to ask for; None until ListOffsets has answered.
        max_bytes: how much to ask for now; grows for a message that does not fit.
        pending: a chunk that the full queue did not take; nothing is asked for until it did.
        halted: the partition can't be read on; its error has been handed to the stream.
        suspect_offset: where the last answer was corrupt; a second time it is believed.
    """

    claim: PartitionClaim
    fetch_offset: int | None
    max_bytes: int
    pending: Chunk | None = None
    halted: bool = False
    suspect_offset: int | None = None

    @property
    def ready(self) -> bool:
        """Whether the next Fetch request should ask for it."""
        return self.fetch_offset is not None and self.pending is None and not self.halted

    @property
    def needs_offset(self) -> bool:
        """Whether a ListOffsets request must find its start first."""
        return self.fetch_offset is None and self.pending is None and not self.halted

    @property
    def resume_offset(self) -> int | None:
        """Where another fetcher must go on so that nothing undelivered is lost.

        A jump that waits for room is dropped with it: the stream hears of it with the next records.
        To ask for the start anew instead could pass over what was written in between.
        """
        return self.pending.fetch_offset if self.pending is not None else self.fetch_offset


def start_at(position: FetchPosition, offset: int) -> Chunk | None:
    """Take the offset that ListOffsets named as the new position.

    Returns:
        For a partition that was already being read, a chunk without records that carries the jump
        to the stream *behind* what is still queued, so that nothing queued is skipped.
    """
    claim = position.claim
    position.fetch_offset = offset
    position.suspect_offset = None
    if claim.consumed_offset is None:
        claim.consumed_offset = offset
        return None
    return Chunk(claim, offset, offset, (), 0)


def take_records(
    position: FetchPosition, decoded: DecodedSet, data_bytes: int, settings: FetchSettings
) -> Chunk | None:
    """Advance over one decoded answer.

    Args:
        position: the state, whose ``fetch_offset`` is the one that was asked for.
        decoded: the answer's record set.
        data_bytes: how many bytes it had.
        settings: the sizes to grow within.

    Returns:
        The chunk to deliver, or None where the answer brought nothing to hand on.
    """
    fetch_offset = position.fetch_offset
    assert fetch_offset is not None
    if decoded.error is not None:
        return _take_corrupt(position, decoded, fetch_offset)
    if decoded.next_offset == fetch_offset and not decoded.records:
        return _grow(position, decoded, data_bytes, settings)
    position.max_bytes = settings.fetch_bytes
    position.suspect_offset = None
    position.fetch_offset = decoded.next_offset
    return _chunk(position, decoded, fetch_offset, decoded.next_offset)


def _take_corrupt(position: FetchPosition, decoded: DecodedSet, fetch_offset: int) -> Chunk | None:
    """Hand on what is sound; ask once more before believing that the rest is not.

    The next fetch starts behind the last sound *record*: the corrupt entry's own offset may be
    that of a wrapper, which is the offset of its last message.
    """
    error = decoded.error
    assert error is not None
    resume = decoded.records[-1].offset + 1 if decoded.records else fetch_offset
    position.fetch_offset = resume
    if position.suspect_offset != resume:
        position.suspect_offset = resume
        return _chunk(position, decoded, fetch_offset, resume) if decoded.records else None
    position.halted = True
    failure = PartitionFailed(position.claim.topic_partition, resume, str(error))
    failure.__cause__ = error
    chunk = _chunk(position, decoded, fetch_offset, resume)
    tp = position.claim.topic_partition
    chunk.poison = Poison(tp, resume, error.next_offset, failure, error.raw)
    return chunk


def _grow(
    position: FetchPosition, decoded: DecodedSet, data_bytes: int, settings: FetchSettings
) -> Chunk | None:
    """Ask for more where the first entry did not fit; give up where it never will."""
    if data_bytes == 0:
        return None
    size, limit = decoded.first_entry_size_bytes, settings.growth_max_bytes
    if size is None and position.max_bytes < limit:
        position.max_bytes = min(position.max_bytes * 2, limit)
        return None
    if size is not None and size <= limit:
        position.max_bytes = max(size, position.max_bytes)
        return None
    offset = position.fetch_offset
    assert offset is not None
    position.halted = True
    too_large = MessageTooLarge(
        position.claim.topic_partition, offset, -1 if size is None else size, limit
    )
    poison = Poison(position.claim.topic_partition, offset, None, too_large)
    return Chunk(position.claim, offset, offset, (), 0, poison)


def _chunk(
    position: FetchPosition, decoded: DecodedSet, fetch_offset: int, next_offset: int
) -> Chunk:
    size = records_bytes(decoded.records)
    return Chunk(position.claim, fetch_offset, next_offset, decoded.records, size)
