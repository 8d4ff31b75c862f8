"""Holds landed messages against the cluster that they came from.

Both sides are summed up in blocks of offsets, each side where it lies; only blocks whose sums
differ are then compared message by message.

A message that was landed without a timestamp is held against the rest of what the cluster has: it
was read in a version of the protocol that leaves timestamps out.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from zkconsumer.assignment.filters import INTERNAL_TOPICS
from zkconsumer.drain.checksum import HASH, WITHOUT_TIME, contents_by
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.drain.proving.proof import ClusterCheck, Difference, Differing
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.creations import Creations, created_again
from zkconsumer.spark.offset_json import to_json
from zkconsumer.spark.options import source_options
from zkconsumer.spark.subscription import TopicPattern, Topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BLOCK = 100_000
"""How many offsets are summed up together."""

_KEYS = ("topic", "partition", f"offset div {BLOCK}L")
_Blocks = set[tuple[object, ...]]
_DIFFERENCE = (
    f"CASE WHEN ours IS NULL THEN '{Difference.ONLY_IN_CLUSTER}' "
    f"WHEN theirs IS NULL THEN '{Difference.ONLY_LANDED}' "
    f"WHEN ours <> theirs AND ours <> bare THEN '{Difference.CONTENT}' END AS difference"
)


def check_cluster(
    landed: "DataFrame",
    options: Mapping[str, str],
    wanted: Mapping[TopicPartition, Run],
    created: Creations,
) -> dict[TopicPartition, ClusterCheck]:
    """Compare what was landed with what the cluster has now.

    Args:
        landed: topic, partition, offset, key, value, timestamp and timestampType.
        options: of the source: ``zookeeper.connect`` or ``kafka.bootstrap.servers``, and others.
        wanted: what was landed of each topic-partition.
        created: what told their topics from others of their names when they were landed.

    Returns:
        One check for each of them, and for other partitions of their topics: new ones, which the
        drain has not seen yet.

    Raises:
        ZkConsumerError: the cluster can't be asked at all.
    """
    checks = _look(options, wanted, created)
    ranges = {tp: check.compared for tp, check in checks.items() if check.compared.length > 0}
    if ranges:
        ours = within(landed, ranges)
        theirs = _from_cluster(landed, options, ranges)
        blocks = _differing_blocks(ours, theirs)
        for tp, differing in _differences(ours, theirs, blocks).items() if blocks else ():
            checks[tp] = replace(checks[tp], differing=differing)
    return checks


def _look(
    options: Mapping[str, str], wanted: Mapping[TopicPartition, Run], created: Creations
) -> dict[TopicPartition, ClusterCheck]:
    """What of the landed ranges the cluster still has."""
    everything = source_options({**options, "subscribePattern": ".*"})
    with ClusterReader.of(everything) as reader:
        known = set(reader.partitions(TopicPattern(".*")))
        for topic in INTERNAL_TOPICS & {tp.topic for tp in wanted}:
            known |= _partitions(reader, topic)
        topics = {tp.topic for tp in wanted}
        there = sorted(tp for tp in known if tp.topic in topics)
        recreated = created_again(created, reader.creations(topics))
        starts, ends = reader.earliest(there), reader.latest(there)
    checks = {
        tp: ClusterCheck(compared=Run(starts[tp], starts[tp]), log_end=ends[tp])
        for tp in there
        if tp not in wanted
    }
    for tp, run in wanted.items():
        if tp not in known:
            gone = Run(run.until_offset, run.until_offset)
            checks[tp] = ClusterCheck(compared=gone, obstacle="the cluster does not have it")
            continue
        begin = min(max(run.from_offset, starts[tp]), run.until_offset)
        obstacle = None
        if tp.topic in recreated:
            begin = run.until_offset
            obstacle = "its topic was deleted and created again since: its offsets mean others now"
        elif ends[tp] < run.until_offset:
            begin = run.until_offset
            obstacle = (
                f"its log ends at {ends[tp]}, before the landed offsets do: it was made anew or "
                "cut, or this is another cluster"
            )
        checks[tp] = ClusterCheck(
            compared=Run(begin, run.until_offset), log_end=ends[tp], obstacle=obstacle
        )
    return checks


def _partitions(reader: ClusterReader, topic: str) -> set[TopicPartition]:
    try:
        return set(reader.partitions(Topics((topic,))))
    except ConfigError:
        return set()


def _from_cluster(
    landed: "DataFrame", options: Mapping[str, str], ranges: Mapping[TopicPartition, Run]
) -> "DataFrame":
    """The cluster's messages; those that expire meanwhile are just not there."""
    assign: dict[str, list[int]] = {}
    for topic, partition in sorted(ranges):
        assign.setdefault(topic, []).append(partition)
    bounds = {
        "assign": json.dumps(assign),
        "startingOffsets": json.dumps(to_json({tp: run[0] for tp, run in ranges.items()})),
        "endingOffsets": json.dumps(to_json({tp: run[1] for tp, run in ranges.items()})),
        "failOnDataLoss": "false",
    }
    from zkconsumer.spark.programs import read_as  # noqa: PLC0415 - loaded with Spark's own session

    return read_as(landed.sparkSession, {**options, **bounds})


def within(messages: "DataFrame", ranges: Mapping[TopicPartition, Run]) -> "DataFrame":
    """Only the messages with these offsets; the order of columns may change."""
    from pyspark.sql.functions import broadcast  # noqa: PLC0415 - loaded with Spark's own session

    rows = [(*tp, *run) for tp, run in ranges.items()]
    schema = "topic string, partition int, from_offset bigint, until_offset bigint"
    bounds = messages.sparkSession.createDataFrame(rows, schema)
    joined = messages.join(broadcast(bounds), ["topic", "partition"])
    wanted = joined.where("offset >= from_offset AND offset < until_offset")
    return wanted.drop("from_offset", "until_offset")


def _differing_blocks(ours: "DataFrame", theirs: "DataFrame") -> _Blocks:
    here, there = contents_by(ours, *_KEYS), contents_by(theirs, *_KEYS)
    return {block for block in here.keys() | there.keys() if here.get(block) != there.get(block)}


def _differences(
    ours: "DataFrame", theirs: "DataFrame", blocks: Iterable[tuple[object, ...]]
) -> dict[TopicPartition, dict[Difference, Differing]]:
    """Which messages of these blocks differ, and how."""
    schema = "topic string, partition int, block bigint"
    chosen = ours.sparkSession.createDataFrame(list(blocks), schema)
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
    from pyspark.sql.functions import expr  # noqa: PLC0415 - as above

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
