"""Converts Spark's filters to conditions on ranges, for the reader that accepts them.

A comparison with null is never true, not even negated, except for ``<=>``.

Source: PySpark 4.3 ``pyspark.sql.datasource.Filter``.
"""

from collections.abc import Iterable
from typing import TypeGuard

from pyspark.sql import datasource as ds

from zkconsumer.spark.filters import (
    Column,
    Condition,
    Constant,
    NumberAmong,
    NumberWithin,
    TopicAmong,
    TopicStarts,
    is_exact,
)
from zkconsumer.spark.reader import ZkBatchReader

_NUMBERS: dict[str, Column] = {"partition": "partition", "offset": "offset"}
_COLUMNS = ("topic", *_NUMBERS)
_NEVER = Constant(holds=False)
_ALWAYS = Constant(holds=True)
_SPLITS: dict[type[ds.Filter], tuple[int, bool]] = {
    ds.LessThan: (0, True),
    ds.LessThanOrEqual: (1, True),
    ds.GreaterThan: (1, False),
    ds.GreaterThanOrEqual: (0, False),
}
"""The distance from a bound to where a comparison begins to differ; whether it is true below."""


class ZkFilteringReader(ZkBatchReader):
    """A batch reader that gets the query's filters before planning."""

    def pushFilters(self, filters: list[ds.Filter]) -> Iterable[ds.Filter]:  # noqa: N802
        """Push filters on topic, partition or offset; yield those that Spark must apply."""
        for filter_ in filters:
            condition = condition_of(filter_)
            if condition is not None:
                self.conditions.append(condition)
            if condition is None or not is_exact(condition):
                yield filter_


def condition_of(given: ds.Filter) -> Condition | None:
    """Convert a filter on topic, partition or offset; None for another column.

    Columns are matched by their exact names, as Spark resolved them.
    """
    negated = isinstance(given, ds.Not)
    inner = given.child if isinstance(given, ds.Not) else given
    path = getattr(inner, "attribute", None)
    if not isinstance(path, tuple) or len(path) != 1 or path[0] not in _COLUMNS:
        return None
    column: str = path[0]
    match inner:
        case ds.IsNull() | ds.IsNotNull():
            return Constant(holds=isinstance(inner, ds.IsNotNull) is not negated)
        case ds.EqualNullSafe(value=None):
            return _ALWAYS if negated else _NEVER
        case ds.EqualTo(value=value) | ds.EqualNullSafe(value=value):
            return _among(column, (value,), negated=negated)
        case ds.In(value=values):
            return _among(column, tuple(values), negated=negated)
        case ds.StringStartsWith(value=str(prefix)) if column == "topic":
            return TopicStarts(prefix, negated=negated)
        case _ if column in _NUMBERS:
            return _within(inner, _NUMBERS[column], negated=negated)
        case _:
            return None


def _among(column: str, values: tuple[object, ...], *, negated: bool) -> Condition | None:
    there = [value for value in values if value is not None]
    if negated and len(there) < len(values):
        return _NEVER
    if column == "topic":
        names = [value for value in there if isinstance(value, str)]
        same = len(names) == len(there)
        return TopicAmong(frozenset(names), negated=negated) if same else None
    numbers = [value for value in there if is_number(value)]
    if len(numbers) < len(there):
        return None
    return NumberAmong(_NUMBERS[column], frozenset(numbers), negated=negated)


def _within(inner: ds.Filter, column: Column, *, negated: bool) -> Condition | None:
    bound, split = getattr(inner, "value", None), _SPLITS.get(type(inner))
    if split is None:
        return None
    if bound is None:
        return _NEVER
    if not is_number(bound):
        return None
    distance, below = split
    if below is not negated:
        return NumberWithin(column, high=bound + distance)
    return NumberWithin(column, low=bound + distance)


def is_number(value: object) -> TypeGuard[int]:
    """Return whether a literal is an integer, and not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)
