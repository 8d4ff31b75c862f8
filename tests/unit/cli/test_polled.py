"""The console consumer of a coordinator group: which records it yields and commits."""

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


def records(tp: TopicPartition, *offsets: int) -> Polled:
    """Build the result of a poll."""
    origin = RecordOrigin(tp)
    return {
        tp: [consumer_record(origin, (offset, None, b"v", -1, -1), (), -1) for offset in offsets]
    }


class ScriptedConsumer:
    """A consumer that returns scripted polls and records commits."""

    def __init__(self, *polls: Polled | Callable[[], Polled]) -> None:
        self._polls = deque(polls)
        self.commits: list[dict[str, int]] = []
        self.refusals: list[Exception] = []
        self.grace_ms: list[int] = []
        self.woken = 0

    def poll(self, *, timeout_ms: int) -> Polled:
        """Return the next scripted poll; raise ``Woken`` after the last."""
        self.grace_ms.append(timeout_ms)
        if self.woken or not self._polls:
            raise Woken("done")
        found = self._polls.popleft()
        return found() if callable(found) else found

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Record the offsets, or raise the next scripted refusal."""
        if self.refusals:
            raise self.refusals.pop(0)
        self.commits.append(
            {f"{tp}": offset_and_metadata.offset for tp, offset_and_metadata in offsets.items()}
        )

    def wakeup(self) -> None:
        """Let the next poll raise ``Woken``."""
        self.woken += 1


def written_records(consumer: ScriptedConsumer, *, interval_ms: int | None = 0) -> WrittenRecords:
    """Build the written records of a new pass."""
    return WrittenRecords(
        cast("KafkaConsumer", consumer), interval_ms=interval_ms, clock=ManualClock()
    )


def test_only_written_records_are_committed() -> None:
    """The current record counts once the next is requested, or if it is said to be written."""
    consumer = ScriptedConsumer(records(TP, 5, 6), records(OTHER, 1), records(TP, 9))
    written = written_records(consumer)
    messages = written.records(-1)
    assert [next(messages).offset for _ in range(3)] == [5, 6, 1]
    assert consumer.commits == [{"t-0": 7}]
    written.finish(last_too=False)
    assert consumer.commits == [{"t-0": 7}]
    written.finish(last_too=True)
    assert consumer.commits == [{"t-0": 7}, {"t-1": 2}]


def test_nothing_is_committed_without_automatic_commits() -> None:
    """As with ``enable.auto.commit=false``, or in a generated group."""
    consumer = ScriptedConsumer(records(TP, 5), records(TP, 6))
    written = written_records(consumer, interval_ms=None)
    assert [record.offset for record in written.records(-1)] == [5, 6]
    written.finish(last_too=True)
    assert consumer.commits == []


def test_reading_ends_after_a_time_without_messages() -> None:
    """The time counts from the last message, and commits are made meanwhile."""
    clock = ManualClock()

    def nothing() -> Polled:
        clock.advance(40)
        return {}

    consumer = ScriptedConsumer(
        nothing, nothing, records(TP, 1), nothing, nothing, nothing, nothing
    )
    written = WrittenRecords(cast("KafkaConsumer", consumer), interval_ms=40, clock=clock)
    assert [record.offset for record in written.records(100)] == [1]
    assert consumer.grace_ms == [40] * 6
    assert consumer.commits == [{"t-0": 2}]


@pytest.mark.parametrize("refusal", [CommitFailed("over"), OffsetCommitFailed("g", {TP: "late"})])
def test_a_failed_commit_is_repeated(refusal: ZkConsumerError) -> None:
    """A failed commit does not end the command."""
    consumer = ScriptedConsumer(records(TP, 1), records(TP, 2))
    consumer.refusals = [refusal]
    written = written_records(consumer)
    list(written.records(-1))
    written.finish(last_too=False)
    assert consumer.commits == [{"t-0": 3}]


def test_revoked_partitions_are_committed_and_lost_ones_are_not() -> None:
    """A revoked partition is committed once more, a lost one not at all."""
    consumer = ScriptedConsumer(records(TP, 1), records(OTHER, 2))
    written = written_records(consumer, interval_ms=1000)
    list(written.records(-1))
    written.on_partitions_revoked([TP])
    written.on_partitions_lost([OTHER])
    written.finish(last_too=False)
    assert consumer.commits == [{"t-0": 2}]


def test_a_stop_leaves_out_the_rest_of_a_poll() -> None:
    """Records of the poll that were not yielded are not committed."""
    consumer = ScriptedConsumer(records(TP, 1, 2, 3))
    written = written_records(consumer)
    messages = written.records(-1)
    assert next(messages).offset == 1
    written.stop()
    assert next(messages, None) is None
    written.finish(last_too=False)
    assert consumer.commits == [{"t-0": 2}]


@pytest.mark.parametrize(
    ("filter_", "yes", "no"),
    [
        (Whitelist("web.*|a"), ["web", "webs", "a"], ["ab", "my-web"]),
        (Blacklist("web.*|a"), ["ab", "my-web"], ["web", "webs", "a"]),
    ],
    ids=["whitelist", "blacklist"],
)
def test_filters_match_whole_names(
    filter_: Whitelist | Blacklist, yes: list[str], no: list[str]
) -> None:
    """So do the filters that are given to a consumer in place of a pattern."""
    matches = topic_matcher_of(filter_)
    assert [topic for topic in yes + no if matches(topic)] == yes
