"""Holds records as plain tuples, with the fields of ``Record`` in order, until they are needed.

A plain tuple takes a quarter of the time to make. The garbage collector also untracks it in its
first pass, while it would traverse a ``Record`` again and again. For that, a row holds only bytes
and plain numbers, even for its timestamp type. Queued records are rows.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias, overload

from zkconsumer.model import Record, TimestampType

_TYPES = {int(timestamp_type): timestamp_type for timestamp_type in TimestampType}

Row: TypeAlias = tuple[int, bytes | None, bytes | None, int, int]

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
"""The headers of a record of magic 2, in order; names may repeat (KIP-82)."""


class Rows(Sequence[Record]):
    """A sequence of records, which are made again on each access.

    Args:
        plain: the rows; not copied.
    """

    __slots__ = ("plain",)
    __hash__ = None  # type: ignore[assignment]  # as for a list

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
        (record,) = as_records((self.plain[index],))
        return record

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return self.plain == list(as_tuples(other))

    def __repr__(self) -> str:
        return f"Rows({as_records(self.plain)!r})"


def as_records(rows: Iterable[Row]) -> list[Record]:
    """Return a record for each row, bypassing the constructor for speed."""
    make, kind, types = tuple.__new__, Record, _TYPES
    return [
        make(kind, (offset, key, value, timestamp, types[timestamp_type]))
        for offset, key, value, timestamp, timestamp_type in rows
    ]


def as_tuples(records: Sequence[Record]) -> Sequence[Row]:
    """Return the rows of ``Rows``, and other sequences unchanged: a ``Record`` is a row, too."""
    return records.plain if isinstance(records, Rows) else records
