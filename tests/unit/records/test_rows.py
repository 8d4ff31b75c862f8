"""Rows as a sequence of records."""

from collections.abc import Sequence

import pytest

from tests.support.record_sets import records
from zkconsumer.model import Record
from zkconsumer.records.memory import records_bytes
from zkconsumer.records.rows import Rows, made, plain

FOUR = records(4, 5, 9, 10, magic=1)
PLAIN = [tuple(one) for one in FOUR]
ROWS = Rows([(one[0], one[1], one[2], one[3], one[4]) for one in FOUR])


def test_records_are_made_when_they_are_asked_for() -> None:
    """By number from both ends, and one after the other."""
    assert (len(ROWS), ROWS[1], ROWS[-1]) == (4, FOUR[1], FOUR[3])
    assert {type(ROWS[2]), *map(type, ROWS), *map(type, reversed(ROWS))} == {Record}
    assert list(ROWS) == FOUR
    assert made(ROWS.plain) == FOUR
    with pytest.raises(IndexError):
        ROWS[4]


def test_a_part_of_rows_are_rows() -> None:
    """Nothing is made to cut them."""
    part = ROWS[1:3]
    assert isinstance(part, Rows)
    assert (list(part), part.plain) == (FOUR[1:3], PLAIN[1:3])
    assert not ROWS[4:]


def test_rows_equal_what_has_the_same_records() -> None:
    """Whatever kind of sequence; as a list, they have no hash."""
    others: list[Sequence[object]] = [FOUR, tuple(FOUR), Rows(ROWS.plain[:])]
    assert all(other == ROWS and other == ROWS for other in others)
    assert FOUR[:3] != ROWS
    assert ROWS != 4
    with pytest.raises(TypeError):
        hash(ROWS)


def test_what_is_no_rows_is_as_plain_as_it_is() -> None:
    """A record is a tuple, too."""
    assert plain(ROWS) is ROWS.plain
    assert plain(FOUR) is FOUR
    assert {type(row) for row in plain(ROWS)} == {tuple}


def test_rows_tell_what_they_hold() -> None:
    """In a failure of a test, say."""
    assert repr(ROWS[:1]) == f"Rows([{FOUR[0]!r}])"


def test_rows_count_as_their_records() -> None:
    """So that a chunk costs the same whatever is made of it, and cut in whatever way."""
    assert records_bytes(ROWS) == records_bytes(FOUR) == sum(records_bytes([one]) for one in FOUR)
