"""Unpacking a response piece by piece: nothing twice, nothing left out, within the capacity."""

import pytest

from tests.support.record_sets import records, wrapper_around
from tests.support.single_partition import SinglePartitionFetcher
from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec

SETTINGS = FetchSettings()


def pieces(
    data: bytes, free_bytes: int, *, fetch_offset: int = 0, keep: bool = False
) -> list[Chunk]:
    """Return all chunks of a response, unpacked with one call each."""
    position = SinglePartitionFetcher(SETTINGS, fetch_offset)
    position.receive(data, requested_bytes=1_000_000, high_watermark=1_000_000)
    chunks: list[Chunk] = []
    for _ in range(10_000):
        if position.packed is None:
            return chunks
        if keep:
            position.fetcher.let_go()
        assert not position.part.is_ready
        chunk = position.unpack(free_bytes)
        if chunk is not None:
            assert chunk.next_offset == position.offset
            chunks.append(chunk)
    raise AssertionError("unpacking does not end")


def offsets(chunks: list[Chunk]) -> list[int]:
    """Return the offsets of all records."""
    return [record.offset for chunk in chunks for record in chunk.records]


@pytest.mark.parametrize("keep", [False, True])
def test_uncompressed_messages_come_in_pieces_of_about_the_capacity(keep: bool) -> None:
    """Pieces are consecutive, within the capacity, and not single messages either."""
    found = [Record(offset, None, b"x" * 20) for offset in range(5_000)]
    free_bytes = 100_000
    chunks = pieces(build_message_set(found), free_bytes, keep=keep)
    assert offsets(chunks) == list(range(5_000))
    assert all(chunk.size_bytes <= free_bytes for chunk in chunks)
    assert 10 < len(chunks) < 60
    ends = [0, *(chunk.next_offset for chunk in chunks)]
    assert [chunk.fetch_offset for chunk in chunks] == ends[:-1]


def test_with_enough_capacity_there_is_one_piece() -> None:
    """All records of the response are in it."""
    (chunk,) = pieces(build_message_set(records(*range(500))), 10**9)
    assert len(chunk.records) == 500


def test_with_little_capacity_each_compressed_set_is_a_piece() -> None:
    """A piece is a whole set, whatever its compressed size."""
    sets = [
        build_message_set(
            [Record(start + index, None, bytes(1_000)) for index in range(50)], codec=Codec.GZIP
        )
        for start in range(0, 500, 50)
    ]
    chunks = pieces(b"".join(sets), 10_000)
    assert offsets(chunks) == list(range(500))
    assert [len(chunk.records) for chunk in chunks] == [50] * 10


def test_an_entry_larger_than_the_capacity_is_unpacked_whole() -> None:
    """Otherwise it could never be delivered."""
    large = build_message_set([Record(0, None, bytes(range(256)) * 400)])
    chunks = pieces(large + build_message_set(records(1)), 1)
    assert offsets(chunks) == [0, 1]


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_truncated_last_entry_is_no_piece(cut: int) -> None:
    """No further call is needed to find that out."""
    data = build_message_set([Record(offset, None, b"x" * 30) for offset in range(300)])
    chunks = pieces(data[:-cut], 8 * 4096)
    assert offsets(chunks) == list(range(299))
    assert len(chunks) == 5


def test_entries_below_the_offset_are_skipped() -> None:
    """A set without requested records makes a piece without a chunk."""
    old = [
        wrapper_around(number, build_message_set([Record(number, None, bytes(6_000))]), codec=0)
        for number in range(3)
    ]
    chunks = pieces(b"".join(old) + build_message_set(records(3)), 1, fetch_offset=3)
    assert offsets(chunks) == [3]


def test_packed_records_do_not_keep_the_response_alive() -> None:
    """The rest of one partition is copied, so that the whole response can be freed."""
    data = build_message_set([Record(offset, None, b"x" * 20) for offset in range(5_000)])
    response = bytearray(data + bytes(100_000))
    position = SinglePartitionFetcher(SETTINGS, 0)
    half = memoryview(response)[: len(data)]
    position.receive(half, requested_bytes=1_000_000, high_watermark=5_000)
    half.release()
    chunk = position.unpack(100_000)
    assert chunk is not None
    packed = position.packed
    assert packed is not None
    with pytest.raises(BufferError):
        response.clear()
    left_bytes = len(data) - packed.at_byte
    del packed
    position.fetcher.let_go()
    packed = position.packed
    assert packed is not None
    response.clear()  # no view of it is left
    assert (len(packed.data), packed.at_byte) == (left_bytes, 0)
    assert packed.kept() is packed
    assert position.unpack(10**9) is not None
    assert position.offset == 5_000
