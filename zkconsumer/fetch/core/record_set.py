"""Judge a fetched record set: what is readable, and what to request next. Pure.

Growth, damage and the cut-off end of a set are judged here, for formats 0, 1 and 2 and all
readers: streams and ranges piece by piece, polls at once. Readers differ in how they handle damage
(skip it, report it, give up), never in its detection.

Source: Kafka 0.8.2.2 ``PartitionTopicInfo.enqueue``, 3.9 ``CompletedFetch``.
"""

from dataclasses import dataclass, replace

from zkconsumer.errors import CorruptRecord
from zkconsumer.records.engine import trusted_range
from zkconsumer.records.entries import HEADER_BYTES, CutOff, cut_off_entry, offset_at
from zkconsumer.records.slices import FetchedRecords


@dataclass(frozen=True, slots=True, eq=False)
class RecordSet:
    """Hold the bytes of a set that are not read yet.

    Attributes:
        data: the set, or its credible part; a view of the whole response until ``kept``.
        fetch_offset: the requested offset.
        requested_bytes: the requested size.
        at_byte: how many bytes of ``data`` are read.
        passed_bytes: how many bytes before ``data`` are skipped.
        is_kept: whether ``data`` is a copy.
        is_cut: whether the log may have more after ``data``.
        misplaced: the error about the entry after ``data``, if that claims an offset at which it
            can't lie; None: none is known.
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
        """The bytes not read yet."""
        return self.data[self.at_byte :]

    def kept(self) -> "RecordSet":
        """Copy the unread bytes, once, so that the response can be freed."""
        if self.is_kept:
            return self
        front_bytes = self.passed_bytes + self.at_byte
        rest = memoryview(bytes(self.rest))
        return replace(self, data=rest, at_byte=0, passed_bytes=front_bytes, is_kept=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Hold the result of reading a piece of a set.

    Attributes:
        next_offset: where to continue, after everything sound.
        rest: the set, if more of it can be read; None: fetch again.
        needed_bytes: minimum size of the next request; 0: no minimum. With an
            unchanged ``next_offset`` the first entry did not fit.
        damage: the error of the entry at ``next_offset``; None: there is none.
        too_large: the entry at ``next_offset`` exceeds the fetch limit; its size is -1
            if that is unknown. None: it does not.
    """

    next_offset: int
    rest: RecordSet | None = None
    needed_bytes: int = 0
    damage: CorruptRecord | None = None
    too_large: CutOff | None = None


def readable_part(
    arrived: RecordSet, *, high_watermark: int, is_again: bool, max_decompressed_bytes: int
) -> RecordSet | None:
    """Cut a set off before the first entry that can't lie at the offset that it claims.

    Args:
        arrived: a set with nothing read yet.
        high_watermark: as of the same response.
        is_again: whether the last response at this offset was damaged, so that this is believed.
        max_decompressed_bytes: limit of decompression for this check.

    Returns:
        The readable set; None if nothing lies at the offset or beyond, in the set or in the log.
    """
    data = arrived.data
    found = trusted_range(
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


def after_piece(record_set: RecordSet, piece: FetchedRecords, *, growth_max_bytes: int) -> Reading:
    """Return how reading continues after a piece of a set was decoded.

    Args:
        record_set: the set, before the piece.
        piece: the decoded piece.
        growth_max_bytes: the largest size that a request may have.
    """
    at_byte = record_set.at_byte + piece.valid_bytes
    if piece.error is not None:
        # A damaged compressed set may have records before the damage.
        last_offset = -1 if piece.last_offset is None else piece.last_offset
        sound_until = max(piece.next_offset, last_offset + 1)
        behind = record_set.data[at_byte + len(piece.error.raw) :]
        return Reading(next_offset=sound_until, damage=_without_false_claim(piece.error, behind))
    if record_set.misplaced is not None and at_byte == len(record_set.data):
        return Reading(next_offset=piece.next_offset, damage=record_set.misplaced)
    tail = record_set.data[at_byte:]
    cut_off = cut_off_entry(tail)
    if cut_off is None and len(tail) >= HEADER_BYTES:
        return Reading(next_offset=piece.next_offset, rest=replace(record_set, at_byte=at_byte))
    if piece.next_offset <= record_set.fetch_offset:
        return _without_first_entry(
            record_set, cut_off, record_set.passed_bytes + at_byte, growth_max_bytes
        )
    # The next fetch brings at least the entry at which this one was cut off.
    size = 0 if cut_off is None else cut_off.size_bytes
    needed_bytes = size if size <= growth_max_bytes else 0
    return Reading(next_offset=piece.next_offset, needed_bytes=needed_bytes)


def _without_first_entry(
    record_set: RecordSet, cut_off: CutOff | None, front_bytes: int, growth_max_bytes: int
) -> Reading:
    """Request more if the first entry did not fit; give up if it never will.

    Skipped entries before it are fetched again. Brokers before 0.10.1 cut a set off in the middle
    of an entry.
    """
    size, offset = -1 if cut_off is None else cut_off.size_bytes, record_set.fetch_offset
    needed_bytes = front_bytes + size
    if 0 <= size <= growth_max_bytes and needed_bytes > record_set.requested_bytes:
        return Reading(next_offset=offset, needed_bytes=needed_bytes)
    # An entry that was requested and did not arrive must not be requested without end.
    if size <= growth_max_bytes and record_set.requested_bytes < growth_max_bytes:
        return Reading(
            next_offset=offset, needed_bytes=doubled(record_set.requested_bytes, growth_max_bytes)
        )
    return Reading(next_offset=offset, too_large=cut_off or CutOff(-1, None))


def doubled(requested_bytes: int, most_bytes: int) -> int:
    """Return the size of the next request after one that was too small, or was filled."""
    return min(2 * requested_bytes, most_bytes)


def next_request_bytes(requested_bytes: int, came_bytes: int, most_bytes: int) -> int:
    """Return a partition's next request size: twice a filled one, or 0 for its equal part.

    A partition that is far behind fills its requests, and large sets cost less; at the end of the
    log there is less data, and its part is enough.
    """
    return doubled(requested_bytes, most_bytes) if is_filled(requested_bytes, came_bytes) else 0


def is_filled(requested_bytes: int, came_bytes: int) -> bool:
    """Return whether a set has about as much as was requested: the log has more."""
    return came_bytes >= requested_bytes - requested_bytes // 8


def offset_after_damage(claimed: int | None, offset: int, high_watermark: int) -> int | None:
    """Return the offset after damage; None: not known.

    The damaged entry itself claims this offset. A claim beyond the end of the log is not believed:
    continuing there could skip sound messages.
    """
    return claimed if claimed is not None and offset < claimed <= high_watermark else None


def _without_false_claim(error: CorruptRecord, behind: memoryview) -> CorruptRecord:
    """Discard the next offset that a damaged entry claims, if the bytes after it contradict it.

    No checksum covers an entry's offset, and continuing there could skip sound messages.
    """
    following, claimed = offset_at(behind), error.next_offset
    if following is not None and claimed is not None and following < claimed:
        error.next_offset = None
    return error
