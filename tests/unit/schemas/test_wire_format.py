"""Confluent's wire format: where a value's payload begins, and which schema it has."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.schemas.wire_format import BadValue, framed

GUID = UUID("0f3c1b5e-9d3a-4a51-8f3e-2c6a17a0b9d4")


def test_an_id_comes_before_the_payload() -> None:
    """A schema id is five bytes in front of the payload, of which the first is 0."""
    assert framed(b"\0\0\0\1\2rest", None, has_indexes=False) == (258, (), 5)


@pytest.mark.parametrize(
    ("indexes", "message"),
    [(b"\0", (0,)), (b"\2\0", (0,)), (b"\4\2\6", (1, 3)), (b"\2\x80\2", (128,))],
)
def test_a_message_is_found_by_its_indexes(indexes: bytes, message: tuple[int, ...]) -> None:
    """Message indexes are zigzag varints with a count in front; a single 0 is the first message."""
    value = b"\0\0\0\0\7" + indexes + b"payload"
    assert framed(value, None, has_indexes=True) == (7, message, 5 + len(indexes))
    guid = b"\1" + GUID.bytes + indexes
    assert framed(b"payload", guid, has_indexes=True) == (GUID, message, 0)


def test_a_guid_in_a_header_leaves_the_value_whole() -> None:
    """A schema GUID in a header leaves the value unframed, as Confluent Platform 8.0 writes it."""
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
def test_a_value_in_another_format_is_refused_with_the_reason(
    value: bytes, header: bytes | None, reason: str
) -> None:
    """A value that is not in this format is refused with a reason that a person understands."""
    with pytest.raises(BadValue, match=reason):
        framed(value, header, has_indexes=True)


@given(st.binary(max_size=40), st.none() | st.binary(max_size=30), st.booleans())
def test_any_bytes_are_taken_apart_or_refused(
    value: bytes, header: bytes | None, has_indexes: bool
) -> None:
    """Any bytes are parsed or refused with ``BadValue``, never with another error."""
    try:
        found = framed(value, header, has_indexes=has_indexes)
    except BadValue:
        return
    assert found.payload_start <= len(value)
