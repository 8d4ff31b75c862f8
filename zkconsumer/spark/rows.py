"""Spark's columns, made of what reading a range brought.

Names, types and nullability are those of Spark's Kafka source, so that a job changes one word. A
user's schema may leave columns out, which spares making them; it can't add or retype any.

``timestamp`` is null where the log has none (magic 0, all that brokers before 0.10 write), and
``timestampType`` is -1 there. ``headers`` are null where a record has none: those of magic 0 and 1
can't have any.

Source: Spark 4 ``KafkaRecordToRowConverter``.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from zkconsumer.errors import ConfigError
from zkconsumer.fetch.range_parts import RangePart
from zkconsumer.model import TopicPartition
from zkconsumer.streams.arrow_columns import (
    TIMESTAMP,
    RecordColumns,
    columns_of_rows,
    columns_of_runs,
)

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_TYPES: Final[Mapping[str, DataType]] = MappingProxyType(
    {
        "key": BinaryType(),
        "value": BinaryType(),
        "topic": StringType(),
        "partition": IntegerType(),
        "offset": LongType(),
        "timestamp": TimestampType(),
        "timestampType": IntegerType(),
        "headers": ArrayType(_HEADER),
    }
)
_ARROW: Final[Mapping[str, pa.DataType]] = MappingProxyType(
    {
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
)
"""The same as Spark makes of them; its own function for that is called otherwise in each Spark."""
_MAY_BE_NULL: Final = frozenset({"key", "value", "timestamp", "headers"})


def spark_schema(include_headers: bool = False) -> StructType:  # noqa: FBT001, FBT002 - Spark's option
    """Return all columns of Spark's Kafka source, ``headers`` with ``includeHeaders``; nullable."""
    names = [name for name in _TYPES if include_headers or name != "headers"]
    return StructType([StructField(name, _TYPES[name]) for name in names])


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the schema of the batches for these columns: exactly what Spark checks them against.

    Args:
        schema: some of the columns, in any order.

    Raises:
        ConfigError: there is no such column, or it has another type; or it is declared not null and
            may be; or there is none at all.
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
            # Spark would take its word for it, and read a null as a time, or fail in the task.
            raise ConfigError(
                f"schema: column {field.name} is declared NOT NULL, but messages without one are "
                "there: leave that out, and filter afterwards"
            )
        if field.name in seen:
            raise ConfigError(f"schema: column {field.name} is named twice")
        seen.add(field.name)
    return pa.schema(
        [pa.field(field.name, _ARROW[field.name], field.nullable) for field in schema.fields]
    )


class RowBatches:
    """Makes the record batches of one partition of a topic. Thread: one.

    Args:
        schema: of the batches, as ``arrow_schema`` gives it.
        topic_partition: whose records they are.
    """

    def __init__(self, schema: pa.Schema, topic_partition: TopicPartition) -> None:
        self._schema = schema
        repeated: dict[str, str | int] = {
            "topic": topic_partition.topic,
            "partition": topic_partition.partition,
        }
        self._columns = [_maker(field, repeated.get(field.name)) for field in schema]
        # Headers are found by their offsets.
        self._wanted = {*schema.names, *(["offset"] if "headers" in schema.names else [])}

    def batch(self, part: RangePart) -> pa.RecordBatch:
        """Return one batch of all records of a part, in order.

        Raises:
            BufferError: the bytes were changed after the check.
        """
        if part.runs:
            columns = columns_of_runs(part.runs, self._wanted)
        else:
            columns = columns_of_rows(part.rows, self._wanted)
        return pa.RecordBatch.from_arrays(
            [make(columns, part) for make in self._columns], schema=self._schema
        )


def _maker(
    field: pa.Field, constant: str | int | None
) -> Callable[[RecordColumns, RangePart], pa.Array]:
    match field.name:
        case "key":
            return lambda columns, _: columns.keys
        case "value":
            return lambda columns, _: columns.values
        case "offset":
            return lambda columns, _: columns.offsets
        case "timestamp":
            nulls = _Repeated(pa.scalar(None, field.type))
            return lambda columns, _: _timestamps(columns, nulls)
        case "timestampType":
            return lambda columns, _: columns.timestamp_types
        case "headers":
            none = _Repeated(pa.scalar(None, field.type))
            return lambda columns, part: _headers(columns, part, none)
        case _:
            repeated = _Repeated(pa.scalar(constant, field.type))
            return lambda columns, _: repeated.times(len(columns))


def _timestamps(columns: RecordColumns, nulls: "_Repeated") -> pa.Array:
    if columns.timestamp_count == len(columns):
        return columns.timestamps
    if not columns.timestamp_count:
        return nulls.times(len(columns))
    micros = columns.timestamps.cast(pa.int64())
    return pc.if_else(pc.greater_equal(micros, 0), columns.timestamps, nulls.value)


def _headers(columns: RecordColumns, part: RangePart, nulls: "_Repeated") -> pa.Array:
    headers = part.headers()
    if not headers:
        return nulls.times(len(columns))
    found = [headers.get(offset) for offset in columns.offsets.to_pylist()]
    reported = [
        pairs and [{"key": name, "value": value} for name, value in pairs] for pairs in found
    ]
    return pa.array(reported, nulls.value.type)


class _Repeated:
    """A value as columns of any length, all of which share one piece of memory."""

    def __init__(self, value: pa.Scalar) -> None:
        self.value = value
        self._longest = pa.repeat(value, 0)

    def times(self, count: int) -> pa.Array:
        if len(self._longest) < count:
            self._longest = pa.repeat(self.value, count + count // 4)
        return self._longest.slice(0, count)
