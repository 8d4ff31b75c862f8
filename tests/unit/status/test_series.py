"""What is kept of log ends and commits, and what is told from it."""

from dataclasses import replace

import pytest

from tests.support.status import group_of, snapshot_of
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    CommittedOffset,
    GroupPartition,
    GroupStatus,
    PartitionStatus,
    Seen,
    TopicStatus,
)
from zkconsumer.status.series import Commits, CommitSample, History, LogEndSeries
from zkconsumer.status.set_back import SET_BACK_MS

TP = TopicPartition("t", 0)


def _log_ends(*samples: tuple[int, int], limit: int = 60) -> LogEndSeries:
    series = LogEndSeries(limit)
    for log_end, at_ms in samples:
        series.add(log_end, at_ms)
    return series


@pytest.mark.parametrize(
    ("offset", "passing"),
    [
        (100, 1000),
        (150, 1500),
        (199, 1990),
        (200, 6000),
        (201, 6010),
        (299, 6990),
        (300, None),
        (301, None),
        (0, -2000),
    ],
)
def test_between_two_samples_the_log_grew_evenly(offset: int, passing: int | None) -> None:
    """And where it stood still, the record that ended it came when it went on."""
    series = _log_ends((100, 1000), (200, 2000), (200, 4000), (200, 6000), (300, 7000))
    assert series.passed_ms(offset) == passing


def test_before_the_first_sample_the_log_grew_as_it_did_since() -> None:
    """From the first sample to the last, whatever lies between."""
    series = _log_ends((100, 1000), (110, 9000), (200, 11_000))
    assert series.passed_ms(90) == 0


def test_a_log_that_never_grew_says_only_that_it_is_older() -> None:
    """No growth, no rate: the first sample bounds it."""
    series = _log_ends((100, 1000), (100, 2000), (100, 9000))
    assert series.passed_ms(90) == 1000
    assert series.passed_ms(100) is None


def test_one_sample_says_nothing() -> None:
    """Neither does none."""
    assert _log_ends((100, 1000)).passed_ms(50) is None
    assert _log_ends().passed_ms(50) is None


def test_a_log_that_was_cut_forgets_what_it_lost() -> None:
    """Unclean elections cut logs; a topic made anew starts at 0."""
    series = _log_ends((100, 1000), (200, 2000), (300, 3000), (150, 4000), (160, 5000))
    assert list(series) == [(100, 1000), (150, 4000), (160, 5000)]
    series.add(0, 6000)
    assert list(series) == [(0, 6000)]


def test_of_a_time_without_growth_both_ends_are_kept() -> None:
    """However long it is looked at, it takes two samples."""
    series = _log_ends((5, 1), *((9, at_ms) for at_ms in range(10, 99)))
    assert list(series) == [(5, 1), (9, 10), (9, 98)]


def test_what_is_not_newer_is_dropped() -> None:
    """The last good value is shown again while a broker is away."""
    series = _log_ends((100, 1000), (200, 1000), (300, 900))
    assert list(series) == [(100, 1000)]


def test_too_many_samples_make_the_older_half_sparse() -> None:
    """The first and the newer half stay."""
    series = _log_ends(*((n, n * 10) for n in range(9)), limit=8)
    assert [sample.log_end for sample in series] == [0, 2, 4, 5, 6, 7, 8]


def test_recent_log_ends_are_those_since_a_time() -> None:
    """That time included."""
    series = _log_ends((1, 10), (2, 20), (3, 30))
    assert series.since(20) == (2, 3)
    assert series.since(31) == ()


@pytest.mark.parametrize("limit", [3, 0])
def test_series_need_room(limit: int) -> None:
    """Less could not be thinned out."""
    with pytest.raises(ValueError, match="room for 4"):
        LogEndSeries(limit)
    with pytest.raises(ValueError, match="room for 2"):
        Commits(1)


def _commit(offset: int, seen_ms: int, committed_ms: int | None = None) -> CommittedOffset:
    return CommittedOffset(offset, "zookeeper", seen_ms, committed_ms=committed_ms)


def test_a_commit_is_new_by_its_time() -> None:
    """The same offset again, later, is one more commit; the same one seen again is none."""
    series = Commits()
    series.add(_commit(5, 1000, 900), 5)
    series.add(_commit(5, 2000, 900), 8)
    series.add(_commit(5, 3000, 2500), 9)
    assert list(series) == [CommitSample(5, 900, 0), CommitSample(5, 2500, 4)]


def test_without_times_only_another_offset_is_a_new_commit() -> None:
    """It counts as made when it was seen."""
    series = Commits()
    for offset, seen_ms in ((5, 1000), (5, 2000), (7, 3000), (6, 4000)):
        series.add(_commit(offset, seen_ms), None)
    assert [(commit_sample.offset, commit_sample.at_ms) for commit_sample in series] == [
        (5, 1000),
        (7, 3000),
        (6, 4000),
    ]


def test_the_lag_of_the_first_commit_is_known_only_if_it_is_zero() -> None:
    """It can be days old, and the log much shorter then."""
    behind, level = Commits(), Commits()
    behind.add(_commit(5, 1000, 900), 8)
    level.add(_commit(5, 1000, 900), 5)
    behind.add(_commit(6, 2000, 1900), 9)
    assert [commit_sample.lag for commit_sample in behind] == [None, 3]
    assert level.last == CommitSample(5, 900, 0)


