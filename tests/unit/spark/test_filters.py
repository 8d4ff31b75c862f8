"""Spark's filters, as far as they restrict which offset ranges are read."""

import datetime

import pytest
from pyspark.sql import datasource as ds

from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.filters import is_exact, select
from zkconsumer.spark.pushdown import condition_of

TOPIC, PARTITION, OFFSET = ("topic",), ("partition",), ("offset",)


def offsets(topic: str, partition: int, begin: int, until: int) -> OffsetRange:
    """Return an offset range."""
    return OffsetRange(
        topic_partition=TopicPartition(topic, partition), from_offset=begin, until_offset=until
    )


RANGES = (offsets("a", 0, 0, 10), offsets("a", 1, 5, 15), offsets("b", 0, 0, 10))
A0, A1, B0 = RANGES


def left_of(*filters: ds.Filter) -> tuple[OffsetRange, ...]:
    """Return what these filters leave of the ranges; none of them is left to Spark."""
    conditions = [
        condition for filter_ in filters if (condition := condition_of(filter_)) is not None
    ]
    assert len(conditions) == len(filters)
    assert all(map(is_exact, conditions))
    return select(RANGES, conditions)


@pytest.mark.parametrize(
    ("spark_filter", "left"),
    [
        (ds.EqualTo(TOPIC, "a"), (A0, A1)),
        (ds.EqualTo(TOPIC, "A"), ()),
        (ds.EqualNullSafe(TOPIC, "b"), (B0,)),
        (ds.In(TOPIC, ("b", "c")), (B0,)),
        (ds.Not(ds.EqualTo(TOPIC, "a")), (B0,)),
        (ds.Not(ds.In(TOPIC, ("b", "c"))), (A0, A1)),
        (ds.StringStartsWith(TOPIC, "b"), (B0,)),
        (ds.Not(ds.StringStartsWith(TOPIC, "b")), (A0, A1)),
        (ds.EqualTo(PARTITION, 1), (A1,)),
        (ds.Not(ds.EqualTo(PARTITION, 1)), (A0, B0)),
        (ds.In(PARTITION, (1, 7)), (A1,)),
        (ds.GreaterThan(PARTITION, 0), (A1,)),
        (ds.GreaterThanOrEqual(PARTITION, 1), (A1,)),
        (ds.LessThan(PARTITION, 1), (A0, B0)),
        (ds.LessThanOrEqual(PARTITION, 0), (A0, B0)),
        (ds.Not(ds.LessThan(PARTITION, 1)), (A1,)),
        (ds.Not(ds.GreaterThan(PARTITION, 0)), (A0, B0)),
        (
            ds.GreaterThan(OFFSET, 7),
            (offsets("a", 0, 8, 10), offsets("a", 1, 8, 15), offsets("b", 0, 8, 10)),
        ),
        (ds.GreaterThanOrEqual(OFFSET, 10), (offsets("a", 1, 10, 15),)),
        (ds.LessThan(OFFSET, 2), (offsets("a", 0, 0, 2), offsets("b", 0, 0, 2))),
        (ds.LessThanOrEqual(OFFSET, 1), (offsets("a", 0, 0, 2), offsets("b", 0, 0, 2))),
        (ds.Not(ds.LessThanOrEqual(OFFSET, 13)), (offsets("a", 1, 14, 15),)),
        (ds.EqualTo(OFFSET, 14), (offsets("a", 1, 14, 15),)),
        (ds.In(OFFSET, (12, 13)), (offsets("a", 1, 12, 14),)),
        (ds.In(OFFSET, ()), ()),
        (ds.IsNotNull(OFFSET), RANGES),
        (ds.IsNull(TOPIC), ()),
        (ds.Not(ds.IsNull(PARTITION)), RANGES),
        (ds.Not(ds.IsNotNull(PARTITION)), ()),
    ],
)
def test_a_filter_leaves_what_it_lets_through(
    spark_filter: ds.Filter, left: tuple[OffsetRange, ...]
) -> None:
    """A filter on topic, partition or offset is applied exactly, and Spark need not repeat it."""
    assert left_of(spark_filter) == left


@pytest.mark.parametrize(
    ("spark_filter", "left"),
    [
        (ds.EqualTo(OFFSET, None), ()),
        (ds.Not(ds.EqualTo(OFFSET, None)), ()),
        (ds.LessThan(PARTITION, None), ()),
        (ds.Not(ds.LessThan(PARTITION, None)), ()),
        (ds.In(TOPIC, ("a", None)), (A0, A1)),
        (ds.Not(ds.In(TOPIC, ("b", None))), ()),
        (ds.EqualNullSafe(TOPIC, None), ()),
        (ds.Not(ds.EqualNullSafe(TOPIC, None)), RANGES),
    ],
)
def test_null_is_compared_as_in_sql(spark_filter: ds.Filter, left: tuple[OffsetRange, ...]) -> None:
    """Comparisons with null are neither true nor false, but for ``EqualNullSafe``."""
    assert left_of(spark_filter) == left


def test_several_filters_all_apply() -> None:
    """Several filters all apply."""
    assert left_of(
        ds.EqualTo(TOPIC, "a"), ds.GreaterThanOrEqual(OFFSET, 3), ds.LessThan(OFFSET, 7)
    ) == (offsets("a", 0, 3, 7), offsets("a", 1, 5, 7))


@pytest.mark.parametrize(
    "spark_filter",
    [
        ds.EqualTo(("value",), b"x"),
        ds.EqualTo(("headers", "topic"), "a"),
        ds.EqualTo(("TOPIC",), "a"),
        ds.GreaterThan(("timestamp",), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)),
        ds.IsNull(("timestamp",)),
        ds.StringContains(TOPIC, "a"),
        ds.StringStartsWith(("key",), "a"),
        ds.GreaterThan(TOPIC, "a"),
        ds.EqualTo(OFFSET, 1.5),
        ds.EqualTo(OFFSET, True),
        ds.In(PARTITION, (1, "2")),
        ds.LessThan(OFFSET, "5"),
        ds.EqualTo(TOPIC, 5),
        ds.Not(ds.StringEndsWith(TOPIC, "a")),
    ],
)
def test_other_filters_are_left_to_spark(spark_filter: ds.Filter) -> None:
    """Filters that don't restrict ranges are left to Spark."""
    assert condition_of(spark_filter) is None


@pytest.mark.parametrize(
    ("spark_filter", "left"),
    [
        (
            ds.In(OFFSET, (2, 8)),
            (offsets("a", 0, 2, 9), offsets("a", 1, 5, 9), offsets("b", 0, 2, 9)),
        ),
        (ds.Not(ds.EqualTo(OFFSET, 5)), RANGES),
        (ds.Not(ds.In(OFFSET, (5, 6))), RANGES),
    ],
)
def test_a_filter_with_gaps_is_also_applied_by_spark(
    spark_filter: ds.Filter, left: tuple[OffsetRange, ...]
) -> None:
    """A filter whose offsets have gaps narrows the ranges, and Spark filters the rest."""
    condition = condition_of(spark_filter)
    assert condition is not None
    assert not is_exact(condition)
    assert select(RANGES, [condition]) == left
