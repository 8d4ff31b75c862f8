"""Spark's columns, made of the records of either engine."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from tests.support.fetched_decoders import FetchedDecoder
from tests.support.ranges import DECODERS
from zkconsumer.errors import ConfigError
from zkconsumer.fetch.range_parts import RangePart, parts_of
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import build_batch
from zkconsumer.spark.row_batches import row_batch
from zkconsumer.spark.rows import arrow_schema, spark_schema
from zkconsumer.streams import arrow_columns
from zkconsumer.streams.arrow_columns import RecordColumns

TP = TopicPartition("t", 3)
ALL = arrow_schema(spark_schema(include_headers=True))
CREATED, APPENDED = TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME


def part_of(decoder: FetchedDecoder, *records: Record, magic: int = 1) -> RangePart:
    """Return these records as a fetch returns them."""
    sets = b"".join(build_message_set([record], magic=magic) for record in records)
    piece = decoder(
        memoryview(sets), fetch_offset=records[0].offset, max_decompressed_bytes=1 << 20
    )
    (part,) = parts_of(piece, records[-1].offset + 1, 1 << 20)
    return part


def columns(batch: pa.RecordBatch) -> dict[str, list[object]]:
    """Return all columns of a batch."""
    batch.validate(full=True)
    found: dict[str, list[object]] = batch.to_pydict()
    return found


def test_names_and_types_are_those_of_sparks_own_source() -> None:
    """Columns are those of Spark's own source, all nullable; headers only where asked for."""
    plain, whole = spark_schema(), spark_schema(include_headers=True)
    assert plain.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,"
        "timestamp:timestamp,timestampType:int>"
    )
    assert whole.fields[:-1] == plain.fields
    assert whole["headers"].dataType.simpleString() == "array<struct<key:string,value:binary>>"
    assert all(field.nullable for field in whole.fields)
    assert arrow_schema(whole).equals(to_arrow_schema(whole, timezone="UTC"))


@pytest.mark.parametrize("decoder", DECODERS)
def test_rows_hold_what_the_records_hold(decoder: FetchedDecoder) -> None:
    """Rows have the records' nulls, empty values, offsets and times; headers are null."""
    part = part_of(
        decoder,
        Record(3, b"k", b"v", 1_400_000_000_123, CREATED),
        Record(5, None, None, -1, CREATED),
        Record(6, b"", b"", 0, CREATED),
    )
    batch = row_batch(ALL, TP, part)
    assert batch.schema.equals(ALL)
    assert columns(batch) == {
        "key": [b"k", None, b""],
        "value": [b"v", None, b""],
        "topic": ["t"] * 3,
        "partition": [3] * 3,
        "offset": [3, 5, 6],
        "timestamp": [
            datetime(2014, 5, 13, 16, 53, 20, 123_000, UTC),
            None,
            datetime(1970, 1, 1, tzinfo=UTC),
        ],
        "timestampType": [0, 0, 0],
        "headers": [None] * 3,
    }


