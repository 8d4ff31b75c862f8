"""Writes and reads mirrored messages, whose headers hold their source offset and time.

Topic, partition, key and value are those of the source. The rest is in headers, as text:

| header | value |
|---|---|
| ``zkconsumer.drain`` | the id of the drain that wrote it |
| ``zkconsumer.offset`` | its offset in the source |
| ``zkconsumer.timestamp`` | if it has one: microseconds since the epoch, and the type's number |

The target gives every message a timestamp of its own: Spark's sink has no column for it.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from zkconsumer.drain.fields import range_options
from zkconsumer.drain.plan import Positions

DRAIN = "zkconsumer.drain"
OFFSET = "zkconsumer.offset"
TIMESTAMP = "zkconsumer.timestamp"

_MAX_REQUEST = "kafka.max.request.size"
_MAX_REQUEST_BYTES = str(64 << 20)
"""The producer's default limit would refuse what a cluster's ``message.max.bytes`` allows."""


_HEADERS = f"""array_compact(array(
    struct('{DRAIN}' AS key, CAST(drain AS BINARY) AS value),
    struct('{OFFSET}' AS key, CAST(CAST(offset AS STRING) AS BINARY) AS value),
    CASE WHEN timestamp IS NOT NULL THEN struct('{TIMESTAMP}' AS key,
        CAST(concat_ws(' ', unix_micros(timestamp), timestampType) AS BINARY) AS value) END
)) AS headers"""


def write_rows(messages: DataFrame, options: Mapping[str, str], drain: str) -> None:
    """Write messages to the target, each task in the order of its rows.

    Args:
        messages: rows with the columns topic, partition, offset, key, value, timestamp and
            timestampType.
        options: options of Spark's Kafka sink; at least ``kafka.bootstrap.servers``.
        drain: the drain's id, which its messages carry.
    """
    marked = messages.withColumn("drain", lit(drain))
    rows = marked.selectExpr("topic", "partition", "key", "value", _HEADERS)
    whole = {_MAX_REQUEST: _MAX_REQUEST_BYTES, **options}
    rows.write.format("kafka").options(**whole).save()


def read_rows(
    session: SparkSession,
    options: Mapping[str, str],
    drain: str,
    starts: Positions,
    ends: Positions,
) -> DataFrame:
    """Read the drain's own messages from ranges of the target, with their source offsets.

    Args:
        session: the Spark session.
        options: options of Spark's Kafka source; at least ``kafka.bootstrap.servers``.
        drain: the drain's id.
        starts: the start of every partition to read.
        ends: the end of each partition; a partition without an end is not read.

    Returns:
        Rows with the columns topic, partition, offset, key, value, timestamp, timestampType and
        target_offset.
    """
    bounded = {tp: (at, ends[tp]) for tp, at in starts.items() if ends.get(tp, at) > at}
    if not bounded:
        return session.createDataFrame([], _SCHEMA)
    whole = {**options, **range_options(bounded), "includeHeaders": "true"}
    found = session.read.format("kafka").options(**whole).load()
    marked = found.where(f"{_header(DRAIN)} = '{drain}'")
    return marked.selectExpr(
        "topic",
        "partition",
        f"try_cast({_header(OFFSET)} AS bigint) AS offset",
        "key",
        "value",
        f"timestamp_micros(try_cast(split_part({_header(TIMESTAMP)}, ' ', 1) AS bigint)) "
        "AS timestamp",
        f"coalesce(try_cast(split_part({_header(TIMESTAMP)}, ' ', 2) AS int), -1) AS timestampType",
        "offset AS target_offset",
    )


_SCHEMA = (
    "topic string, partition int, offset bigint, key binary, value binary, timestamp timestamp, "
    "timestampType int, target_offset bigint"
)
"""The columns of ``read_rows``."""


def _header(name: str) -> str:
    """Return SQL for the first header of a name as text; null without one."""
    return f"CAST(get(filter(headers, h -> h.key = '{name}'), 0).value AS STRING)"
