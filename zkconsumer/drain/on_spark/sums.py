"""Computes checksums of messages in Spark; ``checksum`` defines them."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from zkconsumer.drain.checksum import Checksum, Contents
from zkconsumer.model import TopicPartition

HASH = (
    "xxhash64(offset, isnull(key), key, isnull(value), value, "
    "unix_micros(timestamp), timestampType)"
)
"""Spark SQL for a message's hash (a signed bigint), from the source's columns."""

WITHOUT_TIME = "xxhash64(offset, isnull(key), key, isnull(value), value, CAST(NULL AS BIGINT), -1)"
"""Spark SQL for the hash of the same message without its timestamp."""

_WORD = 32
_SLICE = 1 << 30
_AGGREGATES = (
    "count(1) AS rows",
    "min(offset) AS first_offset",
    "max(offset) AS last_offset",
    # Two sums of 32-bit halves can't overflow below 2**31 rows; a sum of 64 bits soon would.
    f"sum(shiftright(hash, {_WORD})) AS high",
    f"sum(hash & {(1 << _WORD) - 1}L) AS low",
)


def contents_by(messages: DataFrame, *keys: str) -> dict[tuple[object, ...], Contents]:
    """Compute count, bounds and checksum of every group, in one pass of a Spark job.

    Args:
        messages: rows with the columns offset, key, value, timestamp and timestampType, of the
            source's types, and those that the keys name.
        keys: SQL expressions to group by.

    Returns:
        The contents by the values of the keys, for groups with rows.
    """
    named = [f"{key} AS key_{at}" for at, key in enumerate(keys)]
    groups = [f"key_{at}" for at in range(len(keys))]
    # Groups are divided into slices, so that no sum gets large enough to overflow.
    hashed = messages.selectExpr(
        *named, f"offset div {_SLICE}L AS slice", "offset", f"{HASH} AS hash"
    )
    rows = hashed.groupBy(*groups, "slice").agg(*map(expr, _AGGREGATES)).collect()
    found: dict[tuple[object, ...], Contents] = {}
    for row in rows:
        key = tuple(row[: len(keys)])
        found[key] = found.get(key, Contents()) + contents_of(row[len(keys) + 1 :])
    return found


def contents_of(sums: Sequence[int | None]) -> Contents:
    """Convert Spark's sums: rows, first and last offset, high and low half."""
    rows, first, last, high, low = sums
    assert rows is not None
    return Contents(
        rows=rows,
        first_offset=first,
        last_offset=last,
        checksum=Checksum(((high or 0) << _WORD) + (low or 0)),
    )


def contents_by_partition(messages: DataFrame) -> dict[TopicPartition, Contents]:
    """Compute count, bounds and checksum of every topic-partition, in one pass.

    Args:
        messages: rows with the source's columns topic, partition, offset, key, value, timestamp and
            timestampType, from any source.

    Returns:
        The contents of each topic-partition with rows.
    """
    found: dict[TopicPartition, Contents] = {}
    for (topic, partition), contents in contents_by(messages, "topic", "partition").items():
        assert isinstance(topic, str)
        assert isinstance(partition, int)
        found[TopicPartition(topic, partition)] = contents
    return found
