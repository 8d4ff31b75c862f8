"""Series of log ends and commits: what is kept, and what follows from it."""

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
from zkconsumer.status.set_back import CLOCK_SET_BACK_MS

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
    """Between two samples a log is assumed to grow evenly; after a pause, from the pause's end."""
    series = _log_ends((100, 1000), (200, 2000), (200, 4000), (200, 6000), (300, 7000))
    assert series.passed_ms(offset) == passing


def test_before_the_first_sample_the_log_grew_at_the_average_rate() -> None:
    """Before the first sample a log is assumed to grow at the average rate since then."""
    series = _log_ends((100, 1000), (110, 9000), (200, 11_000))
    assert series.passed_ms(90) == 0


def test_a_log_that_never_grew_bounds_the_time() -> None:
    """A log that never grew has no rate, and the first sample bounds the time."""
    series = _log_ends((100, 1000), (100, 2000), (100, 9000))
    assert series.passed_ms(90) == 1000
    assert series.passed_ms(100) is None


def test_one_sample_says_nothing() -> None:
    """One sample, or none, says nothing."""
    assert _log_ends((100, 1000)).passed_ms(50) is None
    assert _log_ends().passed_ms(50) is None


def test_a_truncated_log_drops_the_samples_that_it_lost() -> None:
    """When a log was truncated, or its topic recreated, the samples that it lost are dropped."""
    series = _log_ends((100, 1000), (200, 2000), (300, 3000), (150, 4000), (160, 5000))
    assert list(series) == [(100, 1000), (150, 4000), (160, 5000)]
    series.add(0, 6000)
    assert list(series) == [(0, 6000)]


def test_a_time_without_growth_takes_two_samples() -> None:
    """A time without growth takes two samples, however long it lasts."""
    series = _log_ends((5, 1), *((9, at_ms) for at_ms in range(10, 99)))
    assert list(series) == [(5, 1), (9, 10), (9, 98)]


def test_a_sample_that_is_not_newer_is_dropped() -> None:
    """A sample that is not newer is dropped, as the last one is repeated while a broker is down."""
    series = _log_ends((100, 1000), (200, 1000), (300, 900))
    assert list(series) == [(100, 1000)]


def test_beyond_the_limit_the_older_half_is_thinned_out() -> None:
    """Beyond the limit each second sample of the older half is dropped."""
    series = _log_ends(*((n, n * 10) for n in range(9)), limit=8)
    assert [log_end for log_end, _ in series] == [0, 2, 4, 5, 6, 7, 8]


def test_recent_log_ends_are_those_since_a_time() -> None:
    """Recent log ends are those since a time, inclusive."""
    series = _log_ends((1, 10), (2, 20), (3, 30))
    assert series.since(20) == (2, 3)
    assert series.since(31) == ()


def _commit(offset: int, seen_ms: int, committed_ms: int | None = None) -> CommittedOffset:
    return CommittedOffset(offset, "zookeeper", seen_ms, committed_ms=committed_ms)


def test_a_commit_is_new_by_its_time() -> None:
    """A commit is new if it has a later time, even with the same offset."""
    series = Commits()
    series.add(_commit(5, 1000, 900), 5)
    series.add(_commit(5, 2000, 900), 8)
    series.add(_commit(5, 3000, 2500), 9)
    assert list(series) == [CommitSample(5, 900, 0), CommitSample(5, 2500, 4)]


def test_without_times_only_another_offset_is_a_new_commit() -> None:
    """Without commit times only another offset is a new commit, at the time of its read."""
    series = Commits()
    for offset, seen_ms in ((5, 1000), (5, 2000), (7, 3000), (6, 4000)):
        series.add(_commit(offset, seen_ms), None)
    assert [(commit_sample.offset, commit_sample.at_ms) for commit_sample in series] == [
        (5, 1000),
        (7, 3000),
        (6, 4000),
    ]


def test_the_lag_of_the_first_commit_is_known_only_if_it_is_zero() -> None:
    """The first commit's lag is known only if it is zero: the commit may be days old."""
    behind, level = Commits(), Commits()
    behind.add(_commit(5, 1000, 900), 8)
    level.add(_commit(5, 1000, 900), 5)
    behind.add(_commit(6, 2000, 1900), 9)
    assert [commit_sample.lag for commit_sample in behind] == [None, 3]
    assert list(level) == [CommitSample(5, 900, 0)]


