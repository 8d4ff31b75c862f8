"""The lines of the offsets file."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mirroring import OTHER, SOURCE
from zkconsumer.errors import MirrorError
from zkconsumer.mirror.landed import Landed, ReadFrom, ReadUntil, from_line, runs_of, to_line

GOOD = {
    "topic": "t",
    "partition": 0,
    "offsets": [[3, 5], [7, 8]],
    "target_topic": "t",
    "target_partition": 1,
    "target_offset": 40,
}


def test_a_line_has_the_target_offset_of_each_message() -> None:
    """Runs of source offsets are consecutive in the target."""
    landed = from_line(json.dumps(GOOD).encode(), "file, line 1,")
    assert isinstance(landed, Landed)
    assert list(landed.pairs()) == [(3, 40), (4, 41), (7, 42)]
    assert (landed.count, landed.first_offset, landed.until_offset) == (3, 3, 8)


@given(st.sets(st.integers(0, 60), min_size=1), st.integers(0, 2**63 - 100))
def test_lines_round_trip(offsets: set[int], target_offset: int) -> None:
    """This holds whatever the gaps."""
    ascending = sorted(offsets)
    landed = Landed(SOURCE, runs_of(ascending), OTHER, target_offset)
    line = to_line(landed)
    assert line.endswith(b"\n")
    assert from_line(line, "") == landed
    assert [offset for offset, _ in landed.pairs()] == ascending


def test_a_line_has_where_a_process_began_or_read_until() -> None:
    """These lines are distinct from those with messages."""
    line = to_line(ReadFrom(SOURCE, 7))
    assert json.loads(line) == {"topic": "clicks", "partition": 0, "from": 7}
    assert from_line(line, "") == ReadFrom(SOURCE, 7)
    line = to_line(ReadUntil(SOURCE, 8))
    assert json.loads(line) == {"topic": "clicks", "partition": 0, "until": 8}
    assert from_line(line, "") == ReadUntil(SOURCE, 8)


@pytest.mark.parametrize(
    "change",
    [
        {"topic": 3},
        {"partition": -1},
        {"partition": True},
        {"offsets": []},
        {"offsets": [[5, 5]]},
        {"offsets": [[5, 8], [7, 9]]},
        {"offsets": [[5]]},
        {"offsets": "x"},
        {"target_offset": None},
        {"from": -1},
        {"from": "0"},
    ],
)
def test_the_error_of_a_damaged_line_has_its_number(change: dict[str, object]) -> None:
    """An invalid line is never taken for another."""
    with pytest.raises(MirrorError, match="f, line 4,"):
        from_line(json.dumps({**GOOD, **change}).encode(), "f, line 4,")


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"{}", b"\xff"])
def test_text_that_is_no_line_is_refused(line: bytes) -> None:
    """These bytes are no JSON, or no line of the file."""
    with pytest.raises(MirrorError, match="is not a line"):
        from_line(line, "f")
