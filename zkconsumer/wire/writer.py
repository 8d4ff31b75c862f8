"""Compiles message classes to writers: one closure per class and version.

A writer raises ``Fault`` for values that the bytes can't carry. Values for fields that the version
does not have are refused too, unless they are the defaults: dropping them would lose them silently.
"""

import struct
from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias, cast

from zkconsumer.wire.encoding import CLASSIC, Encoding, Prefix
from zkconsumer.wire.fault import Fault
from zkconsumer.wire.schema import Array, Blob, Field, FixedInt, OnNull, Struct, Text, WireType
from zkconsumer.wire.schema import fields_of as all_fields_of

Value: TypeAlias = Any
Pieces: TypeAlias = list[bytes | memoryview]
WriteValue: TypeAlias = Callable[[Value, Pieces], None]


def writer_of(message: type[Any], version: int) -> WriteValue:
    """What writes a message of that class and version: (message, pieces to append to)."""
    return _compiled(cast("Any", message), version)


@cache
def _compiled(message: Any, version: int) -> WriteValue:
    steps = tuple(_steps(all_fields_of(message), version))

    def write(value: Value, pieces: Pieces) -> None:
        if not isinstance(value, message):
            raise Fault(f"a {type(value).__name__} where a {message.__name__} must be")
        for step in steps:
            step(value, pieces)

    return write


def _steps(fields: Sequence[Field], version: int) -> list[WriteValue]:
    """One step for each run of integers, one for every other field."""
    steps: list[WriteValue] = []
    run: list[tuple[str, str]] = []
    for field in fields:
        if not field.in_version(version):
            steps.append(_absent(field, version))
            continue
        if isinstance(field.type, FixedInt):
            run.append((field.name, field.type.code))
            continue
        if run:
            steps.append(_integers(run))
            run = []
        steps.append(_named(field.name, _writer(field.type, version, CLASSIC)))
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
    """The fault of the first value that its integer can't hold."""
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
        case Text(on_null):
            return _text(on_null, encoding)
        case Blob():
            return _blob(encoding)
        case Array(element):
            return _array(_writer(element, version, encoding), encoding)
        case Struct(message):
            return writer_of(message, version)


def _integer(code: str) -> WriteValue:
    pack = struct.Struct(">" + code).pack

    def write(value: Value, pieces: Pieces) -> None:
        try:
            pieces.append(pack(value))
        except struct.error:
            bits = 8 * struct.calcsize(">" + code)
            raise Fault(f"{value!r} is not a signed {bits}-bit integer") from None

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


def _blob(encoding: Encoding) -> WriteValue:
    prefix = encoding.blob

    def write(value: Value, pieces: Pieces) -> None:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise Fault(f"a {type(value).__name__} where bytes must be")
        data = value.cast("B") if isinstance(value, memoryview) else memoryview(value)
        pieces.append(_length(prefix, len(data), "bytes"))
        pieces.append(data)

    return write


def _array(write_one: WriteValue, encoding: Encoding) -> WriteValue:
    prefix = encoding.array

    def write(values: Value, pieces: Pieces) -> None:
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
