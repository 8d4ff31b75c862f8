"""Compiles message classes to writers: one closure per class, version and encoding.

A writer raises ``Fault`` for values that can't be encoded. It also refuses values of fields that
the version lacks, unless they are the defaults, since dropping them would lose data silently. Only
the values of fields annotated with ``Hint`` are dropped.
"""

import struct
from collections.abc import Sequence
from functools import cache
from operator import attrgetter
from typing import Any, cast

from zkconsumer.wire.encoding import CLASSIC, Encoding, Prefix
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
from zkconsumer.wire.schema import fields_of as all_fields_of
from zkconsumer.wire.tagged import Pieces, Value, WriteValue, tags_writer


def writer_of(message: type[ApiMessage], version: int, encoding: Encoding = CLASSIC) -> WriteValue:
    """Return the writer of a message class and version: (message, pieces to append to)."""
    return _compiled(cast("Any", message), version, encoding)


@cache
def _compiled(message: Any, version: int, encoding: Encoding) -> WriteValue:
    steps = _steps(all_fields_of(message), version, encoding)
    if encoding.has_tags:
        steps.append(_tags(message, version, encoding))

    def write(value: Value, pieces: Pieces) -> None:
        if not isinstance(value, message):
            raise Fault(f"a {type(value).__name__} where a {message.__name__} must be")
        for step in steps:
            step(value, pieces)

    return write


def _tags(message: type[ApiMessage], version: int, encoding: Encoding) -> WriteValue:
    _, tagged = plain_and_tagged(message, version)
    return tags_writer(
        [
            (field.name, field.tag or 0, field.default, _writer(field.type, version, encoding))
            for field in tagged
        ]
    )


def _steps(fields: Sequence[Field], version: int, encoding: Encoding) -> list[WriteValue]:
    """Return one step for each run of integers, and for every other field."""
    steps: list[WriteValue] = []
    run: list[tuple[str, str]] = []
    for field in fields:
        if not field.in_version(version):
            if not field.hint:
                steps.append(_absent(field, version))
            continue
        if field.tag is not None:
            continue
        if isinstance(field.type, FixedInt):
            run.append((field.name, field.type.code))
            continue
        if run:
            steps.append(_integers(run))
            run = []
        steps.append(_named(field.name, _writer(field.type, version, encoding)))
    if run:
        steps.append(_integers(run))
    return steps


def _absent(field: Field, version: int) -> WriteValue:
    get = attrgetter(field.name)

    def check(message: Value, _pieces: Pieces) -> None:
        if get(message) != field.default:
            raise Fault(f"version {version} does not have it", steps=(field.name,))

    return check


def _integers(run: Sequence[tuple[str, str]]) -> WriteValue:
    names = [name for name, _ in run]
    pack = struct.Struct(">" + "".join(code for _, code in run)).pack

    def write(message: Value, pieces: Pieces) -> None:
        values = [getattr(message, name) for name in names]
        try:
            pieces.append(pack(*values))
        except struct.error:
            raise _out_of_range(run, values) from None

    return write


def _out_of_range(run: Sequence[tuple[str, str]], values: Sequence[Value]) -> Fault:
    """Return the fault of the first value that is out of its integer's range."""
    for (name, code), value in zip(run, values, strict=True):
        try:
            struct.pack(">" + code, value)
        except struct.error:
            bits = 8 * struct.calcsize(">" + code)
            return Fault(f"{value!r} is not a signed {bits}-bit integer", steps=(name,))
    raise AssertionError("some value of the run does not fit")


def _named(name: str, write_value: WriteValue) -> WriteValue:
    get = attrgetter(name)

    def write(message: Value, pieces: Pieces) -> None:
        try:
            write_value(get(message), pieces)
        except Fault as fault:
            fault.steps.append(name)
            raise

    return write


def _writer(wire_type: WireType, version: int, encoding: Encoding) -> WriteValue:
    match wire_type:
        case FixedInt(code):
            return _integer(code)
        case FixedBytes(count):
            return _fixed_bytes(count)
        case Text(on_null):
            return _text(on_null, encoding)
        case Blob(on_null):
            return _blob(on_null, encoding)
        case Array():
            return _array(wire_type, version, encoding)
        case Struct(message):
            return writer_of(message, version, encoding)
        case SingleField(message, field):
            return _only(writer_of(message, version, encoding), message, field)


def _integer(code: str) -> WriteValue:
    pack = struct.Struct(">" + code).pack

    def write(value: Value, pieces: Pieces) -> None:
        try:
            pieces.append(pack(value))
        except struct.error:
            bits = 8 * struct.calcsize(">" + code)
            raise Fault(f"{value!r} is not a signed {bits}-bit integer") from None

    return write


def _fixed_bytes(count: int) -> WriteValue:
    def write(value: Value, pieces: Pieces) -> None:
        if not isinstance(value, bytes) or len(value) != count:
            raise Fault(f"{value!r} where {count} bytes must be")
        pieces.append(value)

    return write


def _only(write_struct: WriteValue, message: type[ApiMessage], field: str) -> WriteValue:
    def write(value: Value, pieces: Pieces) -> None:
        try:
            write_struct(message(**{field: value}), pieces)
        except Fault as fault:
            fault.steps.pop()  # the field of the struct is no part of the message
            raise

    return write


def _text(on_null: OnNull, encoding: Encoding) -> WriteValue:
    prefix = encoding.text

    def write(value: Value, pieces: Pieces) -> None:
        if value is None and on_null is OnNull.KEEP:
            pieces.append(prefix.write(-1))
            return
        if not isinstance(value, str):
            raise Fault(f"{value!r} is not text")
        try:
            data = value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise Fault(f"it can't be written as UTF-8: {error.reason}") from None
        pieces.append(_length(prefix, len(data), "bytes"))
        pieces.append(data)

    return write


def _blob(on_null: OnNull, encoding: Encoding) -> WriteValue:
    prefix = encoding.blob

    def write(value: Value, pieces: Pieces) -> None:
        if value is None and on_null is OnNull.KEEP:
            pieces.append(prefix.write(-1))
            return
        if not isinstance(value, bytes | bytearray | memoryview):
            raise Fault(f"a {type(value).__name__} where bytes must be")
        data = value.cast("B") if isinstance(value, memoryview) else memoryview(value)
        pieces.append(_length(prefix, len(data), "bytes"))
        pieces.append(data)

    return write


def _array(array: Array, version: int, encoding: Encoding) -> WriteValue:
    write_one = _writer(array.element, version, encoding)
    may_be_null = array.null_since is not None and version >= array.null_since
    prefix = encoding.array

    def write(values: Value, pieces: Pieces) -> None:
        if values is None and may_be_null:
            pieces.append(prefix.write(-1))
            return
        if values is None and array.null_since is not None:
            raise Fault(f"version {version} has no null in its place")
        if not isinstance(values, tuple | list):
            raise Fault(f"a {type(values).__name__} where a tuple must be")
        pieces.append(_length(prefix, len(values), "elements"))
        index = 0
        try:
            for index, value in enumerate(values):  # noqa: B007 - the handler below names it
                write_one(value, pieces)
        except Fault as fault:
            fault.steps.append(f"[{index}]")
            raise

    return write


def _length(prefix: Prefix, length: int, what: str) -> bytes:
    if length > prefix.limit:
        raise Fault(f"{length} {what} are more than the {prefix.limit} it may have")
    return prefix.write(length)
