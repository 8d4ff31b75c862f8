"""Describes message classes: the wire type of each field, and the versions that have it.

Fields are encoded in the order of their declaration; fields that a version lacks are omitted. A
field that came with version 1 is ``Annotated[Int32, Since(1)] = 0``; one that version 5 dropped
adds ``Until(4)``. Nested messages and ``tuple[X, ...]`` need no annotation; ``| None`` after a
tuple makes it nullable. ``Tagged`` puts a field into the section of tagged fields; ``Hint`` allows
versions without the field to drop its value. The encoding of lengths depends on ``Api`` alone.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    TypeAlias,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)


class _Note:
    """A note about a field: a number, of a version or a tag."""

    def __init__(self, number: int) -> None:
        self.number = number


class Since(_Note):
    """The first version that has the field."""


class Until(_Note):
    """The last version that has the field."""


class NullSince(_Note):
    """The first version in which a nullable array may be null; without this, it may be in all."""


class Tagged(_Note):
    """A field in the section of tagged fields at the end of a struct (flexible versions, KIP-482).

    Peers omit it if it has its default value, and skip it if they don't know it.
    """


class Hint:
    """An optional field: versions without it drop its value instead of refusing it."""


@dataclass(frozen=True, slots=True)
class FixedInt:
    """A big-endian integer or, with code ``?``, a bool; ``code`` is the letter of ``struct``."""

    code: str


@dataclass(frozen=True, slots=True)
class FixedBytes:
    """A fixed number of bytes, without a length."""

    count: int


class OnNull(Enum):
    """How a null is read."""

    REFUSE = "refuse"
    KEEP = "keep"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Text:
    """Length-prefixed UTF-8."""

    on_null: OnNull


@dataclass(frozen=True, slots=True)
class Blob:
    """Length-prefixed bytes; read as a view into the frame, or copied."""

    on_null: OnNull = OnNull.EMPTY
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Array:
    """Count-prefixed elements; ``null_since`` is the first version in which it is nullable."""

    element: "WireType"
    null_since: int | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """The fields of another message."""

    message: "type[ApiMessage]"


@dataclass(frozen=True, slots=True)
class SingleField:
    """A struct with a single field of interest, represented by that field's value."""

    message: "type[ApiMessage]"
    field: str


WireType: TypeAlias = FixedInt | FixedBytes | Text | Blob | Array | Struct | SingleField

Bool: TypeAlias = Annotated[bool, FixedInt("?")]
Int8: TypeAlias = Annotated[int, FixedInt("b")]
Int16: TypeAlias = Annotated[int, FixedInt("h")]
Int32: TypeAlias = Annotated[int, FixedInt("i")]
Int64: TypeAlias = Annotated[int, FixedInt("q")]
String: TypeAlias = Annotated[str, Text(OnNull.REFUSE)]
NullableString: TypeAlias = Annotated[str | None, Text(OnNull.KEEP)]
LenientString: TypeAlias = Annotated[str, Text(OnNull.EMPTY)]
"""A text that real peers also send as null, which is read as empty."""
Uuid: TypeAlias = Annotated[bytes, FixedBytes(16)]
Bytes: TypeAlias = Annotated[bytes, Blob(copied=True)]
"""A small value: copied, so that it does not keep the whole frame alive."""
NullableBytes: TypeAlias = Annotated[bytes | None, Blob(OnNull.KEEP, copied=True)]
Records: TypeAlias = Annotated[memoryview, Blob()]
RecordsToSend: TypeAlias = Annotated[bytes | memoryview, Blob()]


