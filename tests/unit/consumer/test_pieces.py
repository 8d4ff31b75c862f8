"""Small pure parts: arguments, subscription, the timer of commits, the fetch buffer."""

import re
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.model_engine import EPOCH, ModelSlice
from tests.support.poll_fakes import FakeMetadataManager
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


class ForeignPartition(NamedTuple):
    """A partition class of another library."""

    topic: object
    partition: object


def test_a_partition_of_another_library_is_accepted() -> None:
    """Such as kafka-python's own class; it is converted to ours."""
    assert args.partition_of(ForeignPartition("a", 0)) == A0
    assert type(args.partition_of(ForeignPartition("a", 0))) is TopicPartition
    assert args.partitions_of([ForeignPartition("a", 1), A0, ForeignPartition("a", 1)]) == (A1, A0)


@pytest.mark.parametrize(
    "wrong",
    [
        *("a", ("a",), ("a", 0), None, ["a", 0]),
        *(
            ForeignPartition("a", -1),
            ForeignPartition("a", True),
            ForeignPartition("a", "0"),
            ForeignPartition("", 0),
            ForeignPartition(0, "a"),
        ),
    ],
)
def test_an_invalid_partition_is_refused(wrong: Any) -> None:
    """The error shows the value."""
    with pytest.raises(ConfigError, match="is not a partition"):
        args.partition_of(wrong)


def test_a_single_value_in_place_of_a_list_is_refused() -> None:
    """A string or a partition is a sequence, too, and must not be split."""
    for wrong in (A0, "a", b"a", 3):
        with pytest.raises(ConfigError, match="give a list"):
            args.partitions_of(wrong)
    for no_list in ("a", None):
        with pytest.raises(ConfigError, match="give a list of names"):
            args.topics_of(no_list)


@pytest.mark.parametrize("wrong", ["a b", "", ".", "ä", "x" * 256, 7])
def test_an_invalid_topic_name_is_refused(wrong: Any) -> None:
    """Otherwise brokers would answer every metadata request with an error."""
    with pytest.raises(ConfigError, match="a name has 1 to 255 letters"):
        args.topics_of(["fine", wrong])


def test_patterns_may_be_strings_or_compiled() -> None:
    """A string is compiled; bytes and invalid patterns are refused."""
    assert args.pattern_of("^a").match("ab")
    compiled = re.compile("b")
    assert args.pattern_of(compiled) is compiled
    for wrong in ("", "(", 3, re.compile(b"a")):
        with pytest.raises(ConfigError, match="pattern"):
            args.pattern_of(wrong)


def test_positions_of_other_classes_are_accepted() -> None:
    """kafka-python's class has the same attributes; a plain number is an offset."""

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


def test_numbers_of_arguments_are_checked() -> None:
    """Times may be floats, as in kafka-python, and are rounded up."""
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


def state_of(subscription: Subscription) -> tuple[Any, ...]:
    """Return the mode, topics, partitions and watched topics."""
    return (
        subscription.mode,
        sorted(subscription.topics),
        sorted(subscription.assigned),
        sorted(subscription.watched() or ["everything"]),
    )


def test_only_one_kind_of_subscription_at_a_time() -> None:
    """Another kind is refused until the subscription is cleared."""
    subscription = Subscription()
    subscription.subscribe(["a", "b"], None)
    assert state_of(subscription) == (Mode.TOPICS, ["a", "b"], [], ["a", "b"])
    subscription.subscribe({"b"}, None)
    assert subscription.topics == {"b"}
    with pytest.raises(IllegalState, match=r"already reads topics.*unsubscribe\(\)"):
        subscription.assign([A0])
    with pytest.raises(IllegalState, match=r"already reads topics.*unsubscribe\(\)"):
        subscription.subscribe((), "^a")
    subscription.clear()
    subscription.subscribe((), "^a")
    assert state_of(subscription) == (Mode.PATTERN, [], [], ["everything"])
    with pytest.raises(IllegalState, match=r"already.*unsubscribe\(\)"):
        subscription.subscribe(["b"], None)
    with pytest.raises(IllegalState, match="not to both"):
        subscription.subscribe(["a"], "^a")
    subscription.clear()
    subscription.assign([A0, B0])
    assert state_of(subscription) == (Mode.ASSIGNED, [], [A0, B0], ["a", "b"])
    assert not subscription.is_group_managed
    with pytest.raises(IllegalState, match="already reads partitions"):
        subscription.subscribe(["a"], None)


def test_a_failed_call_changes_nothing() -> None:
    """The former subscription stays."""
    subscription = Subscription()
    for topics, pattern in (((), None), (("a b",), None), ((), "(")):
        with pytest.raises(ConfigError):
            subscription.subscribe(topics, pattern)
    assert subscription.mode is Mode.NONE


