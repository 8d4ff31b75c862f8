"""Finds a drain's columns in an Iceberg table: missing ones, and field ids.

Readers of a table identify columns by field id, nested ones as well: each field of a struct has
one, and so have the elements of lists, and the keys and values of maps.
"""

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

_ID = b"PARQUET:field_id"


def missing(columns: pa.Schema, table: Schema) -> pa.Schema:
    """Return the columns that a table lacks, or whose nested fields it lacks."""
    known = table.as_struct()
    return pa.schema([field for field in columns if not _is_in(field, known)])


def numbered(columns: pa.Schema, table: Schema) -> pa.Schema:
    """Return columns, each with its field id in a table.

    Args:
        columns: the columns of files, all of which the table has.
        table: the table's columns.
    """
    known = table.as_struct()
    return pa.schema([_numbered(field, _named(known, field.name)) for field in columns])


def _is_in(field: pa.Field, known: StructType) -> bool:
    found = known.field_by_name(field.name)
    return found is not None and _is_covered(field.type, found.field_type)


def _is_covered(kind: pa.DataType, known: IcebergType) -> bool:
    if pa.types.is_struct(kind):
        return isinstance(known, StructType) and all(_is_in(field, known) for field in kind)
    if pa.types.is_list(kind):
        return isinstance(known, ListType) and _is_covered(kind.value_type, known.element_type)
    if pa.types.is_map(kind):
        return isinstance(known, MapType) and _is_covered(kind.item_type, known.value_type)
    return True


def _numbered(field: pa.Field, known: NestedField) -> pa.Field:
    kind = _with_numbers(field.type, known.field_type)
    return field.with_type(kind).with_metadata({_ID: str(known.field_id)})


def _with_numbers(kind: pa.DataType, known: IcebergType) -> pa.DataType:
    if isinstance(known, StructType):
        return pa.struct([_numbered(field, _named(known, field.name)) for field in kind])
    if isinstance(known, ListType):
        return pa.list_(_numbered(kind.value_field, known.element_field))
    if isinstance(known, MapType):
        key = _numbered(kind.key_field, known.key_field)
        return pa.map_(key, _numbered(kind.item_field, known.value_field))
    return kind


def _named(known: StructType, name: str) -> NestedField:
    found = known.field_by_name(name)
    if found is None:
        raise LookupError(f"it has no column {name}")
    return found
