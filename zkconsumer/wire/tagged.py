"""The section of tagged fields at the end of every struct of a flexible version.

It starts with a varint count; each field has a varint tag, a varint size, and its bytes. Unknown
tags are skipped, so that fields can be added without a new version. Source: KIP-482.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

from zkconsumer.wire.encoding import read_uvarint, write_uvarint
from zkconsumer.wire.fault import Fault

Value: TypeAlias = Any
Pieces: TypeAlias = list[bytes | memoryview]
ReadValue: TypeAlias = Callable[[memoryview, int], tuple[Value, int]]
WriteValue: TypeAlias = Callable[[Value, Pieces], None]

NO_TAGS = b"\0"
"""A section without fields."""


def read_tags(
    buffer: memoryview, position: int, known: Mapping[int, tuple[str, ReadValue]]
) -> tuple[dict[str, Value], int]:
    """Return the values of the known fields by name; unknown fields are skipped.

    Args:
        buffer: the frame.
        position: where the section starts.
        known: the name and reader of each field, by tag.

    Raises:
        Fault: the section is malformed, or a known field does not fill its size.
        struct.error: the buffer ends within a varint.
    """
    count, position = read_uvarint(buffer, position)
    values: dict[str, Value] = {}
    # Each takes at least two bytes, so the buffer ends the loop if the count is absurd.
    for _ in range(count):
        tag, position = read_uvarint(buffer, position)
        size, start = read_uvarint(buffer, position)
        end = start + size
        if end > len(buffer):
            left = len(buffer) - start
            raise Fault(f"tag {tag} has {size} bytes, but only {left} are left", position=position)
        if tag in known:
            name, read = known[tag]
            values[name] = _read_one(name, read, buffer[:end], start)
        position = end
    return values, position


def _read_one(name: str, read: ReadValue, buffer: memoryview, start: int) -> Value:
    """Return a field that must end where the buffer does."""
    try:
        value, end = read(buffer, start)
    except Fault as fault:
        fault.steps.append(name)
        raise
    except struct.error:
        raise Fault("its tag ends in the middle of it", position=start, steps=(name,)) from None
    if end != len(buffer):
        reason = f"{len(buffer) - end} bytes of its tag follow its end"
        raise Fault(reason, position=end, steps=(name,))
    return value


def tags_writer(fields: Sequence[tuple[str, int, object, WriteValue]]) -> WriteValue:
    """Return the writer of a message's tagged section; fields with their defaults are omitted.

    Args:
        fields: name, tag, default and writer of each, in the order of the tags.
    """
    known = [(attrgetter(name), name, tag, default, put) for name, tag, default, put in fields]

    def write(message: Value, pieces: Pieces) -> None:
        written: Pieces = []
        count = 0
        for get, name, tag, default, put in known:
            value = get(message)
            if value == default:
                continue
            data: Pieces = []
            try:
                put(value, data)
            except Fault as fault:
                fault.steps.append(name)
                raise
            size = sum(len(piece) for piece in data)
            written += (write_uvarint(tag), write_uvarint(size), *data)
            count += 1
        pieces.append(write_uvarint(count))
        pieces += written

    return write
