"""The poll API in one group with Scala consumers and with connectors."""

import itertools
from pathlib import Path

import pytest

from tests.interop.mixed_group import MixedGroup
from tests.interop.polling_member import TIMINGS, PollingMember
from tests.support.clusters import BrokerOf
from tests.support.kafka_offsets import KafkaOffsets
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer, OffsetAndMetadata, TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.scope import wait_ms

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize("polling_first", [True, False], ids=["polling-first", "scala-first"])
def test_all_three_kinds_share_a_topic(group: MixedGroup, *, polling_first: bool) -> None:
    """Whoever joins first, every partition has its right owner, and every message is delivered."""
    topic = group.topic(4)
    with group.traffic(topic):
        if polling_first:
            polling = PollingMember(group, topic, consumer_id="p")
            group.fresh = False
            group.await_settled([topic], ["p"])
            scala = group.scala(topic, "s")
        else:
            scala = group.scala(topic, "s")
            group.await_settled([topic], ["s"])
            polling = PollingMember(group, topic, consumer_id="p")
        try:
            group.await_settled([topic], ["p", "s"])
            ours = group.ours({topic: 1}, "o")
            snapshot = group.await_settled([topic], ["o", "p", "s"])
            owned = {
                int(tp.rpartition("-")[2])
                for tp, owner in snapshot.owners.items()
                if "_p-" in owner
            }
            wait_until(lambda: polling.assigned == owned, what=f"{owned} to be assigned")
            scala.check_no_rebalance_failed()
            scala.leave()
            group.await_settled([topic], ["o", "p"])
            ours.leave()
            group.await_settled([topic], ["p"])
        finally:
            polling.leave()
    # The last messages may have been written after the last member had left.
    last = PollingMember(group, topic)
    try:
        group.await_values(group.writer.values, polling, scala, ours, last)
    finally:
        last.leave()
    assert all(what != "lost" for what, _ in polling.received)
    group.await_committed(topic)


def test_a_busy_member_does_not_delay_a_scala_member(group: MixedGroup) -> None:
    """A partition that it did not release in time is lost, and the listener is called."""
    topic = group.topic(2)
    group.write(5, topic)
    polling = PollingMember(
        group,
        topic,
        consumer_id="p",
        enable_auto_commit=False,
        rebalance_max_retries=4,
    )
    try:
        wait_until(lambda: len(polling.records) == 10, what="all messages")
        polling.stop_polling()
        scala = group.scala(topic, "s")
        group.await_settled([topic], ["p", "s"])
        group.await_values([f"{topic}:1:{number}" for number in range(5)], scala)
        scala.check_no_rebalance_failed()
        polling.polling.set()
        wait_until(lambda: ("lost", frozenset({1})) in polling.received, what="the loss")
    finally:
        polling.leave()
    # Nothing of the partition it kept was committed, so the next owner reads it again.
    assert polling.received[-1] == ("revoked", frozenset({0}))


def test_offsets_go_back_and_forth_to_the_message(group: MixedGroup) -> None:
    """They pass between explicit commits of polls, automatic ones, and Scala."""
    topic = group.topic(1)
    written = group.write(60, topic)
    tp = TopicPartition(topic, 0)

    def polls(count: int, *, commit: bool) -> list[str]:
        with KafkaConsumer(
            zookeeper_connect=group.cluster.zookeeper_connect,
            group_id=group.name,
            auto_offset_reset="earliest",
            enable_auto_commit=not commit,
            max_poll_records=7,
        ) as consumer:
            consumer.subscribe([topic])
            taken = [(record.value or b"").decode() for record in itertools.islice(consumer, count)]
            if commit:
                consumer.commit({tp: OffsetAndMetadata(consumer.position(tp))})
        return taken

    assert polls(13, commit=True) == written[:13]
    assert group.peek.offsets(topic) == {0: "13"}
    group.fresh = False
    scala = group.scala(topic, options=("--max-messages", "11"))
    scala.tool.wait()
    assert scala.values == written[13:24]
    assert polls(10, commit=False) == written[24:34]
    assert group.peek.offsets(topic) == {0: "34"}


def test_a_pattern_takes_in_topics_that_are_created_later(group: MixedGroup) -> None:
    """The member leaves and joins again with the new topics' names."""
    first = group.topic(1, "metered")
    prefix = first.rpartition("-")[0]
    polling = PollingMember(group, pattern=f"^{prefix}-.*", consumer_id="p")
    try:
        values = group.write(3, first)
        group.await_values(values, polling)
        second = group.topic(2, "metered")
        values = group.write(3, second)
        group.await_values(values, polling)
        group.await_settled([first, second], ["p"])
    finally:
        polling.leave()
    group.await_committed(first)
    group.await_committed(second)


