"""The lag of a group, in records and in time."""

import pytest

from tests.support.status import group_of, snapshot_of
from zkconsumer.model import TopicPartition
from zkconsumer.status.lag import (
    OffsetPlacement,
    TimeLag,
    group_lag,
    placement_of,
    records_behind,
    time_behind,
)
from zkconsumer.status.model import CommittedOffset, GroupKind, GroupPartition, Storage
from zkconsumer.status.series import History, LogEndSeries

TP = TopicPartition("t", 0)


def _partition(
    offset: int | None,
    log_end: int | None,
    *,
    log_start: int | None = 0,
    log_at_ms: int | None = 10,
    storage: Storage = "zookeeper",
) -> GroupPartition:
    committed = () if offset is None else (CommittedOffset(offset, storage, 10),)
    return GroupPartition(
        TP, committed=committed, log_start=log_start, log_end=log_end, log_at_ms=log_at_ms
    )


@pytest.mark.parametrize(
    ("offset", "log_end", "lag"),
    [(3, 10, 7), (10, 10, 0), (11, 10, 0), (None, 10, None), (3, None, None)],
)
def test_a_lag_is_never_negative_and_unknown_without_both_ends(
    offset: int | None, log_end: int | None, lag: int | None
) -> None:
    """A commit beyond the log end is a lag of 0; without a commit, or a log end, it is unknown."""
    assert records_behind(GroupKind.ZOOKEEPER, _partition(offset, log_end)) == lag


@pytest.mark.parametrize(
    ("partition", "placement"),
    [
        (_partition(5, 10), OffsetPlacement.WITHIN),
        (_partition(10, 10), OffsetPlacement.WITHIN),
        (_partition(5, 10, log_start=5), OffsetPlacement.WITHIN),
        (_partition(4, 10, log_start=5), OffsetPlacement.BEFORE_START),
        (_partition(4, None, log_start=5), OffsetPlacement.BEFORE_START),
        (_partition(11, 10), OffsetPlacement.BEYOND_END),
        (_partition(11, 10, log_at_ms=9), OffsetPlacement.UNKNOWN),
        (_partition(11, 10, log_at_ms=None), OffsetPlacement.UNKNOWN),
        (_partition(5, None), OffsetPlacement.UNKNOWN),
        (_partition(5, None, log_start=None), OffsetPlacement.UNKNOWN),
        (_partition(None, 10), OffsetPlacement.UNKNOWN),
        (_partition(5, 10, log_start=None), OffsetPlacement.WITHIN),
    ],
)
def test_where_an_offset_stands_in_its_log(
    partition: GroupPartition, placement: OffsetPlacement
) -> None:
    """An offset counts as beyond the log end only if the log was read after the offset."""
    assert placement_of(GroupKind.ZOOKEEPER, partition) is placement


def test_the_larger_of_both_storages_counts_for_a_zookeeper_group() -> None:
    """A ZooKeeper group has the larger offset of both storages, a coordinator's group Kafka's."""
    zookeeper, kafka = CommittedOffset(5, "zookeeper", 1), CommittedOffset(7, "kafka", 2)
    both = GroupPartition(TP, committed=(zookeeper, kafka))
    assert both.effective(GroupKind.ZOOKEEPER) is kafka
    assert both.effective(GroupKind.COORDINATOR) is kafka
    ahead = GroupPartition(TP, committed=(zookeeper._replace(offset=8), kafka))
    assert ahead.effective(GroupKind.ZOOKEEPER) == zookeeper._replace(offset=8)
    assert ahead.effective(GroupKind.COORDINATOR) is kafka
    even = GroupPartition(TP, committed=(kafka, zookeeper._replace(offset=7)))
    assert even.effective(GroupKind.ZOOKEEPER) == zookeeper._replace(offset=7)
    alone = GroupPartition(TP, committed=(zookeeper,))
    assert alone.effective(GroupKind.ZOOKEEPER) is zookeeper
    assert alone.effective(GroupKind.COORDINATOR) is None
    assert GroupPartition(TP).effective(GroupKind.ZOOKEEPER) is None


def test_no_lag_is_no_time_lag() -> None:
    """A lag of no records is a time lag of 0, with or without samples."""
    assert time_behind(10, 0, None, 99) == TimeLag(0)
    assert time_behind(10, None, LogEndSeries(), 99) is None
    assert time_behind(10, 5, None, 99) is None
    assert time_behind(10, 5, LogEndSeries(), 99) is None


def test_time_is_counted_from_now_and_never_negative() -> None:
    """A time lag counts up to now and is never negative, though samples may be newer."""
    log_ends = LogEndSeries()
    log_ends.add(0, 1000)
    log_ends.add(100, 2000)
    assert time_behind(50, 50, log_ends, 4000) == TimeLag(2500, estimated=True)
    assert time_behind(50, 50, log_ends, 1400) == TimeLag(0, estimated=True)
    assert time_behind(-100, 200, log_ends, 4000) == TimeLag(4000, estimated=True)


def test_a_group_is_as_late_as_its_worst_partition() -> None:
    """A group's lag is its worst partition's: most records and longest time may be two of them."""
    slow, busy, bare = (TopicPartition("t", n) for n in range(3))
    history = History()
    group = group_of(
        GroupPartition(slow, committed=(CommittedOffset(5, "zookeeper", 0),), log_end=10),
        GroupPartition(busy, committed=(CommittedOffset(500, "zookeeper", 0),), log_end=1000),
        GroupPartition(bare, log_end=7),
    )
    for at_ms, grown in ((1000, 0), (2000, 0), (3000, 5)):
        ends = {slow: 5 + grown, busy: 200 * grown, bare: 7}
        history.record(snapshot_of(group, at_ms=at_ms, log_ends=ends))
    lag = group_lag(group, history, 4000)
    assert (lag.total, lag.unknown) == (505, 1)
    assert lag.worst is lag.partitions[1]
    assert lag.worst_time is lag.partitions[0]
    assert [partition.time for partition in lag.partitions] == [
        TimeLag(2000, True),
        TimeLag(1500, True),
        None,
    ]


def test_a_group_without_commits_has_no_lag() -> None:
    """The lag of a group without commits is None, not zero."""
    lag = group_lag(group_of(GroupPartition(TP)), History(), 0)
    assert (lag.total, lag.worst, lag.worst_time, lag.unknown) == (None, None, None, 1)
