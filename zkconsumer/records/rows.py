"""Records before they are made: plain tuples with the fields of ``Record``, in its order.

A plain tuple takes a quarter of the time to make, and the garbage collector stops to follow it soon
where it would go through a ``Record`` again and again. So what waits in a queue are rows.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TypeAlias, overload

from zkconsumer.model import Record, TimestampType

Row: TypeAlias = tuple[int, bytes | None, bytes | None, int, TimestampType]


class Rows(Sequence[Record]):
    """A sequence of records that are made when they are asked for, anew each time.

    Args:
        plain: the rows; not copied.
    """

    __slots__ = ("plain",)
    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __init__(self, plain: list[Row]) -> None:
        self.plain = plain

    def __len__(self) -> int:
        return len(self.plain)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> "Rows": ...
    def __getitem__(self, index: int | slice) -> "Record | Rows":
        if isinstance(index, slice):
            return Rows(self.plain[index])
        return Record(*self.plain[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return self.plain == list(plain(other))

    def __repr__(self) -> str:
        return f"Rows({made(self.plain)!r})"


def made(rows: Iterable[Row], kind: type[Record] = Record) -> list[Record]:
    """Make a record of each row, without a call of its ``__new__``."""
    return list(map(tuple.__new__, repeat(kind), rows))


def plain(records: Sequence[Record]) -> Sequence[Row]:
    """The same as rows, if they are there; else as they are: a record is a row, too."""
    return records.plain if isinstance(records, Rows) else records
