"""Splitting a record set into entries: truncated ends, sizes, formats, where reading continues."""

import struct

import pytest

from tests.support.engines import each_engine
from tests.support.record_sets import decode, raw_message, records
from zkconsumer.errors import CorruptRecord
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

THREE = records(4, 5, 9)


def entry(offset: int, size: int, rest: bytes = b"") -> bytes:
    """Return an entry's header with any size, and what follows it."""
    return struct.pack(">qi", offset, size) + rest


def test_an_empty_set_changes_nothing() -> None:
    """Without bytes there are no records, and the next offset stays the same."""
    decoded = decode(b"", fetch_offset=7)
    assert (list(decoded.records), decoded.next_offset, decoded.valid_bytes) == ([], 7, 0)
    assert decoded.first_entry_size_bytes is None
    assert decoded.error is None


def test_records_come_in_log_order_and_gaps_are_fine() -> None:
    """Compaction leaves gaps; the next offset comes after the last record."""
    data = build_message_set(THREE)
    decoded = decode(data, fetch_offset=4)
    assert decoded.records == THREE
    assert (decoded.next_offset, decoded.valid_bytes) == (10, len(data))


def test_a_view_into_a_frame_decodes_like_bytes() -> None:
    """A slice of a response decodes the same, and the records are copies that outlive it."""
    data = build_message_set(THREE)
    frame = bytearray(b"head" + data + b"tail")
    decoded = decode(memoryview(frame)[4:-4])
    frame[:] = bytes(len(frame))
    assert decoded.records == THREE


def test_null_and_empty_are_different() -> None:
    """Null keys and values stay null, empty ones empty."""
    some = [
        Record(0, None, None),
        Record(1, b"", b""),
        Record(2, b"k", None),
        Record(3, None, b"v"),
    ]
    assert decode(build_message_set(some)).records == some


def test_records_below_the_fetch_offset_are_left_out() -> None:
    """Entries before the fetch offset count as read, but are not returned."""
    decoded = decode(build_message_set(THREE), fetch_offset=6)
    assert decoded.records == THREE[2:]


def test_next_offset_never_goes_back() -> None:
    """A set that is entirely below the fetch offset does not move it back."""
    assert decode(build_message_set(THREE), fetch_offset=50).next_offset == 50


def test_a_truncated_last_message_ends_the_set() -> None:
    """The truncated message is fetched again, without an error."""
    data = build_message_set(THREE)
    decoded = decode(data[:-1], fetch_offset=4)
    assert decoded.records == THREE[:2]
    assert decoded.next_offset == 6
    assert decoded.valid_bytes == len(build_message_set(THREE[:2]))
    assert decoded.first_entry_size_bytes is None
    assert decoded.error is None


def test_the_size_of_a_truncated_first_entry_is_returned() -> None:
    """The size lets a fetcher request enough; it includes the header of 12 bytes."""
    data = build_message_set(THREE[:1])
    decoded = decode(data[:-1], fetch_offset=4)
    assert decoded.first_entry_size_bytes == len(data)
    assert (list(decoded.records), decoded.next_offset, decoded.valid_bytes) == ([], 4, 0)


def test_the_size_of_a_truncated_header_is_unknown() -> None:
    """Eleven bytes are not enough."""
    assert decode(build_message_set(THREE)[:11]).first_entry_size_bytes is None


@pytest.mark.parametrize("size", [13, 0, -1, -(2**31)])
def test_an_entry_size_below_the_smallest_message_is_corrupt(size: int) -> None:
    """Earlier records are kept; where the next entry begins is unknown."""
    good = build_message_set(THREE)
    decoded = decode(good + entry(10, size, bytes(100)), fetch_offset=4)
    assert decoded.records == THREE
    assert (decoded.next_offset, decoded.valid_bytes) == (10, len(good))
    error = decoded.error
    assert isinstance(error, CorruptRecord)
    assert (error.offset, error.position, error.next_offset) == (10, len(good), None)
    assert f"entry size {size}" in str(error)
    assert decoded.first_entry_size_bytes is None


def test_an_invalid_size_is_not_taken_for_a_large_entry() -> None:
    """A truncated first entry of 13 bytes is corrupt, and not too large for the fetch."""
    decoded = decode(entry(10, 13, bytes(12)))
    assert decoded.error is not None
    assert decoded.first_entry_size_bytes is None


def test_a_negative_offset_is_corrupt() -> None:
    """No log has such an offset."""
    decoded = decode(build_message_set([*THREE, Record(-5, b"k", b"v")]))
    assert decoded.records == THREE
    assert decoded.error is not None
    assert decoded.error.reason == "negative offset"


