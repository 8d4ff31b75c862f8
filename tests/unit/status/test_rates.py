"""Rates of writing and reading, from snapshots of a group that commits at intervals."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupStatus,
    PartitionStatus,
    TopicStatus,
)
from zkconsumer.status.rates import WINDOW_MS, GroupRates, RateHistory
from zkconsumer.status.set_back import CLOCK_SET_BACK_MS

KEY = GroupKey(GroupKind.ZOOKEEPER, "group")
TP = TopicPartition("topic", 0)


def snapshot(at_ms: int, end: int, committed: int) -> ClusterSnapshot:
    """Return a cluster of one topic and one group."""
    partition = GroupPartition(
        TP, committed=(CommittedOffset(committed, "zookeeper", at_ms),), log_end=end
    )
    status = PartitionStatus(
        topic_partition=TP, leader=0, replicas=(0,), in_sync=(0,), log_end=end, offsets_at_ms=at_ms
    )
    return ClusterSnapshot(
        taken_ms=at_ms,
        zookeeper_connect="zk",
        topics=(TopicStatus(name="topic", seen_ms=at_ms, partitions=(status,)),),
        groups={
            KEY: GroupStatus(
                group_id="group", kind=KEY.kind, seen_ms=at_ms, partitions=(partition,)
            )
        },
    )


def watched(
    seconds: int, *, written: int, read: int, commit_s: int = 1, until_s: int | None = None
) -> RateHistory:
    """Return the history of a group that is read every 5 s, and commits each ``commit_s``."""
    history = RateHistory()
    for at_s in range(0, seconds + 1, 5):
        committed_s = min(at_s, seconds if until_s is None else until_s) // commit_s * commit_s
        end = 1_000_000 + at_s * written
        history.record(snapshot(at_s * 1_000, end, committed_s * read))
    return history


@given(
    written=st.integers(0, 1_000),
    read=st.integers(1, 1_000),
    commit_s=st.sampled_from([1, 5, 10, 30, 60, 100]),
    seconds=st.integers(WINDOW_MS // 1_000, 2_000),
)
def test_the_rate_is_exact_however_rarely_the_group_commits(
    written: int, read: int, commit_s: int, seconds: int
) -> None:
    """The rate is exact however rarely the group commits: it counts from commit to commit."""
    history = watched(seconds, written=written, read=read, commit_s=commit_s)
    rates = history.rates(KEY)
    assert rates.written is not None
    assert rates.read is not None
    assert abs(rates.written - written) < 1e-6
    assert abs(rates.read - read) < 1e-6 * read
    cluster = history.cluster({KEY: rates})
    assert cluster == GroupRates(written=rates.written, read=rates.read, moved_ms=rates.moved_ms)


def test_a_group_that_stops_reads_nothing() -> None:
    """After a group stops its rate falls to zero, and the time of its last move is kept."""
    late = watched(400, written=10, read=10, until_s=300).rates(KEY)
    assert late.read is not None
    assert 0 < late.read < 10
    stopped = watched(1_000, written=10, read=10, until_s=300).rates(KEY)
    assert (stopped.written, stopped.read, stopped.moved_ms) == (10, 0, 300_000)


def test_the_time_to_catch_up_follows_from_the_rates() -> None:
    """The time to catch up follows from the difference of the rates, if it is positive."""
    assert GroupRates(written=100, read=150).caught_up_ms(3_000) == 60_000
    assert GroupRates(written=100, read=100).caught_up_ms(3_000) is None
    assert GroupRates(written=100, read=100).caught_up_ms(0) == 0
    assert GroupRates().caught_up_ms(0) is None
    assert GroupRates(written=1, read=2).caught_up_ms(None) is None


def test_one_snapshot_gives_no_rate() -> None:
    """One snapshot gives no rate; nor do partitions that come and go, or a clock that goes back."""
    history = RateHistory()
    assert history.rates(KEY) == GroupRates()
    history.record(snapshot(10_000, 5, 5))
    assert history.rates(KEY) == GroupRates()
    history.record(snapshot(1_000, 500, 500))
    assert history.rates(KEY).written is None
    history.record(ClusterSnapshot(taken_ms=20_000, zookeeper_connect="zk"))
    assert history.rates(KEY) == GroupRates()


def test_a_clock_that_was_set_back_begins_new_rates() -> None:
    """When the clock was set back rates start again, or a stopped group would count as moving."""
    history = watched(10, written=2, read=2)
    assert history.rates(KEY).moved_ms == 10_000
    for at_ms in (10_000, 15_000):
        now = snapshot(at_ms, 1_000_000 + 2 * at_ms // 1_000, 20)
        history.record(replace(now, clock_ahead_ms=-CLOCK_SET_BACK_MS))
    assert history.rates(KEY) == GroupRates(written=2, read=0)


def test_few_samples_are_kept_of_many_snapshots() -> None:
    """The number of samples is bounded, however often a snapshot is taken."""
    history = RateHistory()
    for at_s in range(3_000):
        history.record(snapshot(at_s * 1_000, at_s, 7))
    assert len(history._groups[KEY]._samples) <= WINDOW_MS // 2_000
    assert history.rates(KEY).written == 1


def test_a_lag_that_shrinks_since_its_peak_is_caught_up() -> None:
    """A lag that shrinks since its peak is caught up, though the average rates are equal."""
    history, rates = RateHistory(), GroupRates()
    for at_s in range(0, 305, 5):
        lag = 100 + max(0, 150 - abs(at_s - 150)) * 40
        history.record(snapshot(at_s * 1_000, 1_000_000 + at_s * 50, 1_000_000 + at_s * 50 - lag))
        rates = history.rates(KEY)
        if at_s == 180:  # half a minute proves nothing
            assert rates.caught_up_ms(lag) is None
        if at_s == 240:
            assert rates.caught_up_ms(lag) == lag * 1_000 // 40
    assert rates.written == 50
    assert round(rates.read or 0) == 51
    assert rates.caught_up_ms(100) == 2_500
