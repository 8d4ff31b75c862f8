"""Unpacking a record set: its chunk, and how large the next request must be."""

from dataclasses import replace

import pytest

from tests.support.altered_messages import altered
from tests.support.polled import TP, batch, part, request_of
from tests.support.queues import RUNS_NATIVE
from zkconsumer.errors import MessageTooLarge
from zkconsumer.fetch.core.completed import BufferedChunk, Unpacked, unpack
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.slices import FetchedRecords

LIMIT = 100_000


def unpacked(
    data: bytes,
    *,
    offset: int = 0,
    requested_bytes: int = 64,
    limit: int = LIMIT,
    is_again: bool = False,
) -> Unpacked:
    """Unpack data that was requested from this offset with this limit."""
    requested = replace(request_of(TP, offset, requested_bytes), is_again=is_again)
    settings = CoreFetchSettings(growth_max_bytes=limit)
    return unpack(requested, part(TP, data, high_watermark=1_000), settings, 1 << 20)


def packed(first: int, count: int) -> bytes:
    """Build a compressed batch of ``count`` records."""
    records = [
        Record(first + at, None, b"v" * 50, 1, TimestampType.CREATE_TIME) for at in range(count)
    ]
    return build_batch(records, codec=Codec.GZIP, traits=BatchTraits(leader_epoch=0))


def chunk_of(found: Unpacked) -> BufferedChunk:
    """Return the chunk, which must exist."""
    assert found.chunk is not None
    return found.chunk


def test_a_truncated_first_entry_is_requested_in_full() -> None:
    """Brokers before 0.10.1 cut it off; its header has its size."""
    whole = batch(0, 1, size=5_000)
    found = unpacked(whole[:64])
    assert (found.chunk, found.needed_bytes, found.wire_bytes) == (None, len(whole), 64)


def test_a_larger_request_includes_the_entries_before_the_offset() -> None:
    """A set below the offset comes first again, and is skipped."""
    below, whole = batch(0, 3), batch(3, 1, size=5_000)
    found = unpacked(below + whole[:64], offset=3, is_again=True)
    assert (found.chunk, found.needed_bytes) == (None, len(below) + len(whole))


def test_an_entry_that_did_not_fit_is_requested_with_a_larger_fetch() -> None:
    """The size doubles up to the limit, so that it does not go on for ever."""
    whole = batch(0, 1, size=500)
    assert unpacked(whole[:64], requested_bytes=4_000).needed_bytes == 8_000
    assert unpacked(whole[:64], requested_bytes=4_000, limit=5_000).needed_bytes == 5_000
    never = unpacked(whole[:64], requested_bytes=5_000, limit=5_000)
    assert isinstance(never.too_large, MessageTooLarge)


@pytest.mark.parametrize(("requested_bytes", "needed"), [(100, 200), (700, 1_000), (999, 1_000)])
def test_without_an_entry_size_twice_as_much_is_requested(
    requested_bytes: int, needed: int
) -> None:
    """The size is limited."""
    found = unpacked(b"\0" * 7, requested_bytes=requested_bytes, limit=1_000)
    assert (found.needed_bytes, found.too_large, found.wire_bytes) == (needed, None, 7)


def test_an_entry_beyond_the_limit_is_an_error_with_its_size() -> None:
    """The error names the limit, which is the setting to raise."""
    whole = batch(0, 1, size=5_000)
    limit = len(whole) - 1
    assert unpacked(whole[:64], limit=limit + 1).too_large is None
    found = unpacked(whole[:64], limit=limit)
    assert isinstance(found.too_large, MessageTooLarge)
    assert str(len(whole)) in str(found.too_large)
    assert str(limit) in str(found.too_large)
    assert "t-0" in str(found.too_large)


def test_at_the_limit_an_entry_without_a_size_is_too_large() -> None:
    """Nothing larger may be requested."""
    assert unpacked(b"\0" * 7, requested_bytes=1_000, limit=1_000).too_large is not None


