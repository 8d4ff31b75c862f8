"""Parts of a response with both message formats, as after a change of the topic's format."""

import itertools

import pytest

from tests.support.batches import records as of_batch
from tests.support.fetched_decoders import FetchedDecoder
from tests.support.ranges import DECODERS
from tests.support.record_sets import records as of_set
from zkconsumer.fetch.range_parts import parts_of
from zkconsumer.model import Record
from zkconsumer.records import pure_fetched
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import build_batch

LIMIT = 1 << 20


@pytest.mark.parametrize("decoder", DECODERS)
def test_records_of_both_formats_come_in_one_part(decoder: FetchedDecoder) -> None:
    """No record is left out where the format changes."""
    data = build_message_set(of_set(0, 1)) + build_batch(of_batch(2, 3)) + build_batch(of_batch(4))
    fetched = decoder(memoryview(data), fetch_offset=0, max_decompressed_bytes=LIMIT)
    (part,) = parts_of(fetched, 5, LIMIT)
    assert [record.offset for record in part.records()] == [0, 1, 2, 3, 4]
    assert bool(part.runs) == (decoder is not pure_fetched.decode_fetched)
    assert part.next_offset == 5


@pytest.mark.parametrize(
    ("part_bytes", "counts"), [(1, [1] * 6), (152, [2, 2, 2]), (151, [1] * 6), (1 << 20, [6])]
)
@pytest.mark.parametrize("decoder", DECODERS)
def test_parts_are_limited_by_the_size_of_their_records(
    decoder: FetchedDecoder, part_bytes: int, counts: list[int]
) -> None:
    """Keys, values and entries count; the last part ends where the range does."""
    data = build_message_set([Record(at, b"k" * 40, b"v" * 10) for at in range(6)], magic=0)
    fetched = decoder(memoryview(data), fetch_offset=0, max_decompressed_bytes=LIMIT)
    parts = list(parts_of(fetched, 6, part_bytes))
    assert [len(part) for part in parts] == counts
    assert [part.next_offset for part in parts] == list(itertools.accumulate(counts))
