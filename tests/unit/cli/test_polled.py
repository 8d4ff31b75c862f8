"""The console consumer of a coordinator's group: what it gives out, and what it commits of it."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import cast

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer import KafkaConsumer
from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.cli.consume.polled import WrittenRecords
from zkconsumer.consumer.arguments import topic_matcher_of
from zkconsumer.errors import CommitFailed, OffsetCommitFailed, Woken, ZkConsumerError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin, consumer_record

TP, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
Polled = Mapping[TopicPartition, list[ConsumerRecord]]


def records(place: TopicPartition, *offsets: int) -> Polled:
    """What a poll gives."""
    origin = RecordOrigin(place)
    return {
        place: [consumer_record(origin, (offset, None, b"v", -1, -1), (), -1) for offset in offsets]
    }


class Scripted:
    """Gives what it was told, and keeps what is committed."""

    def __init__(self, *polls: Polled | Callable[[], Polled]) -> None:
        self._polls = deque(polls)
        self.commits: list[dict[str, int]] = []
        self.refusals: list[Exception] = []
        self.grace_ms: list[int] = []
        self.woken = 0

    def poll(self, *, timeout_ms: int) -> Polled:
        """The next one; wakes at the end."""
        self.grace_ms.append(timeout_ms)
        if self.woken or not self._polls:
            raise Woken("done")
        found = self._polls.popleft()
        return found() if callable(found) else found

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Keep them, or refuse."""
        if self.refusals:
            raise self.refusals.pop(0)
        self.commits.append(
            {
                f"{place}": offset_and_metadata.offset
                for place, offset_and_metadata in offsets.items()
            }
        )

    def wakeup(self) -> None:
        """End the next poll."""
        self.woken += 1


def written(consumer: Scripted, *, interval_ms: int | None = 0) -> WrittenRecords:
    """At the start of a pass."""
    return WrittenRecords(
        cast("KafkaConsumer", consumer), interval_ms=interval_ms, clock=ManualClock()
    )


def test_what_is_committed_is_what_was_written() -> None:
    """The record in hand is not, until somebody asks for the next, or says that it is written."""
    consumer = Scripted(records(TP, 5, 6), records(OTHER, 1), records(TP, 9))
    one = written(consumer)
    messages = one.records(-1)
    assert [next(messages).offset for _ in range(3)] == [5, 6, 1]
    assert consumer.commits == [{"t-0": 7}]
    one.finish(last_too=False)
    assert consumer.commits == [{"t-0": 7}]
    one.finish(last_too=True)
    assert consumer.commits == [{"t-0": 7}, {"t-1": 2}]


def test_nothing_is_committed_where_nothing_is_to_be() -> None:
    """``enable.auto.commit=false``, or a group that was made up."""
    consumer = Scripted(records(TP, 5), records(TP, 6))
    one = written(consumer, interval_ms=None)
    assert [record.offset for record in one.records(-1)] == [5, 6]
    one.finish(last_too=True)
    assert consumer.commits == []


def test_it_ends_when_nothing_came_for_so_long() -> None:
    """Counted from the last message; it looks up for commits in between."""
    clock = ManualClock()

    def nothing() -> Polled:
        clock.advance(40)
        return {}

    consumer = Scripted(nothing, nothing, records(TP, 1), nothing, nothing, nothing, nothing)
    one = WrittenRecords(cast("KafkaConsumer", consumer), interval_ms=40, clock=clock)
    assert [record.offset for record in one.records(100)] == [1]
    assert consumer.grace_ms == [40] * 6
    assert consumer.commits == [{"t-0": 2}]


@pytest.mark.parametrize("refusal", [CommitFailed("over"), OffsetCommitFailed("g", {TP: "late"})])
def test_what_was_not_committed_is_committed_next_time(refusal: ZkConsumerError) -> None:
    """No error ends the console for it."""
    consumer = Scripted(records(TP, 1), records(TP, 2))
    consumer.refusals = [refusal]
    one = written(consumer)
    list(one.records(-1))
    one.finish(last_too=False)
    assert consumer.commits == [{"t-0": 3}]


def test_partitions_that_go_are_committed_and_forgotten() -> None:
    """Revoked: once, and never again. Lost: not at all."""
    consumer = Scripted(records(TP, 1), records(OTHER, 2))
    one = written(consumer, interval_ms=1000)
    list(one.records(-1))
    one.on_partitions_revoked([TP])
    one.on_partitions_lost([OTHER])
    one.finish(last_too=False)
    assert consumer.commits == [{"t-0": 2}]


def test_a_stop_leaves_the_rest_of_a_poll() -> None:
    """What was not given out is not committed."""
    consumer = Scripted(records(TP, 1, 2, 3))
    one = written(consumer)
    messages = one.records(-1)
    assert next(messages).offset == 1
    one.stop()
    assert next(messages, None) is None
    one.finish(last_too=False)
    assert consumer.commits == [{"t-0": 2}]


@pytest.mark.parametrize(
    ("filter_", "yes", "no"),
    [
        (Whitelist("web.*|a"), ["web", "webs", "a"], ["ab", "my-web"]),
        (Blacklist("web.*|a"), ["ab", "my-web"], ["web", "webs", "a"]),
    ],
    ids=["whitelist", "blacklist"],
)
def test_filters_hold_for_whole_names(
    filter_: Whitelist | Blacklist, yes: list[str], no: list[str]
) -> None:
    """Where a consumer subscribes to one in place of a pattern."""
    matches = topic_matcher_of(filter_)
    assert [answer for answer in yes + no if matches(answer)] == yes
