"""Chunks in a queue or in flight while their partition moves, or their broker dies."""

from types import TracebackType
from typing import Self

import pytest

from tests.support.clusters import fresh_name, without
from tests.support.members import Member, settings_for
from tests.support.traffic import Acknowledged, partitions_of, write
from tests.support.waiting import wait_until
from zkconsumer import ZookeeperConsumerConnector
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

PARTITIONS = 4
VALUE = b"v" * 100
ROUNDS = 4


class StreamReader:
    """A member with one stream, which the test reads message by message."""

    def __init__(self, cluster: Sandbox, group: str, topic: str, consumer_id: str) -> None:
        config = settings_for(
            cluster,
            group,
            consumer_id=consumer_id,
            consumer_timeout_ms=10_000,
            fetch_message_max_bytes=4_000,
        )
        self._connector = ZookeeperConsumerConnector(config)
        [self._stream] = self._connector.create_message_streams({topic: 1})[topic]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connector.shutdown()

    def take(self) -> tuple[int, int]:
        """Return partition and offset of the next message."""
        message = next(self._stream)
        return message.partition, message.offset

    def await_full_queue(self) -> None:
        """Wait until its queue is full."""
        queue = self._stream._waiting._queue
        wait_until(lambda: queue.chunk_count() == 2, what="a full queue")

    def leave(self) -> None:
        """Leave the group, with whatever is queued."""
        self._connector.shutdown()

    def await_share(self, count: int) -> None:
        """Wait until it owns this many partitions."""
        claims = self._connector._parts.member.control._claims
        wait_until(lambda: len(claims.claims()) == count, what=f"{count} partitions")


class DeliveryLedger:
    """Checks that each partition is delivered in order; only its last message may be repeated."""

    def __init__(self) -> None:
        self.next = dict.fromkeys(range(PARTITIONS), 0)
        self.again = 0

    def note(self, taken: tuple[int, int]) -> None:
        """Check one message."""
        partition, offset = taken
        if offset == self.next[partition] - 1:
            self.again += 1
            return
        assert offset == self.next[partition], f"partition {partition}"
        self.next[partition] += 1


def test_alternating_members_lose_nothing_and_repeat_one_message_each(
    cluster: Sandbox,
) -> None:
    """Each joins and leaves while both queues are full of the same partitions.

    A rebalance repeats at most the message that the former owner was processing.
    """
    topic, group, count = fresh_name("alternating"), fresh_name("group"), 600
    cluster.create_topic(topic, partitions=PARTITIONS)
    for tp in partitions_of(topic, PARTITIONS):
        write(cluster, tp, [VALUE] * count)
    ledger, rebalances = DeliveryLedger(), 0
    staying = StreamReader(cluster, group, topic, "m0")
    try:
        for number in range(1, ROUNDS + 1):
            for _ in range(90):
                ledger.note(staying.take())
            staying.await_full_queue()
            coming = StreamReader(cluster, group, topic, f"m{number}")
            coming.await_full_queue()
            for _ in range(60):
                ledger.note(coming.take())
                ledger.note(staying.take())
            staying.await_full_queue()
            staying.leave()
            staying = coming
            staying.await_share(PARTITIONS)
            rebalances += 2
        while min(ledger.next.values()) < count:
            ledger.note(staying.take())
    finally:
        staying.leave()
    assert ledger.again <= rebalances


def test_a_broker_killed_during_a_backlog_loses_and_repeats_nothing(cluster: Sandbox) -> None:
    """Responses are in flight and chunks queued when it dies; each message comes once."""
    topic, group, sets, of_set = fresh_name("backlog"), fresh_name("group"), 40, 500
    cluster.create_topic(topic, partitions=2)
    written: Acknowledged = {}
    for tp in partitions_of(topic, 2):
        for _ in range(sets):
            first = write(cluster, tp, [VALUE] * of_set)
            written.setdefault(tp, {}).update(enumerate([VALUE] * of_set, first))
    total = 2 * sets * of_set
    with Member(cluster, group, {topic: 2}, fetch_message_max_bytes=1_000) as member:
        wait_until(lambda: len(member.deliveries) > 100, what="a beginning")
        with without(cluster, 0):
            assert len(member.deliveries) < total, "all was read before it died"
        wait_until(lambda: len(member.deliveries) >= total, what="the rest")
        assert member.errors == []
        for tp, of_tp in written.items():
            assert member.got(tp) == sorted(of_tp)


def test_queued_messages_are_not_delivered_after_a_shutdown(cluster: Sandbox) -> None:
    """Not a single message of a full queue comes from a member that has left."""
    topic, group = fresh_name("given-up"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = [TopicPartition(topic, 0)]
    write(cluster, tp, [VALUE] * 600)
    reader = StreamReader(cluster, group, topic, "m0")
    assert [reader.take() for _ in range(3)] == [(0, 0), (0, 1), (0, 2)]
    reader.await_full_queue()
    reader.leave()
    with pytest.raises(StopIteration):
        reader.take()
    with StreamReader(cluster, group, topic, "m1") as successor:
        assert successor.take() == (0, 2)