def test_the_next_request_is_large_enough_for_the_truncated_entry() -> None:
    """Complete entries are delivered; an entry beyond the limit does not enlarge the request."""
    first, second = batch(0, 3), batch(3, 1, size=5_000)
    found = unpacked(first + second[:64])
    assert chunk_of(found).end == PositionView(3, 0)
    assert (found.needed_bytes, found.count) == (len(second), 3)
    assert unpacked(first + second[:64], limit=len(second)).needed_bytes == len(second)
    assert unpacked(first + second[:64], limit=len(second) - 1).needed_bytes == 0


@pytest.mark.parametrize(("enough_bytes", "end"), [(1, 3), (1 << 20, 9)])
def test_no_further_set_is_decompressed_when_there_is_enough(enough_bytes: int, end: int) -> None:
    """The rest is fetched again; what is compressed together is unpacked together."""
    data = b"".join(packed(first, 3) for first in (0, 3, 6))
    response = part(TP, data, high_watermark=1_000)
    found = unpack(request_of(), response, CoreFetchSettings(), enough_bytes)
    assert chunk_of(found).end == PositionView(end, 0)
    assert (found.count, found.corrupt, found.packed) == (end, None, None)


def test_a_chunk_ends_in_the_epoch_of_its_last_record() -> None:
    """The epoch reveals a leader whose log was truncated."""
    assert chunk_of(unpacked(batch(0, 2, epoch=4) + batch(2, 2, epoch=7))).end == PositionView(4, 7)


def test_damage_ends_a_chunk_without_an_epoch() -> None:
    """The sound records before it are kept, and are not requested again."""
    damaged = bytearray(batch(3, 2))
    damaged[-1] ^= 1
    found = unpacked(batch(0, 3) + bytes(damaged))
    assert chunk_of(found).end == PositionView(3, -1)
    assert found.corrupt is not None
    assert found.corrupt.next_offset == 5


def test_damage_names_no_next_offset_if_its_neighbour_contradicts_it() -> None:
    """No checksum covers the offsets of old messages, and sound ones could be skipped."""
    sets = [build_message_set([Record(at, None, b"v")], magic=0) for at in (0, 9, 2)]
    damaged = bytearray(sets[1])
    damaged[-1] ^= 1
    found = unpacked(sets[0] + bytes(damaged) + sets[2])
    assert chunk_of(found).end == PositionView(1, -1)
    assert found.corrupt is not None
    assert found.corrupt.next_offset is None


class Records:
    """Records whose remaining count the test sets."""

    def __init__(self, count: int, memory_bytes: int, valid_bytes: int) -> None:
        self.count, self.memory_bytes, self.valid_bytes = count, memory_bytes, valid_bytes

    def __len__(self) -> int:
        return self.count


@pytest.mark.parametrize(("left", "unread_bytes"), [(10, 1_000), (4, 400), (0, 0)])
def test_delivered_records_of_a_chunk_free_capacity(left: int, unread_bytes: int) -> None:
    """Unread bytes are in proportion to the records left."""
    records = Records(10, 5_000, 1_000)
    chunk = BufferedChunk(records, PositionView(10))  # type: ignore[arg-type]
    records.count = left
    assert (chunk.unread_bytes, chunk.memory_bytes) == (unread_bytes, 5_000)


def test_a_chunk_without_records_takes_no_capacity() -> None:
    """For example, all of its records belong to aborted transactions."""
    empty: FetchedRecords = Records(0, 0, 1_000)  # type: ignore[assignment]
    assert BufferedChunk(empty, PositionView(3)).unread_bytes == 0


def test_a_large_part_of_a_response_is_not_copied() -> None:
    """A small part is copied, since it would keep the whole response in memory."""
    data = batch(0, 4)
    for times, is_shared in ((1, True), (8, True), (9, False)):
        response = bytearray(data * times)
        records = memoryview(response)[: len(data)]
        partition = altered(part(TP, high_watermark=1_000), records=records)
        found = unpack(request_of(), partition, CoreFetchSettings(), 1 << 20)
        del records, partition
        frame = chunk_of(found).frame
        assert (frame is not None) is is_shared
        if frame is not None:
            assert frame.size_bytes == len(response)
        if RUNS_NATIVE and is_shared:
            with pytest.raises(BufferError):
                response.append(0)
        else:
            response.append(0)
        assert len(chunk_of(found).records.take(9)) == 4
