"""The small pure parts: arguments, subscription, the timer of commits, the shelf."""

import re
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.paper_engine import EPOCH, PaperSlice
from tests.support.poll_fakes import FakeKeeper
from zkconsumer.consumer import arguments as args
from zkconsumer.consumer.autocommit import AutoCommit
from zkconsumer.consumer.fetch_buffer import BufferedRecords, FetchBuffer
from zkconsumer.consumer.subscription import Mode, Subscription
from zkconsumer.errors import ConfigError, IllegalState
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.records.consumer_record import RecordOrigin

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


# --- arguments ---------------------------------------------------------------------------------


class Theirs(NamedTuple):
    """Another library's class of the same."""

    topic: object
    partition: object


def test_a_partition_of_another_library_is_one() -> None:
    """Such as kafka-python's own class."""
    assert args.partition_of(Theirs("a", 0)) == A0
    assert type(args.partition_of(Theirs("a", 0))) is TopicPartition
    assert args.partitions_of([Theirs("a", 1), A0, Theirs("a", 1)]) == (A1, A0)


@pytest.mark.parametrize(
    "wrong",
    [
        *("a", ("a",), ("a", 0), None, ["a", 0]),
        *(Theirs("a", -1), Theirs("a", True), Theirs("a", "0"), Theirs("", 0), Theirs(0, "a")),
    ],
)
def test_what_is_no_partition(wrong: Any) -> None:
    """The error shows the value."""
    with pytest.raises(ConfigError, match="is not a partition"):
        args.partition_of(wrong)


def test_one_is_not_several() -> None:
    """A text or a partition could be taken apart by mistake."""
    for wrong in (A0, "a", b"a", 3):
        with pytest.raises(ConfigError, match="give a list"):
            args.partitions_of(wrong)
    for no_list in ("a", None):
        with pytest.raises(ConfigError, match="give a list of names"):
            args.topics_of(no_list)


@pytest.mark.parametrize("wrong", ["a b", "", ".", "ä", "x" * 256, 7])
def test_what_is_no_topic(wrong: Any) -> None:
    """A broker would answer with an error at every metadata request."""
    with pytest.raises(ConfigError, match="a name has 1 to 255 letters"):
        args.topics_of(["fine", wrong])


def test_patterns() -> None:
    """A text is compiled, a compiled one is taken."""
    assert args.pattern_of("^a").match("ab")
    compiled = re.compile("b")
    assert args.pattern_of(compiled) is compiled
    for wrong in ("", "(", 3, re.compile(b"a")):
        with pytest.raises(ConfigError, match="pattern"):
            args.pattern_of(wrong)


def test_positions_of_other_classes() -> None:
    """kafka-python's OffsetAndMetadata has the same attributes; a number alone is an offset."""

    class Position:
        offset, metadata, leader_epoch = 7, None, 2

    found = args.positions_of({A0: Position(), A1: 5, B0: OffsetAndMetadata(1, "m", 4)})
    assert found == {
        A0: OffsetAndMetadata(7, "", 2),
        A1: OffsetAndMetadata(5),
        B0: OffsetAndMetadata(1, "m", 4),
    }
    wrong_text: Any = 3
    for wrong in (
        *({A0: -1}, {A0: "x"}, {("a", 0): 1}, {"a": 1}, [A0]),
        {A0: OffsetAndMetadata(1, wrong_text)},
    ):
        with pytest.raises(ConfigError):
            args.positions_of(wrong)


def test_numbers() -> None:
    """Floats do for times, as in kafka-python; no time is made shorter."""
    assert args.timeout_of(None, 7) == 7
    assert args.timeout_of(1.9, 7) == 2
    assert args.timeout_of(float("inf"), 7) == 2**31 - 1
    assert args.count_of(None, 3) == 3
    assert args.time_of(2.5, "x") == 2
    for wrong in (-1, "1", True):
        with pytest.raises(ConfigError):
            args.timeout_of(wrong, 7)
        with pytest.raises(ConfigError):
            args.time_of(wrong, "x")
    assert (args.count_of(True, 3), args.offset_of(True, "x")) == (1, 1)
    for no_count in (0, -1, 1.0, False):
        with pytest.raises(ConfigError):
            args.count_of(no_count, 3)


