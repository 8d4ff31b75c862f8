"""How far ZooKeeper's clock is from ours, from what others write."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import CommittedOffset, GroupKind, GroupPartition, GroupStatus, Seen
from zkconsumer.status.reading.clock_skew import WINDOW_MS, ClockSkew

TP = TopicPartition("t", 0)
START_MS = 1_000_000


def group(written_ms: int, seen_ms: int, offsets_ms: int | None = None) -> GroupStatus:
    """A group whose one offset was written at that time, by ZooKeeper's clock."""
    entry = CommittedOffset(0, "zookeeper", offsets_ms or seen_ms, "", written_ms)
    return GroupStatus(
        group_id="g",
        kind=GroupKind.ZOOKEEPER,
        seen_ms=seen_ms,
        partitions=(GroupPartition(TP, committed=(entry,)),),
    )


def test_nothing_tells() -> None:
    """An old offset may have been written by any clock."""
    skew = ClockSkew()
    assert skew.seen() is None
    skew.note({}, {"g": group(START_MS - 5_000, START_MS)}, START_MS)
    assert skew.seen() is None


def test_written_after_it_was_read() -> None:
    """ZooKeeper is ahead, at least so far."""
    skew = ClockSkew()
    skew.note({}, {"g": group(START_MS + 700, START_MS)}, START_MS + 100)
    assert skew.seen() == Seen(600, START_MS + 100)


def test_written_before_it_was_written_again() -> None:
    """ZooKeeper is behind, at least so far."""
    skew = ClockSkew()
    before = {"g": group(START_MS - 9_000, START_MS)}
    skew.note({}, before, START_MS)
    skew.note(before, {"g": group(START_MS - 700, START_MS + 50)}, START_MS + 60)
    assert skew.seen() == Seen(-700, START_MS + 60)


def test_written_again_while_the_offsets_were_read() -> None:
    """An offset may have been read as early as its group: that ZooKeeper is behind is not known."""
    skew = ClockSkew()
    before = {"g": group(START_MS - 9_000, START_MS, START_MS + 400)}
    skew.note({}, before, START_MS + 400)
    skew.note(before, {"g": group(START_MS + 100, START_MS + 1_000)}, START_MS + 1_000)
    assert skew.seen() == Seen(0, START_MS + 1_000)


def test_a_clock_that_was_set() -> None:
    """What contradicts all before counts from now on; and nothing counts for ever."""
    skew = ClockSkew()
    skew.note({}, {"g": group(START_MS + 700, START_MS)}, START_MS)
    before = {"g": group(START_MS, START_MS + 1_000)}
    skew.note(before, {"g": group(START_MS + 900, START_MS + 2_000)}, START_MS + 2_000)
    assert skew.seen() == Seen(-100, START_MS + 2_000)
    late_ms = START_MS + 2_001 + WINDOW_MS
    skew.note({}, {"g": group(START_MS, late_ms)}, late_ms)
    assert skew.seen() is None


def test_a_clock_that_was_set_forward() -> None:
    """The same the other way round."""
    skew = ClockSkew()
    before = {"g": group(START_MS - 9_000, START_MS)}
    skew.note(before, {"g": group(START_MS - 700, START_MS + 50)}, START_MS + 60)
    skew.note({}, {"g": group(START_MS + 600, START_MS + 90)}, START_MS + 100)
    assert skew.seen() == Seen(500, START_MS + 100)


@given(
    st.integers(-100_000, 100_000),
    st.lists(st.tuples(st.integers(1, 5_000), st.integers(0, 5_000)), min_size=1, max_size=20),
)
def test_never_more_than_it_is(skew_ms: int, steps: list[tuple[int, int]]) -> None:
    """Commits at any times between readings at any times: no false alarm, and close in the end."""
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
