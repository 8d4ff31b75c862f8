"""When the next record of each group was written: what is looked up, kept and dropped."""

from collections.abc import Mapping

from tests.support.status import group_of, snapshot_of
from zkconsumer.model import TopicPartition
from zkconsumer.status.lag import TimeLag, group_lag
from zkconsumer.status.model import CommittedOffset, GroupPartition, GroupStatus
from zkconsumer.status.reading.next_records import TimesMemory, partitions_of
from zkconsumer.status.series import History

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def group_at(offsets: Mapping[TopicPartition, int], group_id: str = "g") -> GroupStatus:
    """Return a group at these offsets of logs that hold 10 to 100."""
    return group_of(
        *(
            GroupPartition(
                tp, committed=(CommittedOffset(at, "zookeeper", 0),), log_start=10, log_end=100
            )
            for tp, at in offsets.items()
        ),
        group_id=group_id,
    )


def test_only_offsets_with_records_after_them_are_looked_up() -> None:
    """Only committed offsets within the log, with records after them, are looked up."""
    group = group_at({T0: 40, T1: 100, T2: 9})
    bare = group_of(GroupPartition(T0, log_start=0, log_end=9))
    assert list(partitions_of(group)) == [(T0, 40)]
    assert list(partitions_of(bare)) == []


def test_each_offset_is_looked_up_once() -> None:
    """Each offset is looked up once, and those that have waited longest come first."""
    memory = TimesMemory()
    places = [(T0, 40), (T1, 40), (T2, 40)]
    assert memory.unknown(places, 0, 2) == places[:2]
    memory.learn(places[:2], {(T0, 40): 7, (T1, 40): 8}, 0)
    assert memory.unknown(places, 0, 2) == [(T2, 40)]
    assert memory.unknown([(T0, 41), (T2, 40)], 5, 2) == [(T2, 40), (T0, 41)]


def test_a_log_without_timestamps_is_not_looked_up_for_a_while() -> None:
    """A log without timestamps is not looked up again for a while: it costs some kilobytes."""
    memory = TimesMemory()
    memory.learn([(T0, 40)], {}, 1_000)
    assert memory.unknown([(T0, 40), (T0, 41)], 30_999, 9) == []
    assert memory.unknown([(T0, 41)], 31_000, 9) == [(T0, 41)]


def test_the_snapshot_has_the_times_of_each_group() -> None:
    """The snapshot has the times for each group whose offset was looked up."""
    memory = TimesMemory()
    memory.learn([(T0, 40)], {(T0, 40): 3_000}, 0)
    seen = snapshot_of(group_at({T0: 40, T1: 40}), group_at({T0: 50}, "other"), at_ms=5_000)
    filled = memory.filled(seen)
    lags = [group_lag(group, History(), filled.taken_ms) for group in filled.groups.values()]
    assert [partition.time for lag in lags for partition in lag.partitions] == [
        TimeLag(2_000),
        None,
        None,
    ]
    assert memory.filled(seen, [group_at({}, "other").key]) == seen


def test_times_that_no_group_needs_are_dropped() -> None:
    """Times of offsets at which no group is any more are dropped."""
    memory = TimesMemory()
    memory.learn([(T0, 40), (T1, 40)], {(T0, 40): 1, (T1, 40): 2}, 0)
    memory.keep_only([(T1, 40)])
    assert memory.unknown([(T0, 40), (T1, 40)], 0, 9) == [(T0, 40)]
