"""Compares landed messages with those that the source cluster still has.

A message that was landed without a timestamp is compared without it: the protocol version by which
it was read has no timestamps.
"""

from collections.abc import Mapping
from dataclasses import replace

from zkconsumer.assignment.filters import INTERNAL_TOPICS
from zkconsumer.drain.engine import LandedRows
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.drain.proving.proof import ClusterCheck
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.creations import Creations, created_again
from zkconsumer.spark.options import source_options
from zkconsumer.spark.subscription import TopicPattern, Topics


def check_cluster(
    landed: LandedRows,
    options: Mapping[str, str],
    wanted: Mapping[TopicPartition, Run],
    created: Creations,
) -> dict[TopicPartition, ClusterCheck]:
    """Compare landed messages with the cluster's current ones.

    Args:
        landed: the landed rows.
        options: the options of the source: ``zookeeper.connect`` or ``kafka.bootstrap.servers``,
            and others.
        wanted: the offsets that should be landed, by topic-partition.
        created: the creation of each topic when its offsets were landed.

    Returns:
        One check for each of these partitions, and for new partitions of their topics.

    Raises:
        ZkConsumerError: the cluster can't be read at all.
    """
    checks = _read_checks(options, wanted, created)
    ranges = {tp: check.compared for tp, check in checks.items() if check.compared.length > 0}
    if ranges:
        for tp, differing in landed.differences(options, ranges).items():
            checks[tp] = replace(checks[tp], differing=differing)
    return checks


def _read_checks(
    options: Mapping[str, str], wanted: Mapping[TopicPartition, Run], created: Creations
) -> dict[TopicPartition, ClusterCheck]:
    """Look up which landed offsets the cluster still has; return checks without a comparison."""
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
                f"its log ends at {ends[tp]}, before the landed offsets do: it was created again "
                "or truncated, or this is another cluster"
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
