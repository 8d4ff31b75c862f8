"""Limits the cells of a decoded value, since few bytes can encode very many. Pure.

An item of a list costs one cell for each column of its type, whatever its size in bytes: even a
null struct takes a place in each column.
"""

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from zkconsumer.schemas.wire_format import BadValue

_CELLS: Final = 100_000
_CELLS_PER_BYTE: Final = 8


class CellBudget:
    """The cells that one value may take.

    Args:
        size: the size of the value's payload in bytes.
    """

    __slots__ = ("_left",)

    def __init__(self, size: int) -> None:
        self._left = _CELLS + _CELLS_PER_BYTE * size

    def take(self, cells: int) -> None:
        """Take cells from the budget.

        Raises:
            BadValue: the budget has fewer cells left.
        """
        self._left -= cells
        if self._left < 0:
            raise BadValue("it decodes to too many values for its size")


Counter = Callable[[Any, CellBudget], None]
"""Takes the cost of a value from a budget."""


def width(kind: pa.DataType) -> int:
    """Return the number of columns of a type, without the columns of list items."""
    if pa.types.is_struct(kind):
        return 1 + sum(width(field.type) for field in kind)
    return 1


def counter_of(kind: pa.DataType, get: Callable[[Any, str], Any]) -> Counter | None:
    """Return the counter of a type's values; None if they never have more cells than bytes.

    Args:
        kind: the type.
        get: returns the field of a record by its name, or None.
    """
    if pa.types.is_struct(kind):
        return _of_struct({field.name: counter_of(field.type, get) for field in kind}, get)
    if pa.types.is_list(kind):
        return _of_items(kind.value_type, get, is_map=False)
    if pa.types.is_map(kind):
        return _of_items(kind.item_type, get, is_map=True)
    return None


def _of_struct(fields: dict[str, Counter | None], get: Callable[[Any, str], Any]) -> Counter | None:
    counters = [(name, counter) for name, counter in fields.items() if counter is not None]
    if not counters:
        return None

    def count(record: Any, budget: CellBudget) -> None:
        for name, counter in counters:
            value = get(record, name)
            if value is not None:
                counter(value, budget)

    return count


def _of_items(kind: pa.DataType, get: Callable[[Any, str], Any], *, is_map: bool) -> Counter | None:
    needed = "values" if is_map else "__len__"
    cells, inner = width(kind), counter_of(kind, get)
    if cells == 1 and inner is None:
        return None

    def count(values: Any, budget: CellBudget) -> None:
        if not hasattr(values, needed):
            raise BadValue("it has another type where its schema has an array or a map")
        budget.take(cells * len(values))
        if inner is not None:
            for item in values.values() if is_map else values:
                if item is not None:
                    inner(item, budget)

    return count