# --- subscription ------------------------------------------------------------------------------


def facts_of(one: Subscription) -> tuple[Any, ...]:
    """What stands: the mode, topics, partitions, and what is watched."""
    return (
        one.mode,
        sorted(one.topics),
        sorted(one.assigned),
        sorted(one.watched() or ["everything"]),
    )


def test_only_one_way_at_a_time() -> None:
    """Until it is cleared."""
    one = Subscription()
    one.subscribe(["a", "b"], None)
    assert facts_of(one) == (Mode.TOPICS, ["a", "b"], [], ["a", "b"])
    one.subscribe({"b"}, None)
    assert one.topics == {"b"}
    with pytest.raises(IllegalState, match=r"already reads topics.*unsubscribe\(\)"):
        one.assign([A0])
    with pytest.raises(IllegalState, match=r"already reads topics.*unsubscribe\(\)"):
        one.subscribe((), "^a")
    one.clear()
    one.subscribe((), "^a")
    assert facts_of(one) == (Mode.PATTERN, [], [], ["everything"])
    with pytest.raises(IllegalState, match=r"already.*unsubscribe\(\)"):
        one.subscribe(["b"], None)
    with pytest.raises(IllegalState, match="not to both"):
        one.subscribe(["a"], "^a")
    one.clear()
    one.assign([A0, B0])
    assert facts_of(one) == (Mode.ASSIGNED, [], [A0, B0], ["a", "b"])
    assert not one.is_group_managed
    with pytest.raises(IllegalState, match="already reads partitions"):
        one.subscribe(["a"], None)


def test_a_failed_call_changes_nothing() -> None:
    """What was subscribed stays."""
    one = Subscription()
    for topics, pattern in (((), None), (("a b",), None), ((), "(")):
        with pytest.raises(ConfigError):
            one.subscribe(topics, pattern)
    assert one.mode is Mode.NONE


def test_patterns_match_from_the_beginning_and_leave_out_the_clusters_own() -> None:
    """As kafka-python does it, with ``re.match``."""
    metadata = FakeKeeper()
    one = Subscription()
    one.subscribe((), "web|_")
    assert one.watched() is None
    metadata.learn(
        {"web1": 1, "myweb": 1, "_x": 1, "__consumer_offsets": 1, "_own": 1}, internal=["_own"]
    )
    assert one.saw(metadata.view)
    assert one.topics == {"web1", "_x"}
    assert not one.saw(metadata.view)
    open_one = Subscription(exclude_internal=False)
    open_one.subscribe((), re.compile("__con|_own"))
    open_one.saw(metadata.view)
    assert open_one.topics == {"__consumer_offsets", "_own"}


def test_without_a_pattern_a_view_changes_nothing() -> None:
    """Named topics are read whether they exist or not."""
    metadata = FakeKeeper()
    metadata.learn({"b": 2})
    one = Subscription()
    one.subscribe(["a"], None)
    assert not one.saw(metadata.view)
    assert one.topics == {"a"}


# --- the timer of commits ----------------------------------------------------------------------


def test_commits_are_due_after_each_interval() -> None:
    """Counted from the end of the one before."""
    timer = AutoCommit(enabled=True, interval_ms=1000, retry_ms=100)
    assert not timer.is_due(10**6)
    timer.start(0)
    timer.start(500)
    assert not timer.is_due(999)
    assert timer.is_due(1000)
    timer.on_begun(1000)
    assert not timer.is_due(5000)
    timer.on_ended(1200, failed=False)
    assert not timer.is_due(2199)
    assert timer.is_due(2200)


def test_a_commit_whose_end_was_not_heard_does_not_stop_all_others() -> None:
    """Its callback may have been interrupted."""
    timer = AutoCommit(enabled=True, interval_ms=1000, retry_ms=100)
    timer.start(0)
    timer.on_begun(1000)
    assert not timer.is_due(300_999)
    assert timer.is_due(301_000)


