"""When the next record of each group was written: what is asked, kept and forgotten."""

from collections.abc import Mapping

from tests.support.status import group_of, snapshot_of
from zkconsumer.model import TopicPartition
from zkconsumer.status.lag import TimeLag, group_lag
from zkconsumer.status.model import CommittedOffset, GroupPartition, GroupStatus
from zkconsumer.status.reading.next_records import TimesMemory, partitions_of
from zkconsumer.status.series import History

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def group_at(offsets: Mapping[TopicPartition, int], group_id: str = "g") -> GroupStatus:
    """A group at these offsets of logs that hold 10 to 100."""
    return group_of(
        *(
            GroupPartition(
                tp, committed=(CommittedOffset(at, "zookeeper", 0),), log_start=10, log_end=100
            )
            for tp, at in offsets.items()
        ),
        group_id=group_id,
    )


def test_where_there_is_something_to_read() -> None:
    """Not at the end of the log, nor before its beginning, nor where nothing is committed."""
    group = group_at({T0: 40, T1: 100, T2: 9})
    bare = group_of(GroupPartition(T0, log_start=0, log_end=9))
    assert list(partitions_of(group)) == [(T0, 40)]
    assert list(partitions_of(bare)) == []


def test_a_place_is_asked_about_once() -> None:
    """Of the others as many as can be asked about, those first that were waited for longest."""
    memory = TimesMemory()
    places = [(T0, 40), (T1, 40), (T2, 40)]
    assert memory.unknown(places, 0, 2) == places[:2]
    memory.learn(places[:2], {(T0, 40): 7, (T1, 40): 8}, 0)
    assert memory.unknown(places, 0, 2) == [(T2, 40)]
    assert memory.unknown([(T0, 41), (T2, 40)], 5, 2) == [(T2, 40), (T0, 41)]


def test_a_log_without_times_is_left_alone_for_a_while() -> None:
    """It costs some kilobytes each time; but records to come may have them."""
    memory = TimesMemory()
    memory.learn([(T0, 40)], {}, 1_000)
    assert memory.unknown([(T0, 40), (T0, 41)], 30_999, 9) == []
    assert memory.unknown([(T0, 41)], 31_000, 9) == [(T0, 41)]


def test_the_snapshot_says_it_to_everybody() -> None:
    """Exactly, for groups at other offsets of one partition as well; what is not known is not."""
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


def test_nobody_is_there_any_more() -> None:
    """So nothing is kept: memory is no larger than what groups have to read."""
    memory = TimesMemory()
    memory.learn([(T0, 40), (T1, 40)], {(T0, 40): 1, (T1, 40): 2}, 0)
    memory.keep_only([(T1, 40)])
    assert memory.unknown([(T0, 40), (T1, 40)], 0, 9) == [(T0, 40)]