def test_the_next_offset_follows_the_highest() -> None:
    """A log in disorder (after damage) must not make a fetcher repeat itself for ever."""
    decoded = decode(build_message_set(records(5, 3)))
    assert decoded.records == records(5, 3)
    assert decoded.next_offset == 6


def test_the_largest_offset_does_not_overflow() -> None:
    """A corrupt offset must not lead to a next offset that no request can carry."""
    decoded = decode(build_message_set([Record(2**63 - 1, b"k", b"v")]))
    assert decoded.next_offset == 2**63 - 1


def test_a_wrong_crc_is_an_error_with_its_position() -> None:
    """Earlier records are kept, later ones wait; reading can continue after it."""
    good, bad, following = (build_message_set([record]) for record in THREE)
    damaged = bad[:-1] + bytes([bad[-1] ^ 1])
    decoded = decode(good + damaged + following, fetch_offset=4)
    assert decoded.records == THREE[:1]
    assert (decoded.next_offset, decoded.valid_bytes) == (5, len(good))
    error = decoded.error
    assert isinstance(error, CorruptRecord)
    assert (error.offset, error.position, error.next_offset) == (5, len(good), 6)
    assert error.raw == damaged
    assert "CRC" in str(error)


def test_reading_continues_after_a_corrupt_entry() -> None:
    """From the error's next offset the same bytes decode to the records after it."""
    good, bad, following = (build_message_set([record]) for record in THREE)
    data = good + bad[:-1] + bytes([bad[-1] ^ 1]) + following
    error = decode(data, fetch_offset=4).error
    assert error is not None
    assert error.next_offset is not None
    decoded = decode(data, fetch_offset=error.next_offset)
    assert decoded.error is None
    assert decoded.records == THREE[2:]


def test_a_corrupt_batch_after_messages_does_not_give_its_end() -> None:
    """The offset in its header is its first record's."""
    good = build_message_set(THREE)
    decoded = decode(good + raw_message(10, bytes(60), magic=2), fetch_offset=4)
    assert decoded.records == THREE
    assert decoded.error is not None
    assert (decoded.error.position, decoded.error.next_offset) == (len(good), None)


@pytest.mark.parametrize(("magic", "next_offset"), [(3, 11), (127, 11), (-1, 11)])
def test_other_formats_are_named(magic: int, next_offset: int | None) -> None:
    """An unknown format stops reading; it is taken for a corrupt message."""
    good = build_message_set(THREE)
    decoded = decode(good + raw_message(10, bytes(60), magic=magic), fetch_offset=4)
    assert decoded.records == THREE
    error = decoded.error
    assert error is not None
    assert error.reason == f"record format with magic {magic} is not supported"
    assert (error.position, error.next_offset) == (len(good), next_offset)


def test_formats_may_follow_each_other() -> None:
    """After a broker upgrade one log has both formats."""
    new = records(10, 11, magic=1)
    data = build_message_set(THREE) + build_message_set(new, magic=1) + build_message_set(THREE)
    assert decode(data).records == THREE + new + THREE


BODIES = {
    "key longer than the message": struct.pack(">i", 100) + bytes(8),
    "key length below -1": struct.pack(">ii", -2, 0),
    "value longer than the message": struct.pack(">ii", -1, 5) + b"abc",
    "value shorter than the message": struct.pack(">ii", -1, 2) + b"abc",
    "value length below -1": struct.pack(">ii", -1, -2),
    "bytes behind a null value": struct.pack(">ii", -1, -1) + b"abc",
    "no room for the value's length": struct.pack(">i", 6) + b"abcdef",
}


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("body", BODIES)
def test_contradictory_lengths_are_corrupt(body: str, magic: int, codec: int) -> None:
    """Lengths that do not fill the message exactly are an error, even if the CRC matches."""
    stamp = bytes(8) if magic else b""
    data = raw_message(3, BODIES[body], magic=magic, attributes=codec, stamp=stamp)
    for following in (b"", b"\xff" * 12, build_message_set(THREE)):
        decoded = decode(data + following)
        assert decoded.records == []
        assert decoded.error is not None
        assert decoded.error.reason == "lengths of key and value contradict the entry's size"
        assert (decoded.error.offset, decoded.error.next_offset) == (3, 4)


def test_a_message_of_magic_1_needs_room_for_its_timestamp() -> None:
    """14 bytes are enough for magic 0 only, even at the end of the data."""
    decoded = decode(raw_message(3, struct.pack(">ii", -1, -1), magic=1))
    assert decoded.error is not None
    assert decoded.error.reason == "lengths of key and value contradict the entry's size"