@dataclass_transform(frozen_default=True, kw_only_default=True)
class ApiMessage:
    """The base of message classes, whose annotated names are their fields; compared by value.

    To type checkers they are frozen dataclasses. Real ones take ten times as long to create, and
    every client imports dozens.

    Source: the name is that of Kafka's ``ApiMessage``; here parts of messages are of it, too.
    """

    FIELDS: ClassVar[Mapping[str, object]]
    REQUIRED: ClassVar[frozenset[str]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.FIELDS = cls.__annotations__
        cls.REQUIRED = frozenset(name for name in cls.FIELDS if name not in cls.__dict__)

    def __init__(self, **values: Any) -> None:
        if not self.REQUIRED <= values.keys() <= self.FIELDS.keys():
            wrong = self.REQUIRED - values.keys() | values.keys() - self.FIELDS.keys()
            names = ", ".join(sorted(wrong))
            raise TypeError(f"{type(self).__name__}: missing or unknown fields: {names}")
        # One by one: objects whose attributes are set so share the keys of their dictionaries.
        for name, value in values.items():
            setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.FIELDS))

    def __repr__(self) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in self.FIELDS)
        return f"{type(self).__name__}({', '.join(values)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a message: its wire type, and the versions that have it.

    Attributes:
        since: the first version that has the field.
        until: the last one; None: there is no last one.
        default: its value in other versions.
        tag: its tag; None if it is not a tagged field.
        hint: whether versions without it drop its value; else they refuse it.
    """

    name: str
    type: WireType
    since: int
    until: int | None
    default: object
    tag: int | None
    hint: bool

    def in_version(self, version: int) -> bool:
        """Return whether that version has the field."""
        return self.since <= version and (self.until is None or version <= self.until)


def fields_of(message: "type[ApiMessage]") -> tuple[Field, ...]:
    """Return the fields of a message class in wire order, those of all versions.

    Raises:
        TypeError: a field has no wire type, or has no default although some versions lack it.
    """
    return tuple(_field(message, name, hint) for name, hint in message.FIELDS.items())


def plain_and_tagged(
    message: "type[ApiMessage]", version: int
) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """Return the fields of a version: the untagged ones, and the tagged ones by tag."""
    fields = [field for field in fields_of(message) if field.in_version(version)]
    tagged = [field for field in fields if field.tag is not None]
    return (
        tuple(field for field in fields if field.tag is None),
        tuple(sorted(tagged, key=lambda field: field.tag or 0)),
    )


def _field(message: "type[ApiMessage]", name: str, hint: object) -> Field:
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    since = next((note.number for note in notes if isinstance(note, Since)), 0)
    until = next((note.number for note in notes if isinstance(note, Until)), None)
    tag = next((note.number for note in notes if isinstance(note, Tagged)), None)
    if (since or until is not None) and name in message.REQUIRED:
        raise TypeError(f"{message.__name__}.{name}: versions without it need its default")
    return Field(
        name=name,
        type=_wire_type(message, name, hint),
        since=since,
        until=until,
        default=getattr(message, name, None),
        tag=tag,
        hint=any(isinstance(note, Hint) for note in notes),
    )


def _wire_type(message: "type[ApiMessage]", name: str, hint: object) -> WireType:
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        return _noted(notes) or _with_null(_wire_type(message, name, inner), notes)
    if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
        (inner,) = (part for part in get_args(hint) if part is not NoneType)
        array = _wire_type(message, name, inner)
        if isinstance(array, Array):
            return dataclasses.replace(array, null_since=0)
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return Array(_wire_type(message, name, get_args(hint)[0]))
    if isinstance(hint, type) and issubclass(hint, ApiMessage):
        return Struct(hint)
    raise TypeError(f"{message.__name__}.{name}: {hint!r} says nothing about its bytes")


def _noted(notes: Sequence[object]) -> WireType | None:
    """Return the wire type in the notes of an annotation."""
    for note in notes:
        if isinstance(note, FixedInt | FixedBytes | Text | Blob | SingleField):
            return note
    return None


def _with_null(wire_type: WireType, notes: Sequence[object]) -> WireType:
    for note in notes:
        if isinstance(note, NullSince) and isinstance(wire_type, Array):
            return dataclasses.replace(wire_type, null_since=note.number)
    return wire_type
