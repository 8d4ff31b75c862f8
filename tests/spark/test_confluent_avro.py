"""``from_confluent_avro``: with Arrow functions from Spark 4.1 on, with Python's before."""

import datetime
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.registry_server import RegistryServer, registry_server
from tests.support.schemas import USER, avro_value
from zkconsumer.errors import ConfigError, SchemaError
from zkconsumer.spark import from_confluent_avro
from zkconsumer.spark.compat import HAS_ARROW_UDFS

pytestmark = pytest.mark.spark

NEWER = {
    "type": "record",
    "name": "User",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "state", "type": "string", "default": "new"},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "cost", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5}},
        {"name": "inner", "type": {"type": "array", "items": "In"}},
        {"name": "more", "type": {"type": "map", "values": "double"}},
    ],
}
IN = {"type": "record", "name": "In", "fields": [{"name": "x", "type": "int"}]}
NEWER["fields"][4]["type"]["items"] = IN  # type: ignore[index]
AT = datetime.datetime(2014, 5, 13, 1, 2, 3, tzinfo=datetime.UTC)
TIMES: list[dict[str, Any]] = [
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
]
VALUE = {
    "id": 1,
    "state": "x",
    "at": AT,
    "cost": Decimal(-12),
    "inner": [{"x": 3}],
    "more": {"k": 0.5},
}


@pytest.fixture(name="registry")
def _registry() -> Iterator[RegistryServer]:
    with registry_server() as registry:
        registry.by_id[1] = {"schema": json.dumps(USER)}
        registry.by_id[2] = {"schema": json.dumps(NEWER)}
        registry.by_subject["users-value"] = [registry.by_id[1], registry.by_id[2]]
        yield registry


def frame(spark: SparkSession, *values: bytes | None) -> DataFrame:
    """Return a frame of numbered values."""
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    return own.createDataFrame(list(enumerate(values)), "n int, value binary")


def decoded(rows: DataFrame, **arguments: Any) -> list[Any]:
    """Return the decoded column, in order."""
    found = rows.select("n", from_confluent_avro("value", **arguments).alias("it")).orderBy("n")
    collected = found.collect()
    return [None if row.it is None else row.it.asDict(recursive=True) for row in collected]


@pytest.mark.versions
def test_values_are_resolved_to_the_latest_schema_of_their_subject(
    spark: SparkSession, registry: RegistryServer
) -> None:
    """Each is decoded by its own schema; bad ones are null, or end the query."""
    rows = frame(
        spark, avro_value(2, NEWER, VALUE), None, b"\0\0\0\0\2\xff", avro_value(9, USER, {"id": 1})
    )
    arguments = {"registry": registry.url, "subject": "users-value"}
    first, *others = decoded(rows, **arguments)
    # Spark returns times without a zone, in the machine's zone.
    assert first.pop("at").astimezone(datetime.UTC) == AT
    assert first == {name: value for name, value in VALUE.items() if name != "at"}
    assert others == [None, None, None]
    with pytest.raises(Exception, match="the value is truncated"):
        decoded(rows, **arguments, mode="FAILFAST")


@pytest.mark.versions
def test_an_older_schema_may_determine_the_type(
    spark: SparkSession, registry: RegistryServer
) -> None:
    """Fields that it lacks are left out; fields that values lack have their defaults."""
    rows = frame(spark, avro_value(2, NEWER, VALUE), avro_value(1, USER, {"id": 5, "name": "u"}))
    found = decoded(rows, registry=registry.url, schema=json.dumps(USER))
    assert found == [{"id": 1, "name": None}, {"id": 5, "name": "u"}]
    assert decoded(rows.where("n = 1"), schema=json.dumps(USER)) == [{"id": 5, "name": "u"}]


@pytest.mark.versions
def test_times_that_python_cannot_represent_are_no_error(spark: SparkSession) -> None:
    """Arrow keeps them, rows have null; the other values are not affected."""
    fields = [{"name": "n", "type": "int"}, *TIMES]
    schema = {"type": "record", "name": "R", "fields": fields}
    bare = json.loads(json.dumps(schema).replace("logicalType", "was"))
    far = (
        {"n": 1, "at": 2**62, "day": 1},
        {"n": 2, "at": -(2**62), "day": 1},
        {"n": 3, "at": 1, "day": 2**31 - 1},
    )
    values = [avro_value(1, bare, value) for value in (*far, {"n": 4, "at": 1, "day": 1})]
    found = frame(spark, *values).select(
        "n", from_confluent_avro("value", schema=json.dumps(schema)).alias("it")
    )
    numbers = [row.n for row in found.selectExpr("n", "it.n as i").where("i is not null").collect()]
    assert numbers == ([0, 1, 2, 3] if HAS_ARROW_UDFS else [3])
    if not HAS_ARROW_UDFS:
        strict = from_confluent_avro("value", schema=json.dumps(schema), mode="FAILFAST")
        with pytest.raises(Exception, match=r"a value of .* bytes"):
            frame(spark, *values).select(strict).collect()


@pytest.mark.versions
def test_ids_do_not_matter_without_a_registry(spark: SparkSession) -> None:
    """With a given schema, any number of different ids is decoded."""
    values = [avro_value(at, USER, {"id": at, "name": None}) for at in range(1_200)]
    rows = frame(spark, *values, b"junk", b"\0\0").coalesce(1)
    found = decoded(rows, schema=json.dumps(USER))
    assert [None if row is None else row["id"] for row in found] == [*range(1_200), None, None]


@pytest.mark.versions
def test_json_text_is_a_string(spark: SparkSession) -> None:
    """A union of several types is JSON text on all levels."""
    either = ["string", "long"]
    kinds = {
        "a": either,
        "l": {"type": "array", "items": either},
        "m": {"type": "map", "values": either},
    }
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    schema = {"type": "record", "name": "R", "fields": fields}
    value = avro_value(1, schema, {"a": 1, "l": ["x", 2], "m": {"k": 3}})
    found = decoded(frame(spark, value), schema=json.dumps(schema))
    assert found == [{"a": "1", "l": ['"x"', "2"], "m": {"k": "3"}}]


@pytest.mark.once
def test_wrong_arguments_are_refused(registry: RegistryServer) -> None:
    """They are refused before a query runs."""
    with pytest.raises(ConfigError, match="PERMISSIVE or FAILFAST"):
        from_confluent_avro("value", schema='"int"', mode="DROP")
    with pytest.raises(ConfigError, match="one of them says the type"):
        from_confluent_avro("value", registry=registry.url)
    with pytest.raises(ConfigError, match="subject needs registry"):
        from_confluent_avro("value", subject="a")
    with pytest.raises(SchemaError, match="no subject nobody"):
        from_confluent_avro("value", subject="nobody", registry=registry.url)
    with pytest.raises(SchemaError, match="not a valid Avro schema"):
        from_confluent_avro("value", schema='{"type": "record"}')
