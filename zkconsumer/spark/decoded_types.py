"""Converts Arrow's column types to Spark's."""

from typing import Final

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's programs call it

from zkconsumer.schemas.column_types import JSON_TEXT


def spark_type(kind: pa.DataType) -> T.DataType:
    """Return the Spark type for a column of this Arrow type."""
    for matches, made in _TYPES:
        if matches(kind):
            return made
    if pa.types.is_decimal(kind):
        return T.DecimalType(kind.precision, kind.scale)
    if pa.types.is_list(kind):
        return T.ArrayType(spark_type(kind.value_type))
    if pa.types.is_map(kind):
        return T.MapType(spark_type(kind.key_type), spark_type(kind.item_type))
    return T.StructType([T.StructField(field.name, spark_type(field.type)) for field in kind])


_TYPES: Final = (
    (pa.types.is_string, T.StringType()),
    (pa.types.is_int32, T.IntegerType()),
    (pa.types.is_int64, T.LongType()),
    (pa.types.is_float64, T.DoubleType()),
    (pa.types.is_boolean, T.BooleanType()),
    (pa.types.is_binary, T.BinaryType()),
    (pa.types.is_date32, T.DateType()),
    (pa.types.is_timestamp, T.TimestampType()),
)


def in_spark(kind: pa.DataType) -> pa.DataType:
    """Return the type with JSON text as strings, which is how Spark represents it."""
    if kind.equals(JSON_TEXT):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(in_spark(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(in_spark(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, in_spark(kind.item_type))
    return kind


def has_nested_record(kind: pa.DataType) -> bool:
    """Return whether a record in the type has a field that is a record itself."""
    children = [kind.field(number).type for number in range(kind.num_fields)]
    if pa.types.is_struct(kind) and any(map(pa.types.is_struct, children)):
        return True
    return any(map(has_nested_record, children))
