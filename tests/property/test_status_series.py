"""What holds for every series of log ends and commits."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.status.burrow import BurrowStatus, partition_status
from zkconsumer.status.model import CommittedOffset
from zkconsumer.status.series import Commits, CommitSample, LogEndSeries

growth = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 10_000)), min_size=1, max_size=200)
lags = st.none() | st.integers(0, 30)
windows = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 99), lags), min_size=1, max_size=10)


def _grown(steps: list[tuple[int, int]], limit: int) -> tuple[LogEndSeries, list[tuple[int, int]]]:
    series, truth = LogEndSeries(limit), []
    log_end = at_ms = 0
    for more, later_ms in steps:
        log_end, at_ms = log_end + more, at_ms + later_ms
        series.add(log_end, at_ms)
        truth.append((log_end, at_ms))
    return series, truth


@given(growth, st.integers(4, 12))
def test_a_series_is_ordered_and_limited_and_reaches_back_to_the_start(
    steps: list[tuple[int, int]], limit: int
) -> None:
    """Thinning keeps the first and the last sample, and invents none."""
    series, truth = _grown(steps, limit)
    kept = list(series)
    assert len(kept) <= limit
    assert set(kept) <= set(truth)
    assert (kept[0], kept[-1]) == (truth[0], truth[-1])
    assert all(a[0] <= b[0] and a[1] < b[1] for a, b in pairwise(kept))


@given(growth, st.integers(4, 250), st.integers(-20, 3000))
def test_the_time_of_an_offset_lies_between_the_samples_around_it(
    steps: list[tuple[int, int]], limit: int, offset: int
) -> None:
    """It lies between neighbouring samples, of all that were seen if none was thinned out."""
    series, truth = _grown(steps, limit)
    passing = series.passed_ms(offset)
    kept = list(series)
    if len(kept) < 2 or offset >= truth[-1][0]:
        assert passing is None
        return
    assert passing is not None
    seen = truth if limit >= len(truth) else kept
    longer = min(at_ms for log_end, at_ms in seen if log_end > offset)
    assert passing <= longer
    reached = [at_ms for log_end, at_ms in seen if log_end <= offset]
    if reached:
        assert passing >= max(reached)


@given(growth, st.integers(4, 20), st.integers(-20, 3000), st.integers(0, 50))
def test_later_offsets_are_never_passed_earlier(
    steps: list[tuple[int, int]], limit: int, offset: int, more: int
) -> None:
    """So a larger lag is never shorter in time."""
    series, _ = _grown(steps, limit)
    earlier, later = series.passed_ms(offset), series.passed_ms(offset + more)
    if earlier is not None and later is not None:
        assert earlier <= later


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 90))), st.integers(2, 6))
def test_a_window_holds_the_last_commits_in_order(
    commits: list[tuple[int, int]], limit: int
) -> None:
    """Neighbours differ, times never decrease, and the last commit is the last one kept."""
    series = Commits(limit)
    for seen_ms, (offset, committed_ms) in enumerate(commits):
        series.add(CommittedOffset(offset, "kafka", seen_ms, committed_ms=committed_ms), 30)
    held = list(series)
    assert len(held) <= limit
    assert all(a.at_ms <= b.at_ms and a[:2] != b[:2] for a, b in pairwise(held))
    assert [commit_sample.offset for commit_sample in held[-1:]] == [
        offset for offset, _ in commits[-1:]
    ]


@given(
    windows,
    st.lists(st.integers(0, 120), max_size=5),
    st.integers(0, 40),
    st.integers(0, 2000),
)
def test_a_status_keeps_its_promises(
    window: list[tuple[int, int, int | None]],
    log_ends: list[int],
    current_lag: int,
    later_ms: int,
) -> None:
    """Each status implies what must be true of a partition, whatever led to it."""
    at_ms, commits = 0, []
    for wait_ms, offset, lag in window:
        at_ms += wait_ms
        commits.append(CommitSample(offset, at_ms, lag))
    now_ms = at_ms + later_ms
    status = partition_status(commits, log_ends, current_lag, now_ms, least_span_ms=50)
    silent = later_ms > max(50, commits[-1].at_ms - commits[0].at_ms)
    falls = any(b.offset < a.offset for a, b in pairwise(commits))
    if current_lag == 0:
        assert status is BurrowStatus.OK
    if status is BurrowStatus.STOP:
        assert silent
    elif silent and current_lag > 0:
        assert min(log_ends) <= commits[-1].offset
    if status is BurrowStatus.REWIND:
        assert falls
    if status in {BurrowStatus.STALL, BurrowStatus.WARN}:
        assert all(commit.lag is None or commit.lag > 0 for commit in commits)
    if status is BurrowStatus.STALL:
        assert not falls
        assert commits[0].offset == commits[-1].offset
    assert status not in {BurrowStatus.NOTFOUND, BurrowStatus.ERR}
