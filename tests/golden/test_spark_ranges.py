"""The division of work, by Spark's own Kafka source and by ours.

``python -m tests.golden.capture_spark_ranges`` captures it again.
"""

import json
from typing import Any

from tests.golden.capture_spark_ranges import RANGES
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.offset_ranges import divide, rate_limit


def captured(kind: str) -> list[Any]:
    """Return the rows of one kind, without the kind."""
    return [row[1:] for row in json.loads(RANGES.read_text()) if row[0] == kind]


def test_ranges_are_divided_into_sparks_tasks() -> None:
    """They agree with a least number of tasks, a largest task, both and neither."""
    wrong = []
    for least, most, pairs, pieces in captured("divide"):
        ranges = [
            OffsetRange(topic_partition=TopicPartition("t", at), from_offset=item, until_offset=end)
            for at, (item, end) in enumerate(pairs)
        ]
        found = [
            [
                offset_range.topic_partition.partition,
                offset_range.from_offset,
                offset_range.until_offset,
            ]
            for offset_range in divide(ranges, least, most)
        ]
        if found != pieces:
            wrong.append((least, most, pairs))
    assert wrong == []


def test_batches_have_sparks_limits() -> None:
    """They agree for partitions large, small, without new records, and with lower ends."""
    wrong = []
    for limit, pairs, ends in captured("limit"):
        partitions = [TopicPartition("t", at) for at in range(len(pairs))]
        start = dict(zip(partitions, (item for item, _ in pairs), strict=True))
        latest = dict(zip(partitions, (end for _, end in pairs), strict=True))
        found = rate_limit(start, latest, limit)
        if [found[tp] for tp in partitions] != ends:
            wrong.append((limit, pairs))
    assert wrong == []


def test_the_capture_has_enough_cases() -> None:
    """There are many cases of each kind, most of which limit or split something."""
    divides, limits = captured("divide"), captured("limit")
    assert sum(len(pieces) > len(pairs) for _, _, pairs, pieces in divides) > 100
    assert sum(ends != [end for _, end in pairs] for _, pairs, ends in limits) > 80
