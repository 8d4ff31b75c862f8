"""The columns that the sink writes: those of Spark's own Kafka sink, with their types."""

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from zkconsumer.errors import ConfigError
from zkconsumer.spark.sink.rows import rows_of, sink_columns

TYPES: dict[str, DataType] = {
    "string": StringType(),
    "binary": BinaryType(),
    "int": IntegerType(),
    "bigint": LongType(),
}


def schema(ddl: str) -> StructType:
    """Return the schema that ``name type, ...`` describes."""
    built = StructType()
    for column in ddl.split(", "):
        name, kind = column.split(" ")
        built = built.add(name, TYPES[kind])
    return built


@pytest.mark.parametrize(
    ("ddl", "topic", "message"),
    [
        ("key string", "t", "no column value to write, only key"),
        ("value string", None, "no topic is given: set the option topic"),
        ("value int", "t", "column value is of type int: it must be string or binary"),
        ("value string, key bigint", "t", "column key is of type bigint"),
        ("value string, topic binary", None, "column topic is of type binary: it must be string"),
        ("value string, partition bigint", "t", "column partition is of type bigint"),
        ("key string, value string, key bigint", "t", "there are two columns key"),
    ],
)
def test_columns_that_can_not_be_written_are_refused(
    ddl: str, topic: str | None, message: str
) -> None:
    """Columns of a wrong name or type are refused on the driver, with the column's name."""
    with pytest.raises(ConfigError, match=message):
        sink_columns(schema(ddl), topic=topic)


def test_headers_are_refused() -> None:
    """A headers column is refused, as rows written without it would lose their headers."""
    headers = schema("value string").add("headers", ArrayType(schema("key string, value binary")))
    with pytest.raises(ConfigError, match=r"column headers: .* drop the column"):
        sink_columns(headers, topic="t")


def test_the_topic_option_overrides_the_column() -> None:
    """The topic option overrides the topic column, as in Spark; other columns are ignored."""
    columns = sink_columns(schema("offset bigint, topic string, value string"), topic="t")
    assert (columns.topic, columns.value, columns.key) == (None, 2, None)


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_strings_become_utf8(text: pa.DataType) -> None:
    """Strings and bytes of either width are written; nulls stay null, and empty stays empty."""
    wanted = [None, b"", "é".encode()]
    batch = pa.record_batch(
        {
            "topic": pa.array(["a", "b", None]),
            "value": pa.array(wanted, pa.binary()).cast(text),
            "key": pa.array(wanted, pa.binary()).cast(text),
            "partition": pa.array([1, None, 3], pa.int32()),
        }
    )
    columns = sink_columns(
        schema("topic string, value string, key binary, partition int"), topic=None
    )
    assert list(rows_of(batch, columns)) == [
        ("a", 1, None, None),
        ("b", None, b"", b""),
        (None, 3, "é".encode(), "é".encode()),
    ]
    columns = sink_columns(schema("topic string, value string"), topic="t")
    assert [row[:3] for row in rows_of(batch, columns)] == [(None, None, None)] * 3
