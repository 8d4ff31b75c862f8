"""Converts the rows of a query to records, with Spark's rules for columns.

Source: Spark 4.2 ``KafkaWriter`` (columns, types, refusals) and ``KafkaWriteTask``. Columns with
    other names are ignored, as in Spark's own sink.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql.types import BinaryType, DataType, IntegerType, StringType, StructType

from zkconsumer.errors import ConfigError

_TEXT_OR_BYTES = (StringType, BinaryType)
_TYPES: dict[str, tuple[type[DataType], ...]] = {
    "topic": (StringType,),
    "partition": (IntegerType,),
    "key": _TEXT_OR_BYTES,
    "value": _TEXT_OR_BYTES,
}

COLUMNS = tuple(_TYPES)
"""The columns that are written."""

Row: TypeAlias = tuple[str | None, int | None, bytes | None, bytes | None]
"""Topic, partition, key, value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkColumns:
    """The positions of the written columns in a row; None for missing ones."""

    topic: int | None
    partition: int | None
    key: int | None
    value: int


def sink_columns(schema: StructType, *, topic: str | None) -> SinkColumns:
    """Find the columns of a schema that are to be written.

    Args:
        schema: the schema of the rows.
        topic: the option ``topic``, which takes precedence over the column.

    Raises:
        ConfigError: a column is missing, is duplicated, has another type, or can't be written to
            these brokers.
    """
    names = [field.name for field in schema.fields]
    if "value" not in names:
        raise ConfigError(f"there is no column value to write, only {', '.join(names) or 'none'}")
    if topic is None and "topic" not in names:
        raise ConfigError(
            "no topic is given: set the option topic, or add a column topic to the rows"
        )
    if "headers" in names:
        raise ConfigError(
            "column headers: brokers before 0.11 can't store headers; drop the column if they are "
            "not needed"
        )
    for name, types in _TYPES.items():
        if names.count(name) > 1:
            raise ConfigError(f"there are two columns {name}: drop or rename one of them")
        if name in names and not isinstance(schema[name].dataType, types):
            expected = " or ".join(type_().simpleString() for type_ in types)
            raise ConfigError(
                f"column {name} is of type {schema[name].dataType.simpleString()}: it must be "
                f"{expected}"
            )
    place = {name: number for number, name in enumerate(names)}
    return SinkColumns(
        topic=place.get("topic") if topic is None else None,
        partition=place.get("partition"),
        key=place.get("key"),
        value=place["value"],
    )


def rows_of(batch: pa.RecordBatch, columns: SinkColumns) -> Iterator[Row]:
    """Return the rows of a batch; texts become UTF-8."""
    count = batch.num_rows
    none = [None] * count
    topics = none if columns.topic is None else batch.column(columns.topic).to_pylist()
    partitions = none if columns.partition is None else batch.column(columns.partition).to_pylist()
    keys = none if columns.key is None else _bytes(batch.column(columns.key))
    values = _bytes(batch.column(columns.value))
    return zip(topics, partitions, keys, values, strict=True)


def _bytes(column: pa.Array) -> list[bytes | None]:
    if pa.types.is_string(column.type):
        column = column.cast(pa.binary())
    elif pa.types.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    return list(column.to_pylist())