def test_a_commit_beyond_the_log_end_that_was_seen_has_no_lag() -> None:
    """The log has grown since."""
    series = Commits()
    for offset in (5, 9):
        series.add(_commit(offset, offset), 5)
    assert [commit_sample.lag for commit_sample in series] == [0, 0]


def test_times_never_fall() -> None:
    """Another storage can hold an offset with another clock's time."""
    series = Commits()
    series.add(_commit(5, 1000, 900), 5)
    series.add(_commit(7, 1000, 300), 8)
    assert [commit_sample.at_ms for commit_sample in series] == [900, 900]


def test_a_full_window_loses_its_first_commit() -> None:
    """And says the last."""
    series = Commits(2)
    assert series.last is None
    for n in (1, 2, 3):
        series.add(_commit(n, n), 9)
    assert [commit_sample.offset for commit_sample in series] == [2, 3]
    assert series.last == CommitSample(3, 3, 6)


def test_history_takes_up_every_partition_and_forgets_those_that_are_gone() -> None:
    """Of topics and of groups alike."""
    history = History()
    other = TopicPartition("u", 1)
    both = group_of(
        GroupPartition(TP, committed=(_commit(3, 10, 5),), log_end=4),
        GroupPartition(other, committed=(_commit(3, 10, 5),), log_end=4),
    )
    history.record(snapshot_of(both, at_ms=10, log_ends={TP: 4, other: 4}))
    history.record(snapshot_of(both, at_ms=20, log_ends={TP: 5, other: 4}))
    assert history.commits(both.key).keys() == {TP, other}
    assert [tuple(sample) for sample in history.log_ends(TP) or ()] == [(4, 10), (5, 20)]
    one = group_of(GroupPartition(TP, log_end=5))
    history.record(snapshot_of(one, at_ms=30, log_ends={TP: 5}))
    assert history.log_ends(other) is None
    assert history.commits(one.key).keys() == {TP}
    history.record(snapshot_of(at_ms=40))
    assert history.commits(one.key) == {}


def test_a_clock_that_was_set_back_begins_a_new_history() -> None:
    """Else nothing would be newer than the last, for as long as it was set back."""
    back_ms = SET_BACK_MS
    history = History()

    def record(offset: int, at_ms: int, set_back_ms: int) -> GroupStatus:
        committed = CommittedOffset(offset, "kafka", at_ms)
        group = group_of(GroupPartition(TP, committed=(committed,), log_end=2 * offset))
        log_ends = {TP: 2 * offset}
        history.record(snapshot_of(group, at_ms=at_ms, log_ends=log_ends, set_back_ms=set_back_ms))
        return group

    for step in range(3):
        record(step, back_ms + step, 0)
    group, *_ = [record(step, step, back_ms) for step in range(3, 6)]
    assert [sample.at_ms for sample in history.log_ends(TP) or ()] == [3, 4, 5]
    assert [commit.at_ms for commit in history.commits(group.key)[TP]] == [3, 4, 5]


def test_a_look_that_overtook_a_reading_begins_no_new_history() -> None:
    """They are published in the order in which they end."""
    history = History()
    for end, at_ms in ((4, 10), (6, 30), (5, 20), (8, 40)):
        history.record(snapshot_of(at_ms=at_ms, log_ends={TP: end}))
    assert [tuple(sample) for sample in history.log_ends(TP) or ()] == [(4, 10), (6, 30), (8, 40)]


def test_a_partition_whose_log_is_not_known_keeps_its_series() -> None:
    """A broker is away for a while."""
    history = History()
    history.record(snapshot_of(at_ms=10, log_ends={TP: 4}))
    unknown = PartitionStatus(topic_partition=TP, leader=None)
    topic = TopicStatus(name="t", seen_ms=20, partitions=(unknown,))
    history.record(replace(snapshot_of(at_ms=20), topics=(topic,)))
    assert [tuple(sample) for sample in history.log_ends(TP) or ()] == [(4, 10)]


def test_a_log_end_without_its_time_is_no_sample() -> None:
    """Nothing could be told from it."""
    timeless = PartitionStatus(topic_partition=TP, leader=0, log_end=4)
    topic = TopicStatus(name="t", seen_ms=20, partitions=(timeless,))
    history = History()
    history.record(replace(snapshot_of(at_ms=20), topics=(topic,)))
    assert history.log_ends(TP) is None


def test_zookeepers_times_are_told_by_our_clock() -> None:
    """Those of brokers are not: their clocks were not compared."""
    group = group_of(
        GroupPartition(TP, committed=(CommittedOffset(1, "zookeeper", 0, "", 1000),)),
        GroupPartition(
            TopicPartition("t", 1), committed=(CommittedOffset(1, "kafka", 0, "", 1000),)
        ),
    )
    history = History()
    skewed = replace(snapshot_of(group, at_ms=0), clock_skew_ms=Seen(400, at_ms=0))
    history.record(skewed)
    times = [
        commit_sample.at_ms
        for series in history.commits(group.key).values()
        for commit_sample in series
    ]
    assert times == [600, 1000]
