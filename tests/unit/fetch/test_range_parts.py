"""An answer of both formats, as a log has them whose topic was moved to the newer one."""

import itertools

import pytest

from tests.support.batches import records as of_batch
from tests.support.ranges import DECODERS
from tests.support.record_sets import records as of_set
from zkconsumer.fetch.range_parts import PieceDecoder, RangePiece, decode_pure, parts_of
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import build_batch

ROOM = 1 << 20


@pytest.mark.parametrize("decoder", DECODERS)
def test_records_of_both_formats_come_in_one_piece(decoder: PieceDecoder) -> None:
    """None is left out where one format ends and the other begins."""
    data = build_message_set(of_set(0, 1)) + build_batch(of_batch(2, 3)) + build_batch(of_batch(4))
    piece = decoder(memoryview(data), 0, ROOM, ROOM)
    rows = [*piece.rows, *(record for run in piece.runs for record in run.records())]
    assert [row[0] for row in rows] == [0, 1, 2, 3, 4]
    assert bool(piece.runs) == (decoder is not decode_pure)
    assert (piece.next_offset, piece.valid_bytes, piece.error) == (5, len(data), None)


@pytest.mark.parametrize(
    ("part_bytes", "counts"), [(1, [1] * 6), (152, [2, 2, 2]), (151, [1] * 6), (1 << 20, [6])]
)
def test_parts_take_about_what_their_records_took(part_bytes: int, counts: list[int]) -> None:
    """Keys and values with what an entry costs; the last one ends where the range does."""
    rows = [(at, b"k" * 40, b"v" * 10, -1, -1) for at in range(6)]
    piece = RangePiece(
        runs=(), rows=rows, next_offset=6, valid_bytes=0, first_entry_size_bytes=None, error=None
    )
    parts = list(parts_of(piece, 6, part_bytes))
    assert [len(part.rows) for part in parts] == counts
    assert [part.next_offset for part in parts] == list(itertools.accumulate(counts))
