"""What a set of messages adds up to: how many, from where to where, and a checksum of contents.

One rule: the checksum depends on the messages alone, not on their order, on how they are divided
into files and tasks, or on the format they lie in. So the staged rows of a batch, the landed files
read years later and the cluster itself can be compared. It is the sum, modulo 2**64, of Spark's
64-bit xxHash over a message's offset, key, value and timestamp; sums of parts add up to the sum of
the whole. A null key is not an empty key, and a key is not a value: whether each is null is hashed.

It finds damage, loss and mix-ups; it is no cryptographic signature.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from zkconsumer.model import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HASH = (
    "xxhash64(offset, isnull(key), key, isnull(value), value, "
    "unix_micros(timestamp), timestampType)"
)
"""Spark SQL: one message's hash (a signed bigint), from columns of the source's names and types."""

_BITS = 64
_WORD = 32
_DIGITS = re.compile(r"[0-9a-f]{16}")
_AGGREGATES = (
    "count(1) AS rows",
    "min(offset) AS first_offset",
    "max(offset) AS last_offset",
    # Two sums of 32 bits each can't overflow below 2**31 rows; one of 64 bits would at once.
    f"sum(shiftright(hash, {_WORD})) AS high",
    f"sum(hash & {(1 << _WORD) - 1}L) AS low",
)


@dataclass(frozen=True, slots=True, order=True)
class Checksum:
    """A sum of message hashes modulo 2**64; adds up, and is kept as 16 hexadecimal digits."""

    total: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.total % (1 << _BITS))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.total + other.total)

    def __str__(self) -> str:
        return f"{self.total:016x}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what ``str`` gave.

        Raises:
            ValueError: it is not 16 lower-case hexadecimal digits.
        """
        if not _DIGITS.fullmatch(text):
            raise ValueError(f"{text!r} is not a checksum: 16 lower-case hexadecimal digits")
        return cls(int(text, 16))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What the messages of one topic-partition, or of a piece of it, add up to.

    Attributes:
        rows: how many there are, each time an offset is there counted.
        first_offset: the smallest offset; None without rows.
        last_offset: the largest offset itself, not the one behind it; None without rows.
        checksum: of all of them.
    """

    rows: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    checksum: Checksum = Checksum()

    def __add__(self, other: Self) -> Self:
        firsts = _known(self.first_offset, other.first_offset)
        lasts = _known(self.last_offset, other.last_offset)
        return type(self)(
            rows=self.rows + other.rows,
            first_offset=min(firsts, default=None),
            last_offset=max(lasts, default=None),
            checksum=self.checksum + other.checksum,
        )


def contents_by(messages: "DataFrame", *, key: str) -> "DataFrame":
    """One row for each value of an SQL expression, with the columns that ``contents_of`` reads.

    Args:
        messages: with the columns offset, key, value, timestamp and timestampType, of the types
            that the source gives them, and those that ``key`` names.
        key: SQL expression to group by, such as ``struct(topic, partition)``; the column ``key``.

    Returns:
        Columns key, rows, first_offset, last_offset, high and low.
    """
    from pyspark.sql.functions import expr  # noqa: PLC0415 - the values above need no Spark

    hashed = messages.selectExpr(f"{key} AS key", "offset", f"{HASH} AS hash")
    return hashed.groupBy("key").agg(*map(expr, _AGGREGATES))


def contents_of(row: "Iterable[object]") -> Contents:
    """The last five columns of a row of ``contents_by`` as a value."""
    *_, rows, first, last, high, low = row
    assert isinstance(rows, int)
    assert isinstance(high, int)
    assert isinstance(low, int)
    return Contents(
        rows=rows,
        first_offset=first if isinstance(first, int) else None,
        last_offset=last if isinstance(last, int) else None,
        checksum=Checksum((high << _WORD) + low),
    )


def contents_by_partition(messages: "DataFrame") -> dict[TopicPartition, Contents]:
    """Count, bounds and checksum of every topic-partition, in one pass of a Spark job.

    Args:
        messages: with the source's columns topic, partition, offset, key, value, timestamp and
            timestampType, from wherever they were read.

    Returns:
        Of each topic-partition that has a row.
    """
    rows = contents_by(messages, key="struct(topic, partition)").collect()
    return {TopicPartition(row.key.topic, row.key.partition): contents_of(row) for row in rows}


def _known(*offsets: int | None) -> list[int]:
    return [offset for offset in offsets if offset is not None]
