"""The schema of Spark's Kafka source, for Spark and for Arrow.

Names, types and nullability are those of Spark's Kafka source, so that a job need only change the
name of the format. A user's schema may omit columns, which are then not created; it can't add or
retype any.

Source: Spark 4 ``KafkaRecordToRowConverter``.
"""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from zkconsumer.errors import ConfigError
from zkconsumer.spark.decoded_types import spark_type
from zkconsumer.streams.arrow_columns import TIMESTAMP

_ARROW: Final[Mapping[str, pa.DataType]] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": TIMESTAMP,
    "timestampType": pa.int32(),
    "headers": pa.list_(
        pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))
    ),
}
"""The Arrow types that Spark itself uses; the name of its function for them varies by version."""
_TYPES: Final = {name: spark_type(kind) for name, kind in _ARROW.items()}
_MAY_BE_NULL: Final = frozenset({"key", "value", "timestamp", "headers"})


def spark_schema(include_headers: bool = False) -> StructType:  # noqa: FBT001, FBT002 - Spark's option
    """Return all columns of Spark's Kafka source as nullable, ``headers`` if included."""
    names = [name for name in _TYPES if include_headers or name != "headers"]
    return StructType([StructField(name, _TYPES[name]) for name in names])


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of some columns, exactly as Spark checks batches against it.

    Args:
        schema: some of the columns, in any order.

    Raises:
        ConfigError: a column does not exist, or has another type; or it is declared not null but
            may be null; or there are no columns.
    """
    if not schema.fields:
        raise ConfigError(f"schema: name at least one of the columns {', '.join(_TYPES)}")
    seen: set[str] = set()
    for field in schema.fields:
        kind = _TYPES.get(field.name)
        if kind is None:
            raise ConfigError(
                f"schema: there is no column {field.name!r}, only {', '.join(_TYPES)}: select from "
                "these, and cast or parse afterwards"
            )
        if field.dataType != kind:
            raise ConfigError(
                f"schema: column {field.name} is {kind.simpleString()}, not "
                f"{field.dataType.simpleString()}: cast it afterwards"
            )
        if not field.nullable and field.name in _MAY_BE_NULL:
            # Spark would rely on the declaration, and read a null as a time, or fail in the task.
            raise ConfigError(
                f"schema: column {field.name} is declared NOT NULL, but it is null in some "
                "messages: declare it nullable, and filter afterwards"
            )
        if field.name in seen:
            raise ConfigError(f"schema: column {field.name} is named twice")
        seen.add(field.name)
    return pa.schema(
        [pa.field(field.name, _ARROW[field.name], field.nullable) for field in schema.fields]
    )
