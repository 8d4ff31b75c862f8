"""Compiles message classes to readers: one closure per class, version and encoding.

Whatever the bytes are, a reader returns or raises ``Fault``. It allocates no more than the
remaining bytes of the frame can fill: counts are checked against them first. Consecutive integers
are read with one ``struct`` call.
"""

import struct
from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, cast

from zkconsumer.wire.encoding import CLASSIC, Encoding
from zkconsumer.wire.fault import Fault
from zkconsumer.wire.schema import (
    ApiMessage,
    Array,
    Blob,
    Field,
    FixedBytes,
    FixedInt,
    OnNull,
    SingleField,
    Struct,
    Text,
    WireType,
    plain_and_tagged,
)
from zkconsumer.wire.tagged import ReadValue, Value, read_tags


def reader_of(message: type[ApiMessage], version: int, encoding: Encoding = CLASSIC) -> ReadValue:
    """Return the reader of a message class and version: (frame, position) -> (message, position).

    The reader raises ``Fault`` for malformed bytes.
    """
    return _compiled(cast("Any", message), version, encoding)


@cache
def _compiled(message: Any, version: int, encoding: Encoding) -> ReadValue:
    fields, tagged = plain_and_tagged(message, version)
    steps = _steps(fields, version, encoding)
    if encoding.has_tags:
        steps.append((None, _tags(tagged, version, encoding)))
        fields += tagged
    build = _builder(message, fields)

    def read(buffer: memoryview, position: int) -> tuple[Value, int]:
        values: list[Value] = []
        name: str | None = None
        try:
            for name, read_step in steps:
                value, position = read_step(buffer, position)
                if name is None:
                    values.extend(value)
                else:
                    values.append(value)
        except Fault as fault:
            if name is not None:
                fault.steps.append(name)
            raise
        except struct.error:
            raise _no_length(position, name or "") from None
        return build(values), position

    return read


def _builder(message: type[ApiMessage], fields: Sequence[Field]) -> Callable[[list[Value]], Value]:
    """Return a function that makes a message from the values of these fields; others have defaults.

    Without ``__init__``, whose checks are not needed here and would take as long as the rest.
    """
    names = tuple(field.name for field in fields)
    new = object.__new__

    def build(values: list[Value]) -> Value:
        made = new(message)
        for name, value in zip(names, values, strict=True):
            setattr(made, name, value)
        return made

    return build


def _tags(fields: Sequence[Field], version: int, encoding: Encoding) -> ReadValue:
    """Return a reader of these fields' values, in their order, from a section of tagged fields."""
    known = {
        field.tag or 0: (field.name, _reader(field.type, version, encoding)) for field in fields
    }
    absent = [(field.name, field.default) for field in fields]

    def read(buffer: memoryview, position: int) -> tuple[tuple[Value, ...], int]:
        if position < len(buffer) and not buffer[position]:
            return tuple(default for _, default in absent), position + 1
        values, position = read_tags(buffer, position, known)
        return tuple(values.get(name, default) for name, default in absent), position

    return read


def min_bytes(wire_type: WireType, version: int, encoding: Encoding = CLASSIC) -> int:
    """Return the minimum size of a value in bytes."""
    match wire_type:
        case FixedInt(code):
            return struct.calcsize(">" + code)
        case FixedBytes(count):
            return count
        case Text():
            return encoding.text.min_bytes
        case Blob():
            return encoding.blob.min_bytes
        case Array():
            return encoding.array.min_bytes
        case Struct(message) | SingleField(message):
            fields, _ = plain_and_tagged(message, version)
            least = sum(min_bytes(field.type, version, encoding) for field in fields)
            return least + encoding.has_tags


def _steps(
    fields: Sequence[Field], version: int, encoding: Encoding
) -> list[tuple[str | None, ReadValue]]:
    """Return the name and reader of each field; a run of integers has one reader and no name."""
    steps: list[tuple[str | None, ReadValue]] = []
    run: list[tuple[str, str]] = []
    for field in fields:
        if isinstance(field.type, FixedInt):
            run.append((field.name, field.type.code))
            continue
        if run:
            steps.append((None, _integers(run)))
            run = []
        steps.append((field.name, _reader(field.type, version, encoding)))
    if run:
        steps.append((None, _integers(run)))
    return steps


def _integers(run: Sequence[tuple[str, str]]) -> ReadValue:
    run = tuple(run)
    shape = struct.Struct(">" + "".join(code for _, code in run))
    size, unpack_from = shape.size, shape.unpack_from

    def read(buffer: memoryview, position: int) -> tuple[tuple[int, ...], int]:
        try:
            return unpack_from(buffer, position), position + size
        except struct.error:
            raise _cut_off(run, buffer, position) from None

    return read


def _cut_off(run: Sequence[tuple[str, str]], buffer: memoryview, position: int) -> Fault:
    """Return the fault of the first integer of a run that the frame does not contain."""
    for name, code in run:
        size = struct.calcsize(">" + code)
        if position + size > len(buffer):
            return Fault("the bytes end in the middle of it", position=position, steps=(name,))
        position += size
    raise AssertionError("some integer of the run does not fit")