def test_after_a_failure_it_is_tried_sooner() -> None:
    """But not later than usual."""
    timer = AutoCommit(enabled=True, interval_ms=1000, retry_ms=100)
    timer.start(0)
    timer.on_begun(1000)
    timer.on_ended(1000, failed=True)
    assert not timer.is_due(1099)
    assert timer.is_due(1100)
    for late_ms in (200, 400, 800, 1000, 1000):
        timer.on_ended(0, failed=True)
        assert not timer.is_due(late_ms - 1)
        assert timer.is_due(late_ms)
    timer.on_ended(0, failed=False)
    timer.on_ended(0, failed=True)
    assert not timer.is_due(99)
    assert timer.is_due(100)
    short = AutoCommit(enabled=True, interval_ms=50, retry_ms=100)
    short.on_ended(0, failed=True)
    assert short.is_due(50)


def test_a_new_share_begins_a_new_interval() -> None:
    """Unless a commit is under way."""
    timer = AutoCommit(enabled=True, interval_ms=1000, retry_ms=100)
    timer.start(0)
    timer.postpone(900)
    assert not timer.is_due(1899)
    assert timer.is_due(1900)


def test_without_auto_commit_nothing_is_due() -> None:
    """No automatic commit ever becomes due."""
    timer = AutoCommit(enabled=False, interval_ms=0, retry_ms=0)
    assert not timer.is_due(10**9)


# --- the shelf ---------------------------------------------------------------------------------


def range_(tp: TopicPartition, first: int, following: int) -> BufferedRecords:
    """Records [first, following) of a partition."""
    return BufferedRecords(
        tp, PaperSlice(tp, first, following).records(RecordOrigin(tp)), PositionView(first)
    )


def test_a_position_is_behind_what_was_handed_out() -> None:
    """With the epoch of that record."""
    one = range_(A0, 5, 8)
    assert one.position == PositionView(5)
    assert [record.offset for record in one.steps.take(2)] == [5, 6]
    assert one.position == PositionView(7, EPOCH)
    assert [record.offset for record in one.steps.take(9)] == [7]
    assert one.position == PositionView(8, EPOCH)
    assert one.steps.take(1) == []


@pytest.mark.parametrize(
    ("least", "size_bytes", "count"),
    [(500, 100, 4_000), (500, 1_024, 1_024), (500, 10_000, 500), (9_000, 1, 9_000), (1, 0, 4_000)],
)
def test_small_records_are_taken_many_at_a_time(least: int, size_bytes: int, count: int) -> None:
    """About a megabyte of them, as the last ones were; the first time as many as a poll returns."""
    buffer = FetchBuffer()
    assert buffer.count_to_take(least) == least
    buffer.on_taken(7, 7 * size_bytes)
    assert buffer.count_to_take(least) == max(least, min(count, 14))
    for _ in range(12):
        taken = buffer.count_to_take(least)
        buffer.on_taken(taken, taken * size_bytes)
    assert buffer.count_to_take(least) == count


def test_a_shelf_gives_only_what_is_asked_for() -> None:
    """What is left keeps its place."""
    buffer = FetchBuffer()
    assert not buffer
    buffer.put(range_(A0, 0, 3))
    buffer.put(range_(B0, 10, 13))
    assert buffer.partitions() == {A0, B0}
    assert buffer.first({B0, A1}) is not None
    assert buffer.first({A1}) is None
    taken = buffer.take(4, {A0, B0})
    assert {tp: [record.offset for record in them] for tp, them in taken.items()} == {
        A0: [0, 1, 2],
        B0: [10],
    }
    assert buffer.position(B0) == PositionView(11, EPOCH)
    assert buffer.position(A0) is None
    assert buffer.take(9, {A0}) == {}
    buffer.drop(B0)
    buffer.drop(B0)
    assert not buffer
    buffer.put(range_(A1, 0, 1))
    buffer.clear()
    assert not buffer


@given(counts=st.lists(st.integers(1, 4), max_size=12), length=st.integers(0, 12))
def test_however_it_is_taken_all_comes_once_in_order(counts: list[int], length: int) -> None:
    """And the position is always behind it."""
    buffer = FetchBuffer()
    buffer.put(range_(A0, 0, length))
    seen: list[int] = []
    for count in counts:
        taken = buffer.take(count, {A0}).get(A0, [])
        assert len(taken) <= count
        seen += [record.offset for record in taken]
        position = buffer.position(A0)
        assert position is None or position.offset == len(seen)
    assert seen == list(range(min(length, sum(counts))))
