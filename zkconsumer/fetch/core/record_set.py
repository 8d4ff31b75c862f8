"""What one fetch brought of one partition: what of it can be read, and what to ask for next. Pure.

Growth, damage and the cut-off end of a set are decided here, for formats 0, 1 and 2, whoever reads:
streams and ranges piece by piece, polls at once. Readers differ in what they make of a damage (pass
over it, tell the caller, give up), never in where it is.

Source: Kafka 0.8.2.2 ``PartitionTopicInfo.enqueue``, 3.9 ``CompletedFetch``.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from zkconsumer.errors import CorruptRecord
from zkconsumer.records.engine import believed
from zkconsumer.records.entries import HEADER_BYTES, CutOff, cut_off_entry, offset_at


@dataclass(frozen=True, slots=True, eq=False)
class RecordSet:
    """The bytes, as far as they are not read yet.

    Attributes:
        data: the set, or what of it can be believed; a view of the whole response until ``kept``.
        fetch_offset: the offset that was asked for.
        requested_bytes: how much was asked for.
        at_byte: how far ``data`` is read.
        passed_bytes: what lay in front of ``data`` and is passed over.
        is_kept: whether ``data`` is a copy.
        is_cut: whether there may be more behind ``data`` than came.
        misplaced: what is wrong with the entry behind ``data``, if that claims an offset at which
            it can't lie; None: nothing is known to be.
    """

    data: memoryview
    fetch_offset: int
    requested_bytes: int
    at_byte: int = 0
    passed_bytes: int = 0
    is_kept: bool = False
    is_cut: bool = True
    misplaced: CorruptRecord | None = None

    @property
    def rest(self) -> memoryview:
        """What is not read yet."""
        return self.data[self.at_byte :]

    def kept(self) -> "RecordSet":
        """Copy what is not read yet, once, so that the response can be let go."""
        if self.is_kept:
            return self
        front_bytes = self.passed_bytes + self.at_byte
        rest = memoryview(bytes(self.rest))
        return replace(self, data=rest, at_byte=0, passed_bytes=front_bytes, is_kept=True)


class DecodedPiece(Protocol):
    """What any decoder gives; see ``records.decode.DecodedRows``."""

    @property
    def next_offset(self) -> int:
        """Behind the last whole entry that was read; never below the offset to begin at."""

    @property
    def valid_bytes(self) -> int:
        """The size of the whole entries that were read."""

    @property
    def error(self) -> CorruptRecord | None:
        """What is wrong with the entry at which reading stopped; None: nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What reading a piece of a set came to.

    Attributes:
        next_offset: where to read on, behind everything sound.
        rest: the set, where more of it can be read; None: the broker is to be asked.
        needed_bytes: what the next request must ask for at least; 0: nothing special. With an
            unchanged ``next_offset`` the first entry did not fit.
        damage: what is wrong with the entry at ``next_offset``; None: nothing.
        too_large: the entry at ``next_offset`` is larger than may be asked for; its size is -1
            where that can't be told. None: it is not.
    """

    next_offset: int
    rest: RecordSet | None = None
    needed_bytes: int = 0
    damage: CorruptRecord | None = None
    too_large: CutOff | None = None


def judged(
    arrived: RecordSet, *, high_watermark: int, is_again: bool, max_decompressed_bytes: int
) -> RecordSet | None:
    """Cut a set off in front of the first entry that can't lie where it says.

    Args:
        arrived: a set of which nothing is read yet.
        high_watermark: as of the same answer.
        is_again: whether the last answer from there was damaged, so that this one is believed.
        max_decompressed_bytes: how much may be decompressed to find out.

    Returns:
        What can be read; None where all of it lies below the offset, as far as the log goes.
    """
    data = arrived.data
    found = believed(
        data,
        fetch_offset=arrived.fetch_offset,
        high_watermark=high_watermark,
        is_again=is_again,
        max_decompressed_bytes=max_decompressed_bytes,
    )
    sound = data[found.start : found.stop]
    if not sound and found.error is None and high_watermark <= arrived.fetch_offset:
        return None
    return replace(
        arrived,
        data=sound,
        passed_bytes=found.start,
        is_cut=len(data) >= arrived.requested_bytes,
        misplaced=found.error,
    )


def after_piece(
    one: RecordSet, piece: DecodedPiece, *, last_offset: int | None, growth_max_bytes: int
) -> Reading:
    """Conclude from what was decoded of the rest of a set.

    Args:
        one: the set, in front of the piece.
        piece: what came of it.
        last_offset: of the last record in it; None: it had none. (Of a damaged compressed set there
            may be records in front of the damage.)
        growth_max_bytes: the most that a request may ask for.
    """
    at_byte = one.at_byte + piece.valid_bytes
    if piece.error is not None:
        sound_until = max(piece.next_offset, -1 if last_offset is None else last_offset + 1)
        behind = one.data[at_byte + len(piece.error.raw) :]
        return Reading(next_offset=sound_until, damage=_placed(piece.error, behind))
    if one.misplaced is not None and at_byte == len(one.data):
        return Reading(next_offset=piece.next_offset, damage=one.misplaced)
    tail = one.data[at_byte:]
    cut_off = cut_off_entry(tail)
    if cut_off is None and len(tail) >= HEADER_BYTES:
        return Reading(next_offset=piece.next_offset, rest=replace(one, at_byte=at_byte))
    if piece.next_offset <= one.fetch_offset:
        return _unfit(one, cut_off, one.passed_bytes + at_byte, growth_max_bytes)
    # The next fetch brings at least the entry that this one ended in the middle of.
    size = 0 if cut_off is None else cut_off.size_bytes
    needed_bytes = size if size <= growth_max_bytes else 0
    return Reading(next_offset=piece.next_offset, needed_bytes=needed_bytes)


def _unfit(
    one: RecordSet, cut_off: CutOff | None, front_bytes: int, growth_max_bytes: int
) -> Reading:
    """Ask for more where the first entry did not fit; give up where it never will.

    What lies in front of it is passed over, and comes again. Brokers before 0.10.1 cut a set off in
    the middle of an entry.
    """
    size, offset = -1 if cut_off is None else cut_off.size_bytes, one.fetch_offset
    if size < 0 and one.requested_bytes < growth_max_bytes:
        needed_bytes = min(one.requested_bytes * 2, growth_max_bytes)
        return Reading(next_offset=offset, needed_bytes=needed_bytes)
    if 0 <= size <= growth_max_bytes:
        needed_bytes = front_bytes + size
        if needed_bytes > one.requested_bytes:
            return Reading(next_offset=offset, needed_bytes=needed_bytes)
        # It was asked for and did not come: that it never does must not go on for ever.
        if one.requested_bytes < growth_max_bytes:
            needed_bytes = min(one.requested_bytes * 2, growth_max_bytes)
            return Reading(next_offset=offset, needed_bytes=needed_bytes)
    return Reading(next_offset=offset, too_large=cut_off or CutOff(-1, None))


def _placed(error: CorruptRecord, behind: memoryview) -> CorruptRecord:
    """Doubt where a damaged entry says that reading could go on.

    No checksum covers an entry's offset: what lies behind it must not say otherwise, or to go on
    there could pass over sound messages.
    """
    following, claimed = offset_at(behind), error.next_offset
    if following is not None and claimed is not None and following < claimed:
        error.next_offset = None
    return error
