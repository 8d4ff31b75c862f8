"""An answer of both formats, as a log has them whose topic was moved to the newer one."""

from tests.support.batches import records as of_batch
from tests.support.record_sets import records as of_set
from zkconsumer.fetch.range_parts import decode_any
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import build_batch

ROOM = 1 << 20


def test_records_of_both_formats_come_in_one_piece() -> None:
    """None is left out where one format ends and the other begins."""
    data = build_message_set(of_set(0, 1)) + build_batch(of_batch(2, 3)) + build_batch(of_batch(4))
    piece = decode_any(memoryview(data), 0, ROOM, ROOM)
    assert [row[0] for row in piece.rows] == [0, 1, 2, 3, 4]
    assert (piece.next_offset, piece.valid_bytes, piece.error) == (5, len(data), None)
