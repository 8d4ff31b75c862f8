"""The type of a column that values of many schemas share. Pure.

Whole numbers have 64 bits and floating ones are doubles from the beginning, so the promotions that
Avro and Protobuf allow change no column. A column only ever gains fields: types that contradict
what is there are refused, since tables can't take that back.
"""

from typing import Final

import pyarrow as pa

from zkconsumer.errors import SchemaError

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
JSON_TEXT: Final = pa.large_string()
"""For what has no type of its own: JSON as text. In files it is a string as any other; here it is
told from those, since a column of both could not say which of its texts are JSON."""
MAX_FIELDS: Final = 10_000
MAX_DEPTH: Final = 48
_NOT_IN_TABLES: Final = frozenset(" ,;{}()\n\t=")


class TypeConflict(Exception):
    """Raised where two types can't share a column; its text says which field, and why."""


class FieldBounds:
    """Bounds the fields of one schema while it is walked."""

    def __init__(self) -> None:
        self._fields = 0

    def enter(self, depth: int) -> None:
        """Count a field at a depth.

        Raises:
            SchemaError: the schema has too many, or is nested too deep.
        """
        self._fields += 1
        if self._fields > MAX_FIELDS or depth > MAX_DEPTH:
            raise SchemaError(
                f"it has more than {MAX_FIELDS} fields, or more than {MAX_DEPTH} deep"
            )


def usable_name(name: str) -> bool:
    """Return whether tables can have a column of this name."""
    return bool(name) and not _NOT_IN_TABLES & set(name)


def struct_of(fields: dict[str, pa.DataType]) -> pa.DataType:
    """Return the type of a record; JSON text without fields, since files can't hold that.

    Raises:
        TypeConflict: two names differ by case alone, which most tables take for one.
    """
    if not fields:
        return JSON_TEXT
    seen: dict[str, str] = {}
    for name in fields:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise TypeConflict(f"the fields {other} and {name} differ by case alone")
    return pa.struct([pa.field(name, kind) for name, kind in fields.items()])


def merged(old: pa.DataType, new: pa.DataType, path: str = "the value") -> pa.DataType:
    """Return the type that holds values of both.

    Args:
        old: of the column as it is; its fields keep their places.
        new: of values that come.
        path: of the column, for people.

    Raises:
        TypeConflict: there is none, or it has too many fields.
    """
    found = _merged(old, new, path)
    if field_count(found) > MAX_FIELDS:
        raise TypeConflict(f"{path} would come to more than {MAX_FIELDS} fields")
    return found


def field_count(kind: pa.DataType) -> int:
    """Return how many fields a type has, on all levels."""
    return sum(1 + field_count(kind.field(at).type) for at in range(kind.num_fields))


def _merged(old: pa.DataType, new: pa.DataType, path: str) -> pa.DataType:
    if old.equals(new):
        return old
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        fields = {field.name: field.type for field in old}
        for field in new:
            known = fields.get(field.name)
            fields[field.name] = (
                field.type if known is None else _merged(known, field.type, field.name)
            )
        return struct_of(fields)
    if pa.types.is_list(old) and pa.types.is_list(new):
        return pa.list_(_merged(old.value_type, new.value_type, path))
    if pa.types.is_map(old) and pa.types.is_map(new) and old.key_type.equals(new.key_type):
        return pa.map_(old.key_type, _merged(old.item_type, new.item_type, path))
    raise TypeConflict(f"{path} is {_named(new)}, and {_named(old)} in the column")


def _named(kind: pa.DataType) -> str:
    text = "JSON text" if kind.equals(JSON_TEXT) else str(kind)
    return text if len(text) <= 80 else text[:77] + "..."
