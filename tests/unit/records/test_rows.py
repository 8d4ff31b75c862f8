"""Rows as a sequence of records."""

import gc
from collections.abc import Sequence

import pytest

from tests.support.record_sets import records
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.memory import records_bytes
from zkconsumer.records.rows import Rows, as_records, as_tuples

FOUR = records(4, 5, 9, 10, magic=1)
PLAIN = [tuple(record) for record in FOUR]
ROWS = Rows([(record[0], record[1], record[2], record[3], int(record[4])) for record in FOUR])


def test_records_are_made_on_access() -> None:
    """They can be read by index from both ends, and by iteration."""
    assert (len(ROWS), ROWS[1], ROWS[-1]) == (4, FOUR[1], FOUR[3])
    assert {type(ROWS[2]), *map(type, ROWS), *map(type, reversed(ROWS))} == {Record}
    assert list(ROWS) == FOUR
    assert as_records(ROWS.plain) == FOUR
    assert [type(row.timestamp_type) for row in ROWS] == [TimestampType] * 4
    assert [
        record.timestamp_type
        for record in as_records([(1, None, None, -1, kind) for kind in (-1, 0, 1)])
    ] == [
        TimestampType.NONE,
        TimestampType.CREATE_TIME,
        TimestampType.LOG_APPEND_TIME,
    ]
    with pytest.raises(IndexError):
        ROWS[4]


def test_a_slice_of_rows_is_rows() -> None:
    """Slicing makes no records."""
    part = ROWS[1:3]
    assert isinstance(part, Rows)
    assert (list(part), part.plain) == (FOUR[1:3], PLAIN[1:3])
    assert not ROWS[4:]


def test_rows_equal_a_sequence_of_the_same_records() -> None:
    """The kind of sequence does not matter; like lists, rows have no hash."""
    others: list[Sequence[object]] = [FOUR, tuple(FOUR), Rows(ROWS.plain[:])]
    assert all(other == ROWS and other == ROWS for other in others)
    assert FOUR[:3] != ROWS
    assert ROWS != 4
    with pytest.raises(TypeError):
        hash(ROWS)


def test_other_sequences_are_plain_already() -> None:
    """A record is a tuple, too."""
    assert as_tuples(ROWS) is ROWS.plain
    assert as_tuples(FOUR) is FOUR
    assert {type(row) for row in as_tuples(ROWS)} == {tuple}


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_the_garbage_collector_does_not_track_decoded_rows(magic: int, codec: Codec) -> None:
    """Thousands wait in a queue, and each collection would visit them."""
    some = [Record(number, b"k", bytes(9), magic - 1) for number in range(50)]
    data = build_message_set(some, magic=magic, codec=codec)
    decoded = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=10_000)
    rows = as_tuples(decoded.records)
    assert len(rows) == 50
    gc.collect()
    assert not any(map(gc.is_tracked, rows))


def test_the_repr_of_rows_has_their_records() -> None:
    """This helps when a test fails."""
    assert repr(ROWS[:1]) == f"Rows([{FOUR[0]!r}])"


def test_rows_count_as_their_records() -> None:
    """So a chunk has the same size whatever it is decoded to, and however it is split."""
    assert (
        records_bytes(ROWS)
        == records_bytes(FOUR)
        == sum(records_bytes([record]) for record in FOUR)
    )
