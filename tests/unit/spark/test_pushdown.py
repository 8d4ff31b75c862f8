"""Spark's filters as conditions, compared with what SQL says of each row."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from pyspark.sql import datasource as ds

from tests.support.shares import examples
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.compat import is_pushing_filters
from zkconsumer.spark.filters import is_exact, select
from zkconsumer.spark.pushdown import condition_of

COMPARISONS: dict[type[ds.Filter], Callable[[int, int], bool]] = {
    ds.EqualTo: lambda value, other: value == other,
    ds.EqualNullSafe: lambda value, other: value == other,
    ds.LessThan: lambda value, other: value < other,
    ds.LessThanOrEqual: lambda value, other: value <= other,
    ds.GreaterThan: lambda value, other: value > other,
    ds.GreaterThanOrEqual: lambda value, other: value >= other,
}
bounds = some.none() | some.integers(-2, 8)
comparisons = some.builds(
    lambda kind, column, value: kind((column,), value),
    some.sampled_from(list(COMPARISONS)),
    some.sampled_from(["partition", "offset"]),
    bounds,
)
memberships = some.builds(
    lambda column, values: ds.In((column,), tuple(values)),
    some.sampled_from(["partition", "offset"]),
    some.lists(bounds, max_size=4),
)
nulls = some.builds(
    lambda kind, column: kind((column,)),
    some.sampled_from([ds.IsNull, ds.IsNotNull]),
    some.sampled_from(["topic", "partition", "offset"]),
)
prefixes = some.builds(
    lambda value: ds.StringStartsWith(("topic",), value), some.sampled_from(["", "o", "or", "x"])
)
names = some.builds(
    lambda value: ds.EqualTo(("topic",), value), some.sampled_from(["orders", "x", None])
)
plain = comparisons | memberships | nulls | prefixes | names
filters = plain | plain.map(ds.Not)
WHOLE = [
    OffsetRange(topic_partition=TopicPartition("orders", number), from_offset=0, until_offset=6)
    for number in range(3)
]


def sql_result(spark_filter: ds.Filter, row: dict[str, object]) -> bool | None:
    """Return what SQL says of a row: None is unknown, and excludes the row."""
    if isinstance(spark_filter, ds.Not):
        inner = sql_result(spark_filter.child, row)
        return None if inner is None else not inner
    value = row[spark_filter.attribute[0]]  # type: ignore[attr-defined]
    match spark_filter:
        case ds.IsNull():
            return False
        case ds.IsNotNull():
            return True
        case ds.In(value=values):
            if value in values:
                return True
            return None if None in values else False
        case ds.StringStartsWith(value=prefix):
            return str(value).startswith(prefix)
        case _:
            return compared(spark_filter, value)


def compared(spark_filter: ds.Filter, value: object) -> bool | None:
    """Return what SQL says of a comparison."""
    bound = spark_filter.value  # type: ignore[attr-defined]
    if bound is None:
        return False if isinstance(spark_filter, ds.EqualNullSafe) else None
    return COMPARISONS[type(spark_filter)](value, bound)  # type: ignore[arg-type]


@settings(max_examples=examples(400))
@given(some.lists(filters, min_size=1, max_size=2))
def test_rows_that_filters_keep_are_read_and_exact_filters_read_no_other(
    drawn: list[ds.Filter],
) -> None:
    """Every row that the filters keep is read, and exact filters read no other."""
    conditions = [condition_of(filter_) for filter_ in drawn]
    known = [condition for condition in conditions if condition is not None]
    kept = {
        (offset_range.topic_partition.partition, at)
        for offset_range in select(WHOLE, known)
        for at in range(offset_range.from_offset, offset_range.until_offset)
    }
    for offset_range in WHOLE:
        for at in range(6):
            tp = offset_range.topic_partition
            row: dict[str, object] = {"topic": tp.topic, "partition": tp.partition, "offset": at}
            responses = [sql_result(condition, row) for condition in drawn]
            if all(responses):
                assert (tp.partition, at) in kept
            if (tp.partition, at) in kept:
                assert all(
                    response
                    for response, condition in zip(responses, conditions, strict=True)
                    if condition is not None and is_exact(condition)
                )


@pytest.mark.parametrize(
    "spark_filter",
    [
        ds.EqualTo(("value",), b"x"),
        ds.GreaterThan(("timestamp",), 5),
        ds.EqualTo(("headers", "key"), "x"),
        ds.StringEndsWith(("topic",), "x"),
        ds.StringContains(("topic",), "x"),
        ds.EqualTo(("offset",), 1.5),
        ds.LessThan(("topic",), "x"),
        ds.In(("partition",), (1, True)),
    ],
)
def test_other_filters_are_left_to_spark(spark_filter: ds.Filter) -> None:
    """Filters on what only a message holds are left to Spark."""
    assert condition_of(spark_filter) is None
    assert condition_of(ds.Not(spark_filter)) is None


def test_filters_are_not_pushed_outside_of_sparks_worker() -> None:
    """Filters are pushed only in the worker that Spark starts for it."""
    assert not is_pushing_filters()