def test_a_commit_beyond_the_known_log_end_has_no_lag() -> None:
    """A commit beyond the last known log end has a lag of zero, as the log has grown since."""
    series = Commits()
    for offset in (5, 9):
        series.add(_commit(offset, offset), 5)
    assert [commit_sample.lag for commit_sample in series] == [0, 0]


def test_commit_times_never_go_back() -> None:
    """Commit times never go back, even if another storage's clock is behind."""
    series = Commits()
    series.add(_commit(5, 1000, 900), 5)
    series.add(_commit(7, 1000, 300), 8)
    assert [commit_sample.at_ms for commit_sample in series] == [900, 900]


def test_a_full_window_loses_its_first_commit() -> None:
    """A full window drops its first commit."""
    series = Commits(2)
    assert list(series) == []
    for n in (1, 2, 3):
        series.add(_commit(n, n), 9)
    assert list(series) == [CommitSample(2, 2, 7), CommitSample(3, 3, 6)]


def test_the_history_has_every_partition_and_drops_those_that_are_gone() -> None:
    """The history has each partition of topics and groups, and drops those that are gone."""
    history = History()
    other = TopicPartition("u", 1)
    both = group_of(
        GroupPartition(TP, committed=(_commit(3, 10, 5),), log_end=4),
        GroupPartition(other, committed=(_commit(3, 10, 5),), log_end=4),
    )
    history.record(snapshot_of(both, at_ms=10, log_ends={TP: 4, other: 4}))
    history.record(snapshot_of(both, at_ms=20, log_ends={TP: 5, other: 4}))
    assert history.commits(both.key).keys() == {TP, other}
    assert list(history.log_ends(TP) or ()) == [(4, 10), (5, 20)]
    remaining = group_of(GroupPartition(TP, log_end=5))
    history.record(snapshot_of(remaining, at_ms=30, log_ends={TP: 5}))
    assert history.log_ends(other) is None
    assert history.commits(remaining.key).keys() == {TP}
    history.record(snapshot_of(at_ms=40))
    assert history.commits(remaining.key) == {}


def test_a_clock_that_was_set_back_begins_a_new_history() -> None:
    """When the clock was set back a new history begins, or nothing would be newer for a while."""
    back_ms = CLOCK_SET_BACK_MS
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
    assert [at_ms for _, at_ms in history.log_ends(TP) or ()] == [3, 4, 5]
    assert [commit.at_ms for commit in history.commits(group.key)[TP]] == [3, 4, 5]


def test_a_look_that_is_published_early_begins_no_new_history() -> None:
    """A look that is published before an earlier reading does not begin a new history."""
    history = History()
    for end, at_ms in ((4, 10), (6, 30), (5, 20), (8, 40)):
        history.record(snapshot_of(at_ms=at_ms, log_ends={TP: end}))
    assert list(history.log_ends(TP) or ()) == [(4, 10), (6, 30), (8, 40)]


def test_a_partition_whose_log_end_is_unknown_keeps_its_series() -> None:
    """A partition whose log end is unknown, as while a broker is down, keeps its series."""
    history = History()
    history.record(snapshot_of(at_ms=10, log_ends={TP: 4}))
    unknown = PartitionStatus(topic_partition=TP, leader=None)
    topic = TopicStatus(name="t", seen_ms=20, partitions=(unknown,))
    history.record(replace(snapshot_of(at_ms=20), topics=(topic,)))
    assert list(history.log_ends(TP) or ()) == [(4, 10)]


def test_a_log_end_without_its_time_is_no_sample() -> None:
    """A log end without a time is no sample."""
    timeless = PartitionStatus(topic_partition=TP, leader=0, log_end=4)
    topic = TopicStatus(name="t", seen_ms=20, partitions=(timeless,))
    history = History()
    history.record(replace(snapshot_of(at_ms=20), topics=(topic,)))
    assert history.log_ends(TP) is None


def test_zookeepers_times_are_converted_to_our_clock() -> None:
    """ZooKeeper's commit times are converted to our clock; those of brokers are not."""
    group = group_of(
        GroupPartition(TP, committed=(CommittedOffset(1, "zookeeper", 0, 1000),)),
        GroupPartition(TopicPartition("t", 1), committed=(CommittedOffset(1, "kafka", 0, 1000),)),
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
