"""Merges the types of many schemas into the type of one column. Pure.

Integers have 64 bits and floating-point numbers are doubles from the beginning, so the promotions
that Avro and Protobuf allow change no column. A column only gains fields: types that contradict
existing fields are refused, since tables can't undo a field.
"""

from typing import Final

import pyarrow as pa

from zkconsumer.errors import SchemaError

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
JSON_TEXT: Final = pa.large_string()
"""The type of values that no other type can hold: JSON as text. Files hold it as a string; here it
differs from strings, since a column of both would not show which of its texts are JSON.
"""
MAX_FIELDS: Final = 10_000
MAX_DEPTH: Final = 48
_NOT_IN_TABLES: Final = frozenset(" ,;{}()\n\t=")


class TypeConflict(Exception):
    """Two types can't share a column; the text says which field, and why."""


class FieldBounds:
    """Bounds the fields of one schema while it is walked."""

    def __init__(self) -> None:
        self._fields = 0

    def enter(self, depth: int) -> None:
        """Count a field at a nesting depth.

        Raises:
            SchemaError: the schema has too many, or is nested too deep.
        """
        self._fields += 1
        if self._fields > MAX_FIELDS or depth > MAX_DEPTH:
            raise SchemaError(
                f"it has more than {MAX_FIELDS} fields, or more than {MAX_DEPTH} levels"
            )


def usable_name(name: str) -> bool:
    """Return whether tables can have a column of this name."""
    return bool(name) and not _NOT_IN_TABLES & set(name)


def struct_of(fields: dict[str, pa.DataType]) -> pa.DataType:
    """Return the type of a record; JSON text if it has no fields: files can't hold empty structs.

    Raises:
        TypeConflict: two names differ by case alone, which most tables treat as the same.
    """
    if not fields:
        return JSON_TEXT
    seen: dict[str, str] = {}
    for name in fields:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise TypeConflict(f"the fields {other} and {name} differ only in case")
    return pa.struct([pa.field(name, kind) for name, kind in fields.items()])


def merged(old: pa.DataType, new: pa.DataType, path: str = "the value") -> pa.DataType:
    """Return the type that holds values of both types.

    Args:
        old: the present type of the column; its fields keep their places.
        new: the type of new values.
        path: the path of the field, for messages.

    Raises:
        TypeConflict: there is no such type, or it has too many fields.
    """
    found = _merged(old, new, path)
    if field_count(found) > MAX_FIELDS:
        raise TypeConflict(f"{path} would have more than {MAX_FIELDS} fields")
    return found


def field_count(kind: pa.DataType) -> int:
    """Return the number of fields of a type, on all levels."""
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
    raise TypeConflict(f"{path} is {_named(new)}, but {_named(old)} in the column")


def _named(kind: pa.DataType) -> str:
    text = "JSON text" if kind.equals(JSON_TEXT) else str(kind)
    return text if len(text) <= 80 else text[:77] + "..."
