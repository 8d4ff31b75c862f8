"""Checksums and contents can be added, and are stored as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.drain.checksum import Checksum, Contents
from zkconsumer.drain.on_spark.sums import contents_of

_HASHES = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20)


def _row(hashes: list[int], first: int) -> list[int | None]:
    """What Spark sums up: 32 bits each, as ``shiftright`` and ``&`` take them."""
    ends = [first, first + len(hashes) - 1] if hashes else [None, None]
    return [len(hashes), *ends, sum(h >> 32 for h in hashes), sum(h & 0xFFFFFFFF for h in hashes)]


@given(_HASHES, _HASHES)
def test_the_parts_add_up_to_the_whole(part: list[int], more: list[int]) -> None:
    """The contents of two parts add up to those of the whole, in any order."""
    parts = contents_of(_row(part, 10)) + contents_of(_row(more, 10 + len(part)))
    whole = contents_of(_row(part + more, 10))
    assert parts == whole
    assert parts.checksum == Checksum(sum(reversed(part + more)))


@given(st.integers())
def test_a_checksum_reads_back(total: int) -> None:
    """A checksum is parsed from its text unchanged."""
    checksum = Checksum(total)
    assert Checksum.parse(str(checksum)) == checksum
    assert len(str(checksum)) == 16


def test_empty_contents_are_neutral() -> None:
    """Empty contents have no bounds, and adding them changes nothing."""
    part = Contents(rows=2, first_offset=4, last_offset=9, checksum=Checksum(77))
    assert Contents() + part == part
    assert part + Contents() == part


@pytest.mark.parametrize("text", ["", "12", "0" * 17, "00000000000000FF", "-000000000000001"])
def test_other_text_is_refused(text: str) -> None:
    """Text of a damaged manifest is not accepted as a checksum."""
    with pytest.raises(ValueError, match="is not a checksum"):
        Checksum.parse(text)
