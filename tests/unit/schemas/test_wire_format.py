"""Where a value's payload begins, and which schema it is of."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.schemas.wire_format import BadValue, framed

GUID = UUID("0f3c1b5e-9d3a-4a51-8f3e-2c6a17a0b9d4")


def test_an_id_comes_before_the_payload() -> None:
    """Five bytes, the first of them 0."""
    assert framed(b"\0\0\0\1\2rest", None, has_indexes=False) == (258, (), 5)


@pytest.mark.parametrize(
    ("indexes", "message"),
    [(b"\0", (0,)), (b"\2\0", (0,)), (b"\4\2\6", (1, 3)), (b"\2\x80\2", (128,))],
)
def test_a_message_is_found_by_its_indexes(indexes: bytes, message: tuple[int, ...]) -> None:
    """A zigzag varint each, how many first; 0 alone is the first message."""
    value = b"\0\0\0\0\7" + indexes + b"payload"
    assert framed(value, None, has_indexes=True) == (7, message, 5 + len(indexes))
    guid = b"\1" + GUID.bytes + indexes
    assert framed(b"payload", guid, has_indexes=True) == (GUID, message, 0)


def test_a_guid_in_a_header_leaves_the_value_whole() -> None:
    """As the serializers of platform 8.0 write it."""
    assert framed(b"\0\0\0\0\7", b"\1" + GUID.bytes, has_indexes=False) == (GUID, (), 0)


@pytest.mark.parametrize(
    ("value", "header", "reason"),
    [
        (b"", None, "magic byte"),
        (b"\0\0\0\0", None, "magic byte"),
        (b'{"a": 1}', None, "magic byte"),
        (b"\0\xff\0\0\0", None, "larger than any id of a registry"),
        (b"\0\0\0\0\1", None, "within its message indexes"),
        (b"\0\0\0\0\1\1", None, "-1 message indexes"),
        (b"\0\0\0\0\1\x80\x80\x80\x80\x80\1", None, "longer than 5 bytes"),
        (b"\0\0\0\0\1\2\1", None, "-1 is not a message index"),
        (b"x", b"\0" + GUID.bytes, "GUID"),
        (b"x", b"\1short", "GUID"),
    ],
)
def test_what_is_not_in_this_format_says_why(
    value: bytes, header: bytes | None, reason: str
) -> None:
    """A reason for people."""
    with pytest.raises(BadValue, match=reason):
        framed(value, header, has_indexes=True)


@given(st.binary(max_size=40), st.none() | st.binary(max_size=30), st.booleans())
def test_any_bytes_are_taken_apart_or_refused(
    value: bytes, header: bytes | None, has_indexes: bool
) -> None:
    """Nothing else comes of them."""
    try:
        found = framed(value, header, has_indexes=has_indexes)
    except BadValue:
        return
    assert found.payload_start <= len(value)
