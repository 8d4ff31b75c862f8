"""Each batch of a direct stream: behind the last one, and the same when it is made again."""

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
START = datetime(2015, 5, 5)  # noqa: DTZ001 - Spark gives batches' times so


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Local time is that of Berlin, which puts its clocks back in October."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


def test_batches_follow_each_other() -> None:
    """A new batch starts where the last one that was kept ended."""
    ranges = BatchRanges({P0: 5, P1: 0}, most=None)
    first = ranges.next({P0: 9, P1: 0})
    assert first == (OffsetRange("t", 0, 5, 9), OffsetRange("t", 1, 0, 0))
    assert ranges.next({P0: 9, P1: 0}) == first
    ranges.keep(START, first)
    assert ranges.next({P0: 12, P1: 1}) == (OffsetRange("t", 0, 9, 12), OffsetRange("t", 1, 0, 1))


def test_a_log_that_became_shorter_adds_nothing() -> None:
    """The range is empty, and the stream does not go back."""
    ranges = BatchRanges({P0: 5}, most=None)
    assert ranges.next({P0: 3}) == (OffsetRange("t", 0, 5, 5),)


def test_a_restored_stream_repeats_its_batches() -> None:
    """A checkpoint holds what batches had; making one again moves nothing."""
    ranges = BatchRanges({P0: 0}, most=None)
    first = ranges.next({P0: 4})
    ranges.keep(START, first)
    ranges.keep(START + timedelta(seconds=1), ranges.next({P0: 8}))
    restored: BatchRanges = pickle.loads(pickle.dumps(ranges))
    assert restored.of(START) == first
    restored.keep(START, first)
    assert restored.offsets == {P0: 8}


def test_old_batches_are_forgotten() -> None:
    """What is kept is bounded."""
    ranges = BatchRanges({P0: 0}, most=None)
    for number in range(REMEMBERED + 2):
        ranges.keep(START + timedelta(seconds=number), ranges.next({P0: number}))
    assert ranges.of(START + timedelta(seconds=1)) is None
    assert ranges.of(START + timedelta(seconds=2)) is not None


@pytest.mark.usefixtures("berlin")
def test_the_hour_that_comes_twice_is_two_hours() -> None:
    """When clocks are put back, a batch is not taken for the one an hour before."""
    ranges = BatchRanges({P0: 0}, most=None)
    first, second = (
        datetime.fromtimestamp(seconds)  # noqa: DTZ006 - as Spark makes them
        for seconds in (1445733000, 1445733000 + 3600)
    )
    assert first == second
    ranges.keep(first, ranges.next({P0: 4}))
    assert ranges.of(second) is None
    ranges.keep(second, ranges.next({P0: 9}))
    assert ranges.of(first) == (OffsetRange("t", 0, 0, 4),)
    assert ranges.of(second) == (OffsetRange("t", 0, 4, 9),)


@given(
    ends=st.lists(st.integers(0, 200), min_size=1, max_size=20), most=st.none() | st.integers(1, 30)
)
def test_nothing_is_left_out_or_read_twice(ends: list[int], most: int | None) -> None:
    """Whatever logs do, batches are one behind the other, and none has more than it may."""
    ranges = BatchRanges({P0: 0}, most=most)
    reached = 0
    for number, end in enumerate(ends):
        batch = ranges.next({P0: end})
        ranges.keep(START + timedelta(seconds=number), batch)
        assert batch[0].fromOffset == reached
        assert batch[0].count() <= (most or 200)
        reached = batch[0].untilOffset
    assert reached <= max(ends)
    if most is None:
        assert reached == max(ends)


@pytest.mark.parametrize("topics", [["t", "u"], ["u"]])
def test_offsets_of_other_topics_are_refused(topics: list[str]) -> None:
    """A topic without one would be left out without a word."""
    offsets = {TopicAndPartition("t", 0): 7, TopicAndPartition("t", 1): 9}
    assert given_offsets(["t"], offsets) == {P0: 7, P1: 9}
    with pytest.raises(ConfigError, match=r"fromOffsets has offsets of t, and topics names .*u: "):
        given_offsets(topics, offsets)
