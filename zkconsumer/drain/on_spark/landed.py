"""Reads landed rows with Spark, and compares them with the cluster.

Both sides are summed up in blocks of offsets, in Spark's tasks; only blocks whose sums differ are
then compared message by message.
"""

from collections.abc import Iterable, Iterator, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, expr

from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.fields import range_options
from zkconsumer.drain.layout import DEAD_LETTERS
from zkconsumer.drain.on_spark.offset_runs import found_runs
from zkconsumer.drain.on_spark.sums import HASH, WITHOUT_TIME, contents_by, contents_by_partition
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.drain.proving.proof import BLOCK, Difference, Differing
from zkconsumer.model import TopicPartition
from zkconsumer.spark.plain_rows import plain_rows
from zkconsumer.spark.programs import read_as

SCHEMA = (
    "key binary, value binary, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, topic string, date string"
)
"""The columns of a landing's rows; the last two are in the paths of its files."""

COLUMNS = ("topic", "partition", "offset", "key", "value", "timestamp", "timestampType")
"""The columns that are read."""

_PLACED = "offset IS NOT NULL AND partition IS NOT NULL AND topic IS NOT NULL"
"""SQL for rows with a position; others belong to damaged or foreign files, which are reported."""

_PREFIX = "value_prefix"
_WHOLE_VALUE = f"CASE WHEN {_PREFIX} IS NULL THEN value ELSE concat({_PREFIX}, value) END"
"""Spark SQL for values as in the log, with the prefixes that a drain stripped."""

_KEYS = ("topic", "partition", f"offset div {BLOCK}L")
_Blocks = set[tuple[object, ...]]
_DIFFERENCE = (
    f"CASE WHEN ours IS NULL THEN '{Difference.ONLY_IN_CLUSTER}' "
    f"WHEN theirs IS NULL THEN '{Difference.ONLY_LANDED}' "
    f"WHEN ours <> theirs AND ours <> bare THEN '{Difference.CONTENT}' END AS difference"
)


class SparkRows:
    """Reads landed rows with Spark. See ``LandedRows``.

    Args:
        rows: rows with the columns ``COLUMNS``.
    """

    def __init__(self, rows: DataFrame) -> None:
        self._all = rows
        self._rows = rows.where(_PLACED)

    def unplaced(self) -> int:
        """See ``LandedRows``."""
        return self._all.where(f"NOT ({_PLACED})").count()

    def contents(self) -> dict[TopicPartition, Contents]:
        """See ``LandedRows``."""
        return contents_by_partition(self._rows)

    def runs(self) -> Iterator[tuple[TopicPartition, Iterator[Run]]]:
        """See ``LandedRows``."""
        return found_runs(self._rows)

    def differences(
        self, options: Mapping[str, str], ranges: Mapping[TopicPartition, Run]
    ) -> dict[TopicPartition, dict[Difference, Differing]]:
        """See ``LandedRows``."""
        ours = within(self._rows, ranges)
        theirs = _from_cluster(self._rows, options, ranges)
        blocks = _differing_blocks(ours, theirs)
        return _differences(ours, theirs, blocks) if blocks else {}


def read_files(
    session: SparkSession, root: str, paths: Iterable[str], file_format: str
) -> DataFrame:
    """Return the rows of landed files.

    Unreadable files count as empty, so that their messages are found missing.

    Args:
        session: the Spark session.
        root: the drain's path in Spark's form.
        paths: the paths of files below it, in ``topic=T/date=D`` folders.
        file_format: ``parquet`` or ``json``.

    Returns:
        Rows with the columns ``COLUMNS``.
    """
    found: DataFrame | None = None
    listed = list(paths)
    below_dead = f"{DEAD_LETTERS}/"
    dead = [path for path in listed if path.startswith(below_dead)]
    # One root at a time: Spark reads column values from folders below a single root.
    for base, below in (
        (root, [path for path in listed if not path.startswith(below_dead)]),
        (f"{root.rstrip('/')}/{DEAD_LETTERS}", [path.partition("/")[2] for path in dead]),
    ):
        if below:
            rows = _read_below(session, base, below, file_format)
            found = rows if found is None else found.union(rows)
    return plain_rows(session, (), SCHEMA).select(*COLUMNS) if found is None else found


def _read_below(
    session: SparkSession, root: str, paths: Iterable[str], file_format: str
) -> DataFrame:
    uris = [f"{root.rstrip('/')}/{path}" for path in paths]
    options = {"basePath": root, "ignoreCorruptFiles": "true"}
    if file_format != "parquet":
        reader = session.read.format(file_format).schema(SCHEMA)
        return reader.options(**options).load(uris).select(*COLUMNS)
    reader = session.read.format(file_format).schema(f"{SCHEMA}, {_PREFIX} binary")
    rows = reader.options(**options).load(uris)
    return rows.withColumn("value", expr(_WHOLE_VALUE)).select(*COLUMNS)


def _from_cluster(
    landed: DataFrame, options: Mapping[str, str], ranges: Mapping[TopicPartition, Run]
) -> DataFrame:
    """Return the messages of the cluster, without those that expire meanwhile."""
    bounds = {**range_options(ranges), "failOnDataLoss": "false"}
    return read_as(landed.sparkSession, {**options, **bounds})


def within(messages: DataFrame, ranges: Mapping[TopicPartition, Run]) -> DataFrame:
    """Return the messages within ranges; the order of columns may change."""
    rows = [(*tp, *run) for tp, run in ranges.items()]
    schema = "topic string, partition int, from_offset bigint, until_offset bigint"
    bounds = plain_rows(messages.sparkSession, rows, schema)
    joined = messages.join(broadcast(bounds), ["topic", "partition"])
    wanted = joined.where("offset >= from_offset AND offset < until_offset")
    return wanted.drop("from_offset", "until_offset")


def _differing_blocks(ours: DataFrame, theirs: DataFrame) -> _Blocks:
    here, there = contents_by(ours, *_KEYS), contents_by(theirs, *_KEYS)
    return {block for block in here.keys() | there.keys() if here.get(block) != there.get(block)}


def _differences(
    ours: DataFrame, theirs: DataFrame, blocks: Iterable[tuple[object, ...]]
) -> dict[TopicPartition, dict[Difference, Differing]]:
    """Return the differing messages of these blocks, by kind of difference."""
    schema = "topic string, partition int, block bigint"
    chosen = plain_rows(ours.sparkSession, blocks, schema)
    sides = [
        messages.selectExpr("topic", "partition", "offset", f"{_KEYS[2]} block", *hashes)
        .join(chosen, ["topic", "partition", "block"], "left_semi")
        .drop("block")
        for messages, hashes in (
            (ours, [f"{HASH} AS ours"]),
            (theirs, [f"{HASH} AS theirs", f"{WITHOUT_TIME} AS bare"]),
        )
    ]
    both = sides[0].join(sides[1], ["topic", "partition", "offset"], "full_outer")
    counted = (
        both.selectExpr("topic", "partition", "offset", _DIFFERENCE)
        .where("difference IS NOT NULL")
        .groupBy("topic", "partition", "difference")
        .agg(*map(expr, ("count(1)", "min(offset)", "max(offset)")))
    )
    found: dict[TopicPartition, dict[Difference, Differing]] = {}
    for topic, partition, difference, *numbers in counted.collect():
        of_partition = found.setdefault(TopicPartition(topic, partition), {})
        of_partition[Difference(difference)] = Differing(*numbers)
    return found
