"""Parts of an answer of both formats, as a log has them whose topic was moved to the newer one."""

import itertools

import pytest

from tests.support.batches import records as of_batch
from tests.support.ranges import DECODERS
from tests.support.record_sets import records as of_set
from zkconsumer.fetch.range_parts import parts_of
from zkconsumer.model import Record
from zkconsumer.records import pure_fetched
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import build_batch
from zkconsumer.records.slices import FetchedDecoder

ROOM = 1 << 20


@pytest.mark.parametrize("decoder", DECODERS)
def test_records_of_both_formats_come_in_one_part(decoder: FetchedDecoder) -> None:
    """None is left out where one format ends and the other begins."""
    data = build_message_set(of_set(0, 1)) + build_batch(of_batch(2, 3)) + build_batch(of_batch(4))
    fetched = decoder(memoryview(data), fetch_offset=0, max_decompressed_bytes=ROOM)
    (part,) = parts_of(fetched, 5, ROOM)
    assert [record.offset for record in part.records()] == [0, 1, 2, 3, 4]
    assert bool(part.runs) == (decoder is not pure_fetched.decode_fetched)
    assert part.next_offset == 5


@pytest.mark.parametrize(
    ("part_bytes", "counts"), [(1, [1] * 6), (152, [2, 2, 2]), (151, [1] * 6), (1 << 20, [6])]
)
@pytest.mark.parametrize("decoder", DECODERS)
def test_parts_take_about_what_their_records_took(
    decoder: FetchedDecoder, part_bytes: int, counts: list[int]
) -> None:
    """Keys and values with what an entry costs; the last one ends where the range does."""
    data = build_message_set([Record(at, b"k" * 40, b"v" * 10) for at in range(6)], magic=0)
    fetched = decoder(memoryview(data), fetch_offset=0, max_decompressed_bytes=ROOM)
    parts = list(parts_of(fetched, 6, part_bytes))
    assert [len(part) for part in parts] == counts
    assert [part.next_offset for part in parts] == list(itertools.accumulate(counts))