def _reader(wire_type: WireType, version: int, encoding: Encoding) -> ReadValue:
    match wire_type:
        case FixedInt(code):
            return _integer(code)
        case FixedBytes(count):
            return _fixed_bytes(count)
        case Text(on_null):
            return _text(on_null, encoding)
        case Blob():
            return _blob(wire_type, encoding)
        case Array():
            return _array(wire_type, version, encoding)
        case Struct(message):
            return reader_of(message, version, encoding)
        case SingleField(message, field):
            return _only(reader_of(message, version, encoding), field)


def _integer(code: str) -> ReadValue:
    shape = struct.Struct(">" + code)

    def read(buffer: memoryview, position: int) -> tuple[int, int]:
        value: int = shape.unpack_from(buffer, position)[0]
        return value, position + shape.size

    return read


def _fixed_bytes(count: int) -> ReadValue:
    def read(buffer: memoryview, position: int) -> tuple[bytes, int]:
        end = position + count
        if end > len(buffer):
            raise Fault("the bytes end in the middle of it", position=position)
        return bytes(buffer[position:end]), end

    return read


def _only(read_struct: ReadValue, field: str) -> ReadValue:
    get = attrgetter(field)

    def read(buffer: memoryview, position: int) -> tuple[Value, int]:
        value, position = read_struct(buffer, position)
        return get(value), position

    return read


def _text(on_null: OnNull, encoding: Encoding) -> ReadValue:
    read_length = encoding.text.read
    null_is = {OnNull.KEEP: None, OnNull.EMPTY: ""}

    def read(buffer: memoryview, position: int) -> tuple[str | None, int]:
        length, start = read_length(buffer, position)
        if length < 0:
            if length == -1 and on_null in null_is:
                return null_is[on_null], start
            raise Fault(_bad_length(length), position=position)
        end = start + length
        if end > len(buffer):
            raise Fault(_too_long(length, len(buffer) - start), position=position)
        try:
            return str(buffer[start:end], "utf-8"), end
        except UnicodeDecodeError as error:
            raise Fault("it is not UTF-8", position=start + error.start) from None

    return read


def _blob(blob: Blob, encoding: Encoding) -> ReadValue:
    read_length = encoding.blob.read
    null_is = None if blob.on_null is OnNull.KEEP else memoryview(b"")
    kept: Callable[[Value], Value] = bytes if blob.copied else lambda view: view

    def read(buffer: memoryview, position: int) -> tuple[Value, int]:
        length, start = read_length(buffer, position)
        if length == -1:
            return null_is if null_is is None else kept(null_is), start
        if length < 0:
            raise Fault(_bad_length(length), position=position)
        end = start + length
        if end > len(buffer):
            raise Fault(_too_long(length, len(buffer) - start), position=position)
        return kept(buffer[start:end]), end

    return read


def _array(array: Array, version: int, encoding: Encoding) -> ReadValue:
    element = array.element
    may_be_null = array.null_since is not None and version >= array.null_since
    read_count = encoding.array.read
    least = min_bytes(element, version, encoding)
    read_all = _integer_run(element.code) if isinstance(element, FixedInt) else None
    read_one = _reader(element, version, encoding)

    def read(buffer: memoryview, position: int) -> tuple[tuple[Value, ...] | None, int]:
        count, start = read_count(buffer, position)
        if count == -1 and may_be_null:
            return None, start
        if count < 0 or count * least > len(buffer) - start:
            raise Fault(_bad_count(count, least, len(buffer) - start), position=position)
        if read_all is not None:
            return read_all(buffer, start, count)
        values: list[Value] = []
        position = start
        try:
            for _ in range(count):
                value, position = read_one(buffer, position)
                values.append(value)
        except Fault as fault:
            fault.steps.append(f"[{len(values)}]")
            raise
        except struct.error:
            raise _no_length(position, f"[{len(values)}]") from None
        return tuple(values), position

    return read


def _integer_run(code: str) -> Callable[[memoryview, int, int], tuple[tuple[int, ...], int]]:
    """Return a reader of ``count`` integers; the caller checks that the frame has them."""
    size = struct.calcsize(">" + code)

    def read(buffer: memoryview, position: int, count: int) -> tuple[tuple[int, ...], int]:
        return struct.unpack_from(f">{count}{code}", buffer, position), position + count * size

    return read


def _no_length(position: int, step: str) -> Fault:
    return Fault("the bytes end within its length", position=position, steps=(step,))


def _bad_length(length: int) -> str:
    return "a null, which it may not be" if length == -1 else f"a length of {length}"


def _too_long(length: int, left: int) -> str:
    return f"a length of {length}, but only {left} bytes are left"


def _bad_count(count: int, least: int, left: int) -> str:
    if count < 0:
        return f"a count of {count}"
    return f"a count of {count} (at least {least} bytes each), but only {left} bytes are left"