def test_patterns_match_from_the_start_and_exclude_internal_topics() -> None:
    """As in kafka-python, which uses ``re.match``."""
    metadata = FakeMetadataManager()
    subscription = Subscription()
    subscription.subscribe((), "web|_")
    assert subscription.watched() is None
    metadata.learn(
        {"web1": 1, "myweb": 1, "_x": 1, "__consumer_offsets": 1, "_own": 1}, internal=["_own"]
    )
    assert subscription.refresh_matches(metadata.view)
    assert subscription.topics == {"web1", "_x"}
    assert not subscription.refresh_matches(metadata.view)
    with_internal = Subscription(exclude_internal=False)
    with_internal.subscribe((), re.compile("__con|_own"))
    with_internal.refresh_matches(metadata.view)
    assert with_internal.topics == {"__consumer_offsets", "_own"}


def test_without_a_pattern_a_view_changes_nothing() -> None:
    """Named topics are subscribed to whether they exist or not."""
    metadata = FakeMetadataManager()
    metadata.learn({"b": 2})
    subscription = Subscription()
    subscription.subscribe(["a"], None)
    assert not subscription.refresh_matches(metadata.view)
    assert subscription.topics == {"a"}


# --- the timer of commits ----------------------------------------------------------------------


def test_commits_are_due_after_each_interval() -> None:
    """The interval counts from the end of the previous commit."""
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


def test_a_commit_without_an_outcome_does_not_block_later_ones() -> None:
    """Its callback may have been interrupted."""
    timer = AutoCommit(enabled=True, interval_ms=1000, retry_ms=100)
    timer.start(0)
    timer.on_begun(1000)
    assert not timer.is_due(300_999)
    assert timer.is_due(301_000)


def test_a_failed_commit_is_retried_sooner() -> None:
    """Retries back off, but are never later than the usual interval."""
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


def test_a_new_assignment_starts_a_new_interval() -> None:
    """After a rebalance the next commit is a full interval away."""
    timer = AutoCommit(enabled=True, interval_ms=1000, retry_ms=100)
    timer.start(0)
    timer.postpone(900)
    assert not timer.is_due(1899)
    assert timer.is_due(1900)


def test_without_auto_commit_nothing_is_due() -> None:
    """No automatic commit ever becomes due."""
    timer = AutoCommit(enabled=False, interval_ms=0, retry_ms=0)
    assert not timer.is_due(10**9)


# --- the fetch buffer ---------------------------------------------------------------------------


def buffered(tp: TopicPartition, first: int, until: int) -> BufferedRecords:
    """Build the records [first, following) of a partition."""
    return BufferedRecords(
        tp, ModelSlice(tp, first, until).records(RecordOrigin(tp)), PositionView(first)
    )


def test_a_position_follows_the_delivered_records() -> None:
    """It has the leader epoch of the last record."""
    subscription = buffered(A0, 5, 8)
    assert subscription.position == PositionView(5)
    assert [record.offset for record in subscription.steps.take(2)] == [5, 6]
    assert subscription.position == PositionView(7, EPOCH)
    assert [record.offset for record in subscription.steps.take(9)] == [7]
    assert subscription.position == PositionView(8, EPOCH)
    assert subscription.steps.take(1) == []


@pytest.mark.parametrize(
    ("least", "size_bytes", "count"),
    [(500, 100, 4_000), (500, 1_024, 1_024), (500, 10_000, 500), (9_000, 1, 9_000), (1, 0, 4_000)],
)
def test_small_records_are_taken_many_at_a_time(least: int, size_bytes: int, count: int) -> None:
    """Their number grows to about a megabyte of records, from the limit of a poll at first."""
    buffer = FetchBuffer()
    assert buffer.count_to_take(least) == least
    buffer.on_taken(7, 7 * size_bytes)
    assert buffer.count_to_take(least) == max(least, min(count, 14))
    for _ in range(12):
        taken = buffer.count_to_take(least)
        buffer.on_taken(taken, taken * size_bytes)
    assert buffer.count_to_take(least) == count


def test_the_buffer_returns_only_the_requested_records() -> None:
    """The rest stays in its order."""
    buffer = FetchBuffer()
    assert not buffer
    buffer.put(buffered(A0, 0, 3))
    buffer.put(buffered(B0, 10, 13))
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
    buffer.put(buffered(A1, 0, 1))
    buffer.clear()
    assert not buffer


@given(counts=st.lists(st.integers(1, 4), max_size=12), length=st.integers(0, 12))
def test_records_are_returned_once_in_order_however_they_are_taken(
    counts: list[int], length: int
) -> None:
    """The position always follows the returned records."""
    buffer = FetchBuffer()
    buffer.put(buffered(A0, 0, length))
    seen: list[int] = []
    for count in counts:
        taken = buffer.take(count, {A0}).get(A0, [])
        assert len(taken) <= count
        seen += [record.offset for record in taken]
        position = buffer.position(A0)
        assert position is None or position.offset == len(seen)
    assert seen == list(range(min(length, sum(counts))))
