"""How a dataclass says what its bytes are: a wire type on each field, and the versions it is in.

The rule: fields lie on the wire in the order they are declared, those of other versions left out.
A field that came with version 1 is ``Annotated[Int32, Since(1)] = 0``; one that version 5 dropped
adds ``Until(4)``. Nested dataclasses and ``tuple[X, ...]`` need no annotation.
"""

import dataclasses
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Since:
    """The first version that has the field."""

    version: int


@dataclass(frozen=True, slots=True)
class Until:
    """The last version that has the field."""

    version: int


@dataclass(frozen=True, slots=True)
class FixedInt:
    """A big-endian integer; ``code`` is the letter that ``struct`` gives it."""

    code: str


class OnNull(Enum):
    """What a null means where a value is read."""

    REFUSE = "refuse"
    KEEP = "keep"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Text:
    """UTF-8 behind its length."""

    on_null: OnNull


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes behind their length; read as a view into the frame, a null as no bytes."""


@dataclass(frozen=True, slots=True)
class Array:
    """Elements behind their count."""

    element: "WireType"


@dataclass(frozen=True, slots=True)
class Struct:
    """The fields of another dataclass."""

    message: type[Any]


WireType: TypeAlias = FixedInt | Text | Blob | Array | Struct

Int16: TypeAlias = Annotated[int, FixedInt("h")]
Int32: TypeAlias = Annotated[int, FixedInt("i")]
Int64: TypeAlias = Annotated[int, FixedInt("q")]
String: TypeAlias = Annotated[str, Text(OnNull.REFUSE)]
NullableString: TypeAlias = Annotated[str | None, Text(OnNull.KEEP)]
LenientString: TypeAlias = Annotated[str, Text(OnNull.EMPTY)]
"""Text where real peers also send a null; read as an empty one."""
Records: TypeAlias = Annotated[memoryview, Blob()]
RecordsToSend: TypeAlias = Annotated[bytes | memoryview, Blob()]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message: where it goes, what it is, and the versions that have it."""

    name: str
    type: WireType
    since: int
    until: int | None
    default: object

    def in_version(self, version: int) -> bool:
        """Whether that version has the field."""
        return self.since <= version and (self.until is None or version <= self.until)


def fields_of(message: type[Any]) -> tuple[Field, ...]:
    """The fields of a message class in wire order, those of all versions.

    Raises:
        TypeError: a field lacks a wire type, or a default although some versions lack the field.
    """
    hints = get_type_hints(message, include_extras=True)
    return tuple(_field(message, field, hints[field.name]) for field in dataclasses.fields(message))


def _field(message: type[Any], field: "dataclasses.Field[Any]", hint: object) -> Field:
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    since = next((note.version for note in notes if isinstance(note, Since)), 0)
    until = next((note.version for note in notes if isinstance(note, Until)), None)
    if (since or until is not None) and field.default is dataclasses.MISSING:
        raise TypeError(f"{message.__name__}.{field.name}: versions without it need its default")
    return Field(field.name, _wire_type(message, field.name, hint), since, until, field.default)


def _wire_type(message: type[Any], name: str, hint: object) -> WireType:
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        for note in notes:
            if isinstance(note, FixedInt | Text | Blob):
                return note
        return _wire_type(message, name, inner)
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return Array(_wire_type(message, name, get_args(hint)[0]))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return Struct(hint)
    raise TypeError(f"{message.__name__}.{name}: {hint!r} says nothing about its bytes")
