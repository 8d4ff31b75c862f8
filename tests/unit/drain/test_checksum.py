"""Checksums and contents add up, and are kept as text."""

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
def test_the_parts_add_up_to_the_whole(some: list[int], more: list[int]) -> None:
    """Two halves of a set give what the set gives, whatever the order."""
    parts = contents_of(_row(some, 10)) + contents_of(_row(more, 10 + len(some)))
    whole = contents_of(_row(some + more, 10))
    assert parts == whole
    assert parts.checksum == Checksum(sum(reversed(some + more)))


@given(st.integers())
def test_a_checksum_reads_back(total: int) -> None:
    """Text and value are one."""
    checksum = Checksum(total)
    assert Checksum.parse(str(checksum)) == checksum
    assert len(str(checksum)) == 16


def test_nothing_is_neutral() -> None:
    """Empty contents have no bounds, and change nothing."""
    some = Contents(rows=2, first_offset=4, last_offset=9, checksum=Checksum(77))
    assert Contents() + some == some
    assert some + Contents() == some


@pytest.mark.parametrize("text", ["", "12", "0" * 17, "00000000000000FF", "-000000000000001"])
def test_other_text_is_refused(text: str) -> None:
    """A damaged manifest must not compare as a checksum."""
    with pytest.raises(ValueError, match="is not a checksum"):
        Checksum.parse(text)
