"""Spark's filters as conditions on ranges, where they can be said so.

Source: PySpark 4.3 ``pyspark.sql.datasource`` (``Filter`` and ``DataSourceReader.pushFilters``).
"""

from collections.abc import Iterable
from typing import NamedTuple

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

_TOPIC = ("topic",)
_NUMBERS: dict[ds.ColumnPath, Column] = {("partition",): "partition", ("offset",): "offset"}
_NEVER = Constant(holds=False)


class Pushed(NamedTuple):
    """What became of a query's filters: conditions on ranges, and what Spark must still check."""

    conditions: tuple[Condition, ...]
    left: tuple[ds.Filter, ...]


def take_filters(filters: Iterable[ds.Filter]) -> Pushed:
    """Take the filters that say something about ranges.

    Those that ``select`` does not meet exactly are also left to Spark, as are all others.
    """
    conditions: list[Condition] = []
    left: list[ds.Filter] = []
    for one in filters:
        condition = condition_of(one)
        if condition is not None:
            conditions.append(condition)
        if condition is None or not is_exact(condition):
            left.append(one)
    return Pushed(tuple(conditions), tuple(left))


def condition_of(one: ds.Filter, *, negated: bool = False) -> Condition | None:
    """What a filter, or its negation, says about ranges; None where that is nothing.

    A comparison with null holds neither way.
    """
    match one:
        case ds.Not(child):
            return condition_of(child, negated=not negated)
        case ds.IsNull(column) | ds.EqualNullSafe(column, None):
            return Constant(holds=negated) if _is_ours(column) else None
        case ds.IsNotNull(column):
            return Constant(holds=not negated) if _is_ours(column) else None
        case ds.EqualTo(column, value) | ds.EqualNullSafe(column, value):
            return _among(column, (value,), negated=negated)
        case ds.In(column, values):
            return _among(column, values, negated=negated)
        case ds.StringStartsWith(column, prefix):
            return TopicStarts(prefix, negated) if column == _TOPIC else None
        case (
            ds.LessThan(column, value)
            | ds.LessThanOrEqual(column, value)
            | ds.GreaterThan(column, value)
            | ds.GreaterThanOrEqual(column, value)
        ):
            is_low = isinstance(one, ds.GreaterThan | ds.GreaterThanOrEqual) is not negated
            # The bound lies behind the value itself; a negation keeps it where it is.
            shift = isinstance(one, ds.LessThanOrEqual | ds.GreaterThan)
            return _within(column, value, is_low=is_low, shift=int(shift))
        case _:
            return None


def _is_ours(column: ds.ColumnPath) -> bool:
    return column == _TOPIC or column in _NUMBERS


def _among(column: ds.ColumnPath, values: Iterable[object], *, negated: bool) -> Condition | None:
    listed = list(values)
    if negated and None in listed and _is_ours(column):
        return _NEVER
    known = [value for value in listed if value is not None]
    if column == _TOPIC:
        names = frozenset(value for value in known if isinstance(value, str))
        return TopicAmong(names, negated) if len(names) == len(set(known)) else None
    name = _NUMBERS.get(column)
    numbers = frozenset(value for value in known if type(value) is int)
    if name is None or len(numbers) != len(set(known)):
        return None
    return NumberAmong(name, numbers, negated)


def _within(column: ds.ColumnPath, value: object, *, is_low: bool, shift: int) -> Condition | None:
    name = _NUMBERS.get(column)
    if name is None:
        return None
    if value is None:
        return _NEVER
    if type(value) is not int:
        return None
    bound = value + shift
    return NumberWithin(name, low=bound) if is_low else NumberWithin(name, high=bound)
