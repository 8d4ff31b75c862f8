"""Parses Confluent's wire format: the schema of a value, and where its payload begins. Pure.

A value begins with a magic byte 0 and the schema's id in 4 bytes. Serializers of platform 8.0 can
instead put a magic byte 1 and the schema's GUID, 16 bytes, into a header; then the whole value is
the payload. For Protobuf the indexes of the message type follow the id or the GUID: their number,
then each, as zigzag varints; a single 0 means the first type.

Source: Confluent's Java ``SchemaId``, ``MessageIndexes``, ``DualSchemaIdDeserializer``.
"""

from typing import Final, NamedTuple
from uuid import UUID

SchemaKey = int | UUID | str
"""The key of a schema: its id, its GUID, or the subject whose latest version it is."""

VALUE_HEADER: Final = "__value_schema_id"
_ID_BYTES: Final = 5
_GUID_BYTES: Final = 17
_MOST_ID: Final = 2**31 - 1
_MOST_INDEXES: Final = 32
_MOST_INDEX: Final = 2**20
_VARINT_BITS: Final = 35


class BadValue(Exception):
    """A value can't be decoded; the text is the reason."""


class FramedValue(NamedTuple):
    """The parts of a value.

    Attributes:
        schema: the key of its schema.
        message: for Protobuf, the indexes that lead to its message; else empty.
        payload_start: the number of bytes before the payload.
    """

    schema: SchemaKey
    message: tuple[int, ...]
    payload_start: int


def framed(value: bytes, header: bytes | None, *, has_indexes: bool) -> FramedValue:
    """Split a value into schema id and payload.

    Args:
        value: the whole value.
        header: the header named ``VALUE_HEADER``; None if the record has none.
        has_indexes: whether the indexes of a Protobuf message follow the id.

    Raises:
        BadValue: the value is not in this format.
    """
    if header is not None:
        key = _guid(header)
        message, _ = _indexes(header, _GUID_BYTES) if has_indexes else ((), 0)
        return FramedValue(key, message, 0)
    if len(value) < _ID_BYTES or value[0] != 0:
        raise BadValue("it does not begin with a magic byte 0 and a schema id")
    schema_id = int.from_bytes(value[1:_ID_BYTES])
    if schema_id > _MOST_ID:
        raise BadValue(f"its schema id {schema_id} is larger than any id of a registry")
    if not has_indexes:
        return FramedValue(schema_id, (), _ID_BYTES)
    return FramedValue(schema_id, *_indexes(value, _ID_BYTES))


def _guid(header: bytes) -> UUID:
    if len(header) < _GUID_BYTES or header[0] != 1:
        raise BadValue(f"its header {VALUE_HEADER} is not a magic byte 1 and a GUID")
    return UUID(bytes=header[1:_GUID_BYTES])


def _indexes(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    """Return the indexes, and the position after them."""
    count, at = _zigzag(data, at)
    if count == 0:
        return (0,), at
    if not 0 < count <= _MOST_INDEXES:
        raise BadValue(f"it has {count} message indexes")
    found = []
    for _ in range(count):
        index, at = _zigzag(data, at)
        if not 0 <= index <= _MOST_INDEX:
            raise BadValue(f"{index} is not a message index")
        found.append(index)
    return tuple(found), at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, _VARINT_BITS, 7):
        if at >= len(data):
            raise BadValue("it is truncated within its message indexes")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
    raise BadValue("a message index is longer than 5 bytes")
