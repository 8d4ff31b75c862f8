"""The offset ranges of a direct stream's batches: consecutive, and the same when recomputed."""

import pickle
import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.legacy.ranges import REMEMBERED, BatchRanges, given_offsets
from zkconsumer.spark.legacy.values import OffsetRange, TopicAndPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
START = datetime(2015, 5, 5)  # noqa: DTZ001 - Spark passes the times of batches like this


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the local time to Berlin's, where clocks are put back in October."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


def test_batches_follow_each_other() -> None:
    """A new batch starts where the last batch that was remembered has ended."""
    ranges = BatchRanges({P0: 5, P1: 0}, max_offsets=None)
    first = ranges.next({P0: 9, P1: 0})
    assert first == (OffsetRange("t", 0, 5, 9), OffsetRange("t", 1, 0, 0))
    assert ranges.next({P0: 9, P1: 0}) == first
    ranges.remember(START, first)
    assert ranges.next({P0: 12, P1: 1}) == (OffsetRange("t", 0, 9, 12), OffsetRange("t", 1, 0, 1))


def test_a_log_that_became_shorter_adds_nothing() -> None:
    """If a log became shorter the range is empty, and the stream does not go back."""
    ranges = BatchRanges({P0: 5}, max_offsets=None)
    assert ranges.next({P0: 3}) == (OffsetRange("t", 0, 5, 5),)


def test_a_restored_stream_repeats_its_batches() -> None:
    """A checkpoint holds the ranges of batches, and recomputing a batch advances nothing."""
    ranges = BatchRanges({P0: 0}, max_offsets=None)
    first = ranges.next({P0: 4})
    ranges.remember(START, first)
    ranges.remember(START + timedelta(seconds=1), ranges.next({P0: 8}))
    restored: BatchRanges = pickle.loads(pickle.dumps(ranges))
    assert restored.remembered(START) == first
    restored.remember(START, first)
    assert restored.offsets == {P0: 8}


def test_old_batches_are_forgotten() -> None:
    """The number of batches whose ranges are remembered is bounded."""
    ranges = BatchRanges({P0: 0}, max_offsets=None)
    for number in range(REMEMBERED + 2):
        ranges.remember(START + timedelta(seconds=number), ranges.next({P0: number}))
    assert ranges.remembered(START + timedelta(seconds=1)) is None
    assert ranges.remembered(START + timedelta(seconds=2)) is not None


@pytest.mark.usefixtures("berlin")
def test_the_repeated_hour_when_clocks_are_put_back_is_two_hours() -> None:
    """When clocks are put back, a batch is not mistaken for the one an hour earlier."""
    ranges = BatchRanges({P0: 0}, max_offsets=None)
    first, second = (
        datetime.fromtimestamp(seconds)  # noqa: DTZ006 - as Spark creates them
        for seconds in (1445733000, 1445733000 + 3600)
    )
    assert first == second
    ranges.remember(first, ranges.next({P0: 4}))
    assert ranges.remembered(second) is None
    ranges.remember(second, ranges.next({P0: 9}))
    assert ranges.remembered(first) == (OffsetRange("t", 0, 0, 4),)
    assert ranges.remembered(second) == (OffsetRange("t", 0, 4, 9),)


@given(
    ends=st.lists(st.integers(0, 200), min_size=1, max_size=20), most=st.none() | st.integers(1, 30)
)
def test_nothing_is_left_out_or_read_twice(ends: list[int], most: int | None) -> None:
    """Whatever the log's end does, batches are consecutive and none exceeds the limit."""
    ranges = BatchRanges({P0: 0}, max_offsets=most)
    reached = 0
    for number, end in enumerate(ends):
        batch = ranges.next({P0: end})
        ranges.remember(START + timedelta(seconds=number), batch)
        assert batch[0].fromOffset == reached
        assert batch[0].count() <= (most or 200)
        reached = batch[0].untilOffset
    assert reached <= max(ends)
    if most is None:
        assert reached == max(ends)


@pytest.mark.parametrize("topics", [["t", "u"], ["u"]])
def test_offsets_of_other_topics_are_refused(topics: list[str]) -> None:
    """Starting offsets must be given for each topic: without any, its messages would be skipped."""
    offsets = {TopicAndPartition("t", 0): 7, TopicAndPartition("t", 1): 9}
    assert given_offsets(["t"], offsets) == {P0: 7, P1: 9}
    with pytest.raises(ConfigError, match=r"fromOffsets has offsets of t, and topics names .*u: "):
        given_offsets(topics, offsets)
