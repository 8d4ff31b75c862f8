"""How work is divided: by Spark's own Kafka source, and by ours.

``python -m tests.golden.capture_spark_ranges`` captures it anew.
"""

import json
from typing import Any

from tests.golden.capture_spark_ranges import RANGES
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.offset_ranges import divide, rate_limit


def captured(kind: str) -> list[Any]:
    """The rows of one kind, without it."""
    return [row[1:] for row in json.loads(RANGES.read_text()) if row[0] == kind]


def test_ranges_are_cut_into_the_tasks_that_spark_makes() -> None:
    """With a least number of tasks, a largest task, both or neither."""
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


def test_batches_are_bounded_as_spark_bounds_them() -> None:
    """Large and small partitions, such as have nothing to read, and such as went back."""
    wrong = []
    for limit, pairs, ends in captured("limit"):
        partitions = [TopicPartition("t", at) for at in range(len(pairs))]
        start = dict(zip(partitions, (item for item, _ in pairs), strict=True))
        latest = dict(zip(partitions, (end for _, end in pairs), strict=True))
        found = rate_limit(start, latest, limit)
        if [found[tp] for tp in partitions] != ends:
            wrong.append((limit, pairs))
    assert wrong == []


def test_the_capture_has_cases_worth_it() -> None:
    """Many of each kind, most of which cut something."""
    divides, limits = captured("divide"), captured("limit")
    assert sum(len(pieces) > len(pairs) for _, _, pairs, pieces in divides) > 100
    assert sum(ends != [end for _, end in pairs] for _, pairs, ends in limits) > 80
