"""The skew between ZooKeeper's clock and ours, bounded by the times of nodes that others write."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import CommittedOffset, GroupKind, GroupPartition, GroupStatus, Seen
from zkconsumer.status.reading.clock_skew import WINDOW_MS, ClockSkew

TP = TopicPartition("t", 0)
START_MS = 1_000_000


def group(written_ms: int, seen_ms: int, offsets_ms: int | None = None) -> GroupStatus:
    """Return a group whose one offset was written at that time by ZooKeeper's clock."""
    entry = CommittedOffset(0, "zookeeper", offsets_ms or seen_ms, written_ms)
    return GroupStatus(
        group_id="g",
        kind=GroupKind.ZOOKEEPER,
        seen_ms=seen_ms,
        partitions=(GroupPartition(TP, committed=(entry,)),),
    )


def test_an_old_offset_says_nothing() -> None:
    """An old offset says nothing about the skew."""
    skew = ClockSkew()
    assert skew.seen() is None
    skew.note({}, {"g": group(START_MS - 5_000, START_MS)}, START_MS)
    assert skew.seen() is None


def test_an_offset_dated_after_its_read_bounds_the_skew() -> None:
    """An offset dated after it was read shows that ZooKeeper's clock is ahead, at least so far."""
    skew = ClockSkew()
    skew.note({}, {"g": group(START_MS + 700, START_MS)}, START_MS + 100)
    assert skew.seen() == Seen(600, START_MS + 100)


def test_an_offset_dated_before_the_former_read_bounds_the_skew() -> None:
    """An offset dated before the one that it replaced was read shows that the clock is behind."""
    skew = ClockSkew()
    before = {"g": group(START_MS - 9_000, START_MS)}
    skew.note({}, before, START_MS)
    skew.note(before, {"g": group(START_MS - 700, START_MS + 50)}, START_MS + 60)
    assert skew.seen() == Seen(-700, START_MS + 60)


def test_an_offset_written_during_a_read_says_nothing() -> None:
    """An offset may have been read as early as its group, and then says nothing."""
    skew = ClockSkew()
    before = {"g": group(START_MS - 9_000, START_MS, START_MS + 400)}
    skew.note({}, before, START_MS + 400)
    skew.note(before, {"g": group(START_MS + 100, START_MS + 1_000)}, START_MS + 1_000)
    assert skew.seen() == Seen(0, START_MS + 1_000)


def test_a_clock_that_was_set_back_replaces_the_bound() -> None:
    """After a clock was set, contradicting bounds are dropped, and any bound expires."""
    skew = ClockSkew()
    skew.note({}, {"g": group(START_MS + 700, START_MS)}, START_MS)
    before = {"g": group(START_MS, START_MS + 1_000)}
    skew.note(before, {"g": group(START_MS + 900, START_MS + 2_000)}, START_MS + 2_000)
    assert skew.seen() == Seen(-100, START_MS + 2_000)
    late_ms = START_MS + 2_001 + WINDOW_MS
    skew.note({}, {"g": group(START_MS, late_ms)}, late_ms)
    assert skew.seen() is None


def test_a_clock_that_was_set_forward_replaces_the_bound() -> None:
    """A clock that was set forward replaces the former bound, too."""
    skew = ClockSkew()
    before = {"g": group(START_MS - 9_000, START_MS)}
    skew.note(before, {"g": group(START_MS - 700, START_MS + 50)}, START_MS + 60)
    skew.note({}, {"g": group(START_MS + 600, START_MS + 90)}, START_MS + 100)
    assert skew.seen() == Seen(500, START_MS + 100)


@given(
    st.integers(-100_000, 100_000),
    st.lists(st.tuples(st.integers(1, 5_000), st.integers(0, 5_000)), min_size=1, max_size=20),
)
def test_the_skew_is_never_overestimated(skew_ms: int, steps: list[tuple[int, int]]) -> None:
    """The skew is never overestimated, and ends up as close as the commits allow."""
    skew = ClockSkew()
    now_ms = START_MS
    known = {"g": group(now_ms + skew_ms - 1, now_ms)}
    skew.note({}, known, now_ms)
    for wait_ms, rest_ms in steps:
        written_ms = now_ms + wait_ms + skew_ms
        now_ms += wait_ms + rest_ms
        read = {"g": group(written_ms, now_ms)}
        skew.note(known, read, now_ms)
        known = read
    seen = skew.seen()
    assert seen is not None
    assert abs(seen.value) <= abs(skew_ms)
    assert seen.value * skew_ms >= 0
    assert abs(skew_ms - seen.value) <= min(wait_ms + rest_ms for wait_ms, rest_ms in steps)