def test_a_slow_iteration_releases_partitions_between_two_records(group: MixedGroup) -> None:
    """It does not wait for all polled records, which could take longer than the others wait."""
    topic = group.topic(2)
    group.write(100, topic)
    received: list[str] = []

    class Listener:
        def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            received.append(f"assigned {len(assigned)}")

        def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            received.append(f"revoked {len(revoked)}")

        def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
            received.append(f"lost {len(lost)}")

    settings: dict[str, object] = {
        **TIMINGS,
        "zookeeper_connect": group.cluster.zookeeper_connect,
        "group_id": group.name,
        "consumer_id": "a",
        "auto_offset_reset": "earliest",
        "rebalance_max_retries": 8,
    }
    with KafkaConsumer(config=settings) as slow:
        slow.subscribe([topic], listener=Listener())
        records = iter(slow)
        first = next(records)
        other = PollingMember(group, topic, consumer_id="b")
        try:
            # This takes longer than the grace of a second, and does not use up the polled records.
            taken = [first]
            while len(received) < 2 and len(taken) < 90:
                wait_ms(20)
                taken.append(next(records))
            assert received[:2] == ["assigned 2", "revoked 1"]
            assert len(taken) < 90
            wait_until(lambda: len(other.assigned) == 1, what="the other one's share")
        finally:
            other.leave()


@pytest.mark.parametrize("both", [False, True], ids=["kafka", "both"])
def test_offsets_may_be_kept_in_kafka(group: MixedGroup, *, both: bool) -> None:
    """As with a connector, only partitions that a member owns are committed."""
    topic = group.topic(2)
    group.write(5, topic)

    def join() -> PollingMember:
        return PollingMember(
            group,
            topic,
            offsets_storage="kafka",
            dual_commit_enabled=both,
        )

    polling = join()
    try:
        group.await_values(group.writer.values, polling)
        in_kafka = KafkaOffsets(group.cluster, group.name)
        ends = dict.fromkeys(group.partitions(topic), 5)
        wait_until(lambda: in_kafka.offsets(ends) == ends, what=f"{ends} to be committed")
    finally:
        polling.leave()
    expected = {0: "5", 1: "5"} if both else {}
    assert group.peek.offsets(topic) == expected
    again = join()
    try:
        more = group.write(1, topic)
        group.await_values(more, again)
    finally:
        again.leave()
    assert sorted(again.values) == sorted(more)


def test_added_partitions_are_read_soon(group: MixedGroup) -> None:
    """A ZooKeeper watch reports them; no metadata refresh is waited for."""
    topic = group.topic(1)
    polling = PollingMember(group, topic, consumer_id="p", metadata_max_age_ms=300_000)
    try:
        group.await_values(group.write(1, topic), polling)
        group.cluster.add_partitions(topic, 3)
        group.await_settled([topic], ["p"])
        group.await_values(group.write(2, topic), polling)
    finally:
        polling.leave()


def test_a_member_recovers_from_an_expired_session(group: MixedGroup) -> None:
    """Its loss is reported, it joins again, and no message is missed."""
    topic = group.topic(4)
    with group.traffic(topic):
        polling = PollingMember(group, topic, consumer_id="p")
        group.fresh = False
        scala = group.scala(topic, "s")
        try:
            group.await_settled([topic], ["p", "s"])
            wait_until(lambda: len(polling.assigned) == 2, what="its share")
            group.cluster.expire_session(*polling.session)
            wait_until(lambda: "lost" in [value for value, _ in polling.received], what="the loss")
            group.await_settled([topic], ["p", "s"])
            wait_until(lambda: len(polling.assigned) == 2, what="its share again")
            scala.check_no_rebalance_failed()
            scala.leave()
            group.await_settled([topic], ["p"])
        finally:
            polling.leave()
    last = PollingMember(group, topic)
    try:
        group.await_values(group.writer.values, polling, scala, last)
    finally:
        last.leave()


def test_the_oldest_brokers_serve_a_poll(broker_of: BrokerOf, tmp_path: Path) -> None:
    """0.8.0 knows four requests, and closes the connection at others; no setting is needed."""
    group = MixedGroup(broker_of("0.8.0"), tmp_path)
    try:
        topic = group.topic(2)
        written = group.write(5, topic, codec=Codec.GZIP)
        settings: dict[str, object] = {
            **TIMINGS,
            "zookeeper_connect": group.cluster.zookeeper_connect,
            "group_id": group.name,
            "auto_offset_reset": "earliest",
        }
        with KafkaConsumer(topic, config=settings) as consumer:
            taken = [(record.value or b"").decode() for record in itertools.islice(consumer, 10)]
            ends = consumer.end_offsets(group.partitions(topic))
        assert sorted(taken) == sorted(written)
        assert set(ends.values()) == {5}
        assert group.peek.offsets(topic) == {0: "5", 1: "5"}
    finally:
        group.close()
