"""The memory that records take, compared with what the allocator gave."""

import tracemalloc

import pytest

from tests.support.chunks import chunk_of, claim_of
from tests.support.record_sets import records
from zkconsumer.fetch.sizes import can_cut, cut_head
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.memory import records_bytes

COUNT = 5_000


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize(
    ("key", "value"), [(None, None), (b"ab", b"cd"), (None, b"x" * 100), (b"k" * 9, b"y" * 1_000)]
)
def test_the_size_of_records_covers_their_memory(
    magic: int, codec: Codec, key: bytes | None, value: bytes | None
) -> None:
    """It is never less than was allocated, and at most a third more."""
    stamp = 1_600_000_000_000 if magic else -1
    data = build_message_set(
        [Record(1_000 + number, key, value, stamp) for number in range(COUNT)],
        magic=magic,
        codec=codec,
    )
    # CPython keeps 2,000 free tuples of each size, which would be reused without allocating.
    kept = [tuple([number] * size) for size in range(1, 8) for number in range(2_000)]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        decoded = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=1 << 30)
        taken_bytes = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(kept) == 7 * 2_000
    assert len(decoded.records) == COUNT
    # Other allocations of a test run are a few hundred bytes.
    assert taken_bytes - 2_000 <= records_bytes(decoded.records) <= taken_bytes * 1.34


def test_a_chunk_of_one_record_is_not_cut() -> None:
    """However small the parts should be; nor is a chunk that is small enough."""
    assert not can_cut(chunk_of(claim_of(), [0]), 1)
    assert not can_cut(chunk_of(claim_of(), []), 1)
    assert not can_cut(chunk_of(claim_of(), [0, 1]), 2 * records_bytes(records(0)))


def test_a_head_has_at_least_one_record() -> None:
    """The rest of the chunk starts after it."""
    chunk = chunk_of(claim_of(), [3, 9])
    head = cut_head(chunk, 1)
    assert [record.offset for record in head.records] == [3]
    assert (head.fetch_offset, head.next_offset, chunk.fetch_offset) == (3, 4, 4)
    assert [record.offset for record in chunk.records] == [9]
    assert chunk.size_bytes == head.size_bytes
