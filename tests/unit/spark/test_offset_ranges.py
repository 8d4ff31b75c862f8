"""How offset ranges are divided into tasks, and how batches are bounded."""

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.offset_ranges import MAX_TASKS, divide, rate_limit


def offsets(partition: int, begin: int, until: int) -> OffsetRange:
    """Return an offset range of the topic."""
    return OffsetRange(
        topic_partition=TopicPartition("t", partition), from_offset=begin, until_offset=until
    )


def test_each_partition_is_one_task_by_default() -> None:
    """By default each partition that has something to read is one task."""
    ranges = [offsets(0, 5, 9), offsets(1, 7, 7), offsets(2, 0, 1)]
    assert divide(ranges) == (ranges[0], ranges[2])
    assert divide(ranges, min_partitions=2) == (ranges[0], ranges[2])
    assert divide([]) == divide([], 5, 5) == ()


def test_no_task_is_larger_than_allowed() -> None:
    """No task exceeds the limit, and the tasks of a partition are of about equal size."""
    assert divide([offsets(0, 100, 110)], max_records_per_partition=4) == (
        offsets(0, 100, 103),
        offsets(0, 103, 106),
        offsets(0, 106, 110),
    )


def test_large_partitions_are_divided_by_their_share() -> None:
    """Large partitions are divided by their share; small ones are not."""
    ranges = [offsets(0, 0, 1000), offsets(1, 0, 10), offsets(2, 0, 10), offsets(3, 0, 10)]
    pieces = divide(ranges, min_partitions=10)
    assert len(pieces) == 10
    assert pieces[-3:] == tuple(ranges[1:])


def test_there_are_never_more_tasks_than_messages() -> None:
    """There are never more tasks than messages; each then has one."""
    assert divide([offsets(0, 5, 8)], min_partitions=2**31 - 1) == (
        offsets(0, 5, 6),
        offsets(0, 6, 7),
        offsets(0, 7, 8),
    )


def test_too_many_tasks_are_refused() -> None:
    """Options that would create too many tasks are refused before they are created."""
    whole = [offsets(0, 0, 10 * MAX_TASKS)]
    with pytest.raises(ConfigError, match="maxRecordsPerPartition is 1: one batch would have"):
        divide(whole, max_records_per_partition=1)
    with pytest.raises(ConfigError, match="minPartitions is 2147483647: one batch would have"):
        divide(whole, min_partitions=2**31 - 1)


def test_a_batch_takes_from_each_partition_by_its_share() -> None:
    """A batch takes from each partition by its share, at least one message each.

    A partition whose start is unknown is not limited.
    """
    t = [TopicPartition("t", number) for number in range(4)]
    start = {t[0]: 0, t[1]: 100, t[2]: 5}
    latest = {t[0]: 1000, t[1]: 101, t[2]: 5, t[3]: 77}
    assert rate_limit(start, latest, 100) == {t[0]: 99, t[1]: 101, t[2]: 5, t[3]: 77}
    assert rate_limit(start, latest, 10**6) == latest
