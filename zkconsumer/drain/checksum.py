"""What a set of messages adds up to: how many, from where to where, and a checksum of contents.

One rule: the checksum depends on the messages alone, not on their order, on how they are divided
into files and tasks, or on the format they lie in. So the staged rows of a batch, the landed files
read years later and the cluster itself can be compared. It is the sum, modulo 2**64, of Spark's
64-bit xxHash over a message's offset, key, value and timestamp; sums of parts add up to the sum of
the whole. A null key is not an empty key, and a key is not a value: whether each is null is hashed.

It finds damage, loss and mix-ups; it is no cryptographic signature.
"""

import re
from collections.abc import Sequence
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

WITHOUT_TIME = "xxhash64(offset, isnull(key), key, isnull(value), value, CAST(NULL AS BIGINT), -1)"
"""Spark SQL: the hash that the same message has where it came without its timestamp."""

_BITS = 64
_WORD = 32
_SLICE = 1 << 30
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


def contents_by(messages: "DataFrame", *keys: str) -> "dict[tuple[object, ...], Contents]":
    """Count, bounds and checksum of every group of messages, in one pass of a Spark job.

    Args:
        messages: with the columns offset, key, value, timestamp and timestampType, of the types
            that the source gives them, and those that the keys name.
        keys: SQL expressions to group by.

    Returns:
        By the values of the keys, of each group that has a row.
    """
    from pyspark.sql.functions import expr  # noqa: PLC0415 - the values above need no Spark

    named = [f"{key} AS key_{at}" for at, key in enumerate(keys)]
    groups = [f"key_{at}" for at in range(len(keys))]
    # Groups are taken in slices, so that no sum gets large enough to overflow.
    hashed = messages.selectExpr(
        *named, f"offset div {_SLICE}L AS slice", "offset", f"{HASH} AS hash"
    )
    rows = hashed.groupBy(*groups, "slice").agg(*map(expr, _AGGREGATES)).collect()
    found: dict[tuple[object, ...], Contents] = {}
    for row in rows:
        key = tuple(row[: len(keys)])
        found[key] = found.get(key, Contents()) + contents_of(row[len(keys) + 1 :])
    return found


def contents_of(sums: "Sequence[int | None]") -> Contents:
    """What Spark summed up, as a value: rows, first and last offset, high and low half."""
    rows, first, last, high, low = sums
    assert rows is not None
    return Contents(
        rows=rows,
        first_offset=first,
        last_offset=last,
        checksum=Checksum(((high or 0) << _WORD) + (low or 0)),
    )


def contents_by_partition(messages: "DataFrame") -> dict[TopicPartition, Contents]:
    """Count, bounds and checksum of every topic-partition, in one pass of a Spark job.

    Args:
        messages: with the source's columns topic, partition, offset, key, value, timestamp and
            timestampType, from wherever they were read.

    Returns:
        Of each topic-partition that has a row.
    """
    found: dict[TopicPartition, Contents] = {}
    for (topic, partition), contents in contents_by(messages, "topic", "partition").items():
        assert isinstance(topic, str)
        assert isinstance(partition, int)
        found[TopicPartition(topic, partition)] = contents
    return found


def _known(*offsets: int | None) -> list[int]:
    return [offset for offset in offsets if offset is not None]