@pytest.mark.parametrize("decoder", DECODERS)
def test_times_out_of_range_are_clamped(decoder: FetchedDecoder) -> None:
    """A time too large for microseconds becomes the largest that fits."""
    schema = arrow_schema(
        spark_schema().add("headers", spark_schema(include_headers=True)["headers"].dataType)
    )
    part = part_of(decoder, Record(0, None, b"", 5, CREATED), Record(1, None, b"", 2**62, APPENDED))
    batch = row_batch(schema, TP, part)
    micros = batch.column("timestamp").cast(pa.int64()).to_pylist()
    assert micros == [5_000, (2**63 - 1) // 1_000 * 1_000]
    assert batch.column("timestampType").to_pylist() == [0, 1]


@pytest.mark.parametrize("decoder", DECODERS)
def test_magic_0_has_no_time(decoder: FetchedDecoder) -> None:
    """Records of magic 0 have no time, and a timestamp type that says so."""
    batch = row_batch(ALL, TP, part_of(decoder, Record(0, None, b"v"), magic=0))
    assert batch.column("timestamp").to_pylist() == [None]
    assert batch.column("timestampType").to_pylist() == [-1]


@pytest.mark.parametrize("decoder", DECODERS)
def test_batches_of_many_lengths_do_not_disturb_each_other(decoder: FetchedDecoder) -> None:
    """Batches have any length, and are independent of each other."""
    batches = [
        row_batch(
            ALL,
            TP,
            part_of(decoder, *(Record(number, b"k", b"v") for number in range(count)), magic=0),
        )
        for count in (3, 1, 50, 2)
    ]
    for batch, count in zip(batches, (3, 1, 50, 2), strict=True):
        found = columns(batch)
        assert found["topic"] == ["t"] * count
        assert found["partition"] == [3] * count
        assert found["timestamp"] == found["headers"] == [None] * count


@pytest.mark.parametrize("decoder", DECODERS)
def test_headers_come_with_their_records(decoder: FetchedDecoder) -> None:
    """Headers keep their order, duplicate names and null values; a record without any has null."""
    records = [Record(at, None, b"v", 1_000, CREATED) for at in range(4)]
    headers = {1: (("a", b"1"), ("b", None), ("a", b"")), 3: (("c", b"2"),)}
    data = build_batch(records, headers=headers) + build_batch([records[3]._replace(offset=4)])
    piece = decoder(memoryview(data), fetch_offset=1, max_decompressed_bytes=1 << 20)
    alone = arrow_schema(StructType([spark_schema(include_headers=True)["headers"]]))
    parts = list(parts_of(piece, 5, 1 << 20))
    for schema in (ALL, alone):
        found = [columns(row_batch(schema, TP, part))["headers"] for part in parts]
        assert [row for batch in found for row in batch] == [
            [{"key": "a", "value": b"1"}, {"key": "b", "value": None}, {"key": "a", "value": b""}],
            None,
            [{"key": "c", "value": b"2"}],
            None,
        ]


@pytest.mark.parametrize("names", [["value"], ["offset", "key"], ["timestamp"], ["topic"]])
@pytest.mark.parametrize("decoder", DECODERS)
def test_a_schema_selects_and_orders_columns(decoder: FetchedDecoder, names: Sequence[str]) -> None:
    """A user's schema selects and orders the columns."""
    schema = arrow_schema(StructType([spark_schema()[name] for name in names]))
    part = part_of(decoder, Record(7, b"k", b"v"), magic=0)
    batch = row_batch(schema, TP, part)
    whole = columns(row_batch(ALL, TP, part))
    assert list(batch.schema.names) == list(names)
    assert columns(batch) == {name: whole[name] for name in names}


@pytest.mark.parametrize("decoder", DECODERS)
def test_columns_left_out_are_not_computed(
    decoder: FetchedDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns that the schema leaves out are computed by neither engine."""
    made: list[set[str]] = []

    def spied(make: Callable[..., RecordColumns]) -> Callable[..., RecordColumns]:
        def spy(*args: object) -> RecordColumns:
            found = make(*args)
            made.append(set(found.arrays))
            return found

        return spy

    for name in ("columns_of_runs", "columns_of_rows"):
        monkeypatch.setattr(arrow_columns, name, spied(getattr(arrow_columns, name)))
    part = part_of(decoder, Record(7, b"k", b"v"))
    whole = spark_schema(include_headers=True)
    for name in ("value", "topic", "headers"):
        row_batch(arrow_schema(StructType([whole[name]])), TP, part)
    assert made == [{"value"}, set(), set()]


def test_a_column_may_be_declared_not_null() -> None:
    """A column that is never null may be declared NOT NULL, and its Arrow schema says so."""
    schema = StructType([StructField("offset", LongType(), nullable=False)])
    assert arrow_schema(schema).equals(to_arrow_schema(schema, timezone="UTC"))


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        (StructType([]), "name at least one of the columns key, value, topic"),
        (StructType([StructField("Value", StringType())]), "there is no column 'Value'"),
        (StructType([StructField("value", StringType())]), "column value is binary, not string"),
        (StructType([StructField("offset", IntegerType())]), "column offset is bigint, not int"),
        (StructType([spark_schema()["key"]] * 2), "column key is named twice"),
        *(
            (
                StructType([StructField(name, spark_schema(True)[name].dataType, nullable=False)]),
                f"column {name} is declared NOT NULL",
            )
            for name in ("key", "value", "timestamp", "headers")
        ),
    ],
)
def test_other_schemas_are_refused(schema: StructType, complaint: str) -> None:
    """Other schemas are refused with the known columns, or with what to do instead."""
    with pytest.raises(ConfigError, match=complaint):
        arrow_schema(schema)
