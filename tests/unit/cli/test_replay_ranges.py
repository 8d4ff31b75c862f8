"""Which offsets are replayed, and which are no longer available."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.cli.replay.ranges import plan_replay
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.planning import LogRange

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
OFFSETS = st.integers(0, 30)


@given(
    st.lists(OFFSETS, min_size=2, max_size=2).map(sorted),
    st.none() | OFFSETS,
    st.none() | OFFSETS,
)
def test_available_and_unavailable_ranges_make_up_the_request(
    log: list[int], start: int | None, end: int | None
) -> None:
    """Every requested offset is in exactly one range, and ranges to read are in the log."""
    first, log_end = log
    plan = plan_replay(
        {A: LogRange(first, log_end)},
        {} if start is None else {A: start},
        {} if end is None else {A: end},
    )
    low, high = first if start is None else start, log_end if end is None else end
    if low > high:
        if start is not None and end is not None:
            assert plan.wrong == (f"t-0: the start offset {low} is after the end offset {high}",)
        else:
            assert plan.notes == (f"t-0: nothing to read: its log is {first} to {log_end}",)
        assert (plan.ranges, plan.gone) == ((), {})
        return
    all_ranges = [*plan.ranges, *plan.gone]
    covered = [
        n
        for offset_range in all_ranges
        for n in range(offset_range.from_offset, offset_range.until_offset)
    ]
    assert sorted(covered) == list(range(low, high))
    read = [n for range_ in plan.ranges for n in range(range_.from_offset, range_.until_offset)]
    assert read == [n for n in range(low, high) if first <= n < log_end]
    assert all(unavailable.count for unavailable in plan.gone)
    assert plan.count == len(read)


def test_partitions_are_sorted_and_empty_ones_left_out() -> None:
    """The order of the logs does not matter."""
    plan = plan_replay({B: LogRange(0, 5), A: LogRange(3, 3)}, {}, {})
    assert [range_.topic_partition for range_ in plan.ranges] == [B]
    plan = plan_replay({B: LogRange(0, 5), A: LogRange(3, 9)}, {B: 1}, {A: 4})
    assert [str(range_) for range_ in plan.ranges] == ["t-0 [3, 4)", "t-1 [1, 5)"]
