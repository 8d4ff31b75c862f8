"""The calls of the poll API on real brokers: an old one, the first with groups, and a new one."""

import itertools
import signal
import subprocess
import sys
import threading
from collections.abc import Collection
from contextlib import closing

import pyarrow as pa
import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.forks import in_forked_child
from tests.support.waiting import PROMPT_MS, wait_until
from zkconsumer import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
from zkconsumer.clock import SystemClock
from zkconsumer.consumer.slice_polls import SliceConsumer
from zkconsumer.errors import (
    ConsumerForked,
    GroupFailed,
    OffsetOutOfRange,
    RequestTimedOut,
    TransportError,
    UnsupportedVersion,
    Woken,
    ZkConsumerError,
)
from zkconsumer.model import Record
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
EACH = 50
OLDEST, FIRST_WITH_GROUPS, NEW = "0.8.2.2", "0.9.0.1", "3.9.1"
WITH_HEADERS = """
import sys, kafka
producer = kafka.KafkaProducer(bootstrap_servers=sys.argv[1])
for n in range(5):
    text = b"%d" % n
    producer.send(sys.argv[2], text, timestamp_ms=1000000 + n * 100, headers=[("n", text)]).get(30)
producer.close()
"""
"""kafka-python's producer, in a process of its own: it writes headers."""

each_generation = pytest.mark.parametrize("version", [OLDEST, FIRST_WITH_GROUPS, NEW])
with_groups = pytest.mark.parametrize("version", [FIRST_WITH_GROUPS, NEW])


def write(broker: Sandbox, topic: str, first: int, following: int, partitions: int = 2) -> None:
    """Write records to each partition; their values are the numbers in [first, following)."""
    with closing(BatchProducer(broker.brokers)) as producer:
        producer.write(
            {
                TopicPartition(topic, number): [
                    Record(0, b"k", b"%d" % n) for n in range(first, following)
                ]
                for number in range(partitions)
            }
        )


def filled(broker: Sandbox, partitions: int = 2) -> str:
    """Create a topic with ``EACH`` records in each partition, whose values are their offsets."""
    topic = fresh_name("calls")
    broker.create_topic(topic, partitions=partitions)
    write(broker, topic, 0, EACH, partitions)
    return topic


def consumer_of(broker: Sandbox, *topics: str, **settings: object) -> KafkaConsumer:
    """Create a consumer that starts at the beginning; in a group, with a session of six seconds."""
    given: dict[str, object] = {
        "bootstrap_servers": broker.bootstrap_servers,
        "auto_offset_reset": "earliest",
        "value_deserializer": int,
        "metadata_max_age_ms": 300,
        **settings,
    }
    if "group_id" in given:
        given = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 500, **given}
    return KafkaConsumer(*topics, config=given)


def poll_for(consumer: KafkaConsumer, count: int, timeout_s: float = 20) -> list[tuple[int, int]]:
    """Poll until this many records came; return partition and offset of each, in order."""
    seen: list[tuple[int, int]] = []

    def enough() -> bool:
        for records in consumer.poll(timeout_ms=200).values():
            assert all(record.value == record.offset for record in records)
            seen.extend((record.partition, record.offset) for record in records)
        return len(seen) >= count

    wait_until(enough, timeout_s=timeout_s, what=f"{count} records")
    return seen


def all_of(
    partitions: Collection[int], first: int = 0, following: int = EACH
) -> set[tuple[int, int]]:
    """Return partition and offset of all records."""
    return set(itertools.product(partitions, range(first, following)))


@each_generation
def test_without_a_group_a_topic_is_read_whole(broker_of: BrokerOf, version: str) -> None:
    """By iteration; every lookup and every move of the position works."""
    broker = broker_of(version)
    topic = filled(broker)
    with consumer_of(broker, topic, consumer_timeout_ms=1_500) as consumer:
        seen = [(record.partition, record.offset) for record in consumer]
        assert len(seen) == 2 * EACH
        assert set(seen) == all_of([0, 1])
        both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
        assert consumer.assignment() == set(both)
        assert consumer.beginning_offsets(both) == dict.fromkeys(both, 0)
        assert consumer.end_offsets(both) == dict.fromkeys(both, EACH)
        assert consumer.position(both[0]) == EACH
        assert consumer.highwater(both[0]) == EACH
        assert topic in consumer.topics()
        assert consumer.partitions_for_topic(topic) == {0, 1}
        assert consumer.partitions_for_topic(fresh_name("none")) == set()
        assert consumer.bootstrap_connected()
        consumer.seek(both[0], EACH - 2)
        consumer.pause(both[1])
        consumer.seek_to_beginning(both[1])
        assert poll_for(consumer, 2) == [(0, EACH - 2), (0, EACH - 1)]
        consumer.resume(both[1])
        assert set(poll_for(consumer, EACH)) == all_of([1])
        metrics = consumer.metrics()["consumer-fetch-manager-metrics"]
        assert metrics["records-consumed-total"] == 3 * EACH + 2
        assert metrics["records-lag-max"] == 0


@with_groups
def test_a_group_continues_where_it_committed(broker_of: BrokerOf, version: str) -> None:
    """Commits are synchronous, asynchronous, and automatic at the close."""
    broker = broker_of(version)
    topic, group = filled(broker), fresh_name("group")
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    received: list[Exception | None] = []
    with consumer_of(broker, topic, group_id=group, enable_auto_commit=False) as consumer:
        assert set(poll_for(consumer, 2 * EACH)) == all_of([0, 1])
        assert consumer.committed(first) is None
        consumer.commit({first: OffsetAndMetadata(10, "by hand")})
        assert consumer.committed(first, metadata=True) == OffsetAndMetadata(10, "by hand")
        consumer.commit_async(
            {second: OffsetAndMetadata(20)}, lambda _, error: received.append(error)
        )
        wait_until(lambda: consumer.poll(50) or received, what="the callback")
        assert received == [None]
    with consumer_of(broker, topic, group_id=group) as consumer:
        seen = poll_for(consumer, 2 * EACH - 30)
        assert set(seen) == all_of([0], 10) | all_of([1], 20)
    with consumer_of(broker, topic, group_id=group) as consumer:
        assert consumer.committed(first) == consumer.committed(second) == EACH
        write(broker, topic, EACH, EACH + 1)
        assert set(poll_for(consumer, 2)) == all_of([0, 1], EACH, EACH + 1)


@with_groups
def test_assigned_partitions_commit_without_joining(broker_of: BrokerOf, version: str) -> None:
    """The next consumer continues at the committed offset."""
    broker = broker_of(version)
    topic, group = filled(broker), fresh_name("group")
    tp = TopicPartition(topic, 1)
    for first in (0, 7):
        with consumer_of(broker, group_id=group, enable_auto_commit=False) as consumer:
            consumer.assign([tp])
            assert consumer.position(tp) == first
            assert poll_for(consumer, EACH - first)[0] == (1, first)
            consumer.commit({tp: OffsetAndMetadata(7)})


class RecordingListener(ConsumerRebalanceListener):
    """Records its calls."""

    def __init__(self) -> None:
        self.events: list[tuple[str, set[int]]] = []

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """See ``ConsumerRebalanceListener``."""
        self.events.append(("revoked", {tp.partition for tp in revoked}))

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """See ``ConsumerRebalanceListener``."""
        self.events.append(("assigned", {tp.partition for tp in assigned}))


def test_two_members_share_and_nothing_is_read_twice(broker_of: BrokerOf) -> None:
    """What one member processed is committed before the other gets its partition."""
    broker = broker_of(NEW)
    topic, group = filled(broker), fresh_name("group")
    listener = RecordingListener()
    with consumer_of(broker, group_id=group) as one, consumer_of(broker, group_id=group) as two:
        one.subscribe([topic], listener=listener)
        poll_for(one, 2 * EACH)
        two.subscribe([topic])

        def shared() -> bool:
            assert two.poll(50) == {}
            assert one.poll(50) == {}
            return len(one.assignment()) == len(two.assignment()) == 1

        wait_until(shared, what="each to have one")
        write(broker, topic, EACH, EACH + 5)
        [mine] = (tp.partition for tp in one.assignment())
        assert set(poll_for(one, 5)) == all_of([mine], EACH, EACH + 5)
        assert set(poll_for(two, 5)) == all_of([1 - mine], EACH, EACH + 5)
        two.close()
        wait_until(lambda: one.poll(50) or len(one.assignment()) == 2, what="one to have both")
    assert listener.events == [
        ("assigned", {0, 1}),
        ("revoked", {0, 1}),
        ("assigned", {mine}),
        ("revoked", {mine}),
        ("assigned", {0, 1}),
        ("revoked", {0, 1}),
    ]


def test_a_pattern_finds_topics_that_are_created_later(broker_of: BrokerOf) -> None:
    """A subscription by pattern creates no topic itself."""
    broker = broker_of(NEW)
    prefix = fresh_name("pattern")
    with consumer_of(broker, group_id=fresh_name("group")) as consumer:
        consumer.subscribe(pattern=f"^{prefix}-[ab]")
        assert consumer.poll(1_000) == {}
        for name in ("a", "c"):
            broker.create_topic(f"{prefix}-{name}")
            write(broker, f"{prefix}-{name}", 0, 5, partitions=1)
        assert len(poll_for(consumer, 5)) == 5
        assert consumer.subscription() == {f"{prefix}-a"}
        broker.create_topic(f"{prefix}-b")
        write(broker, f"{prefix}-b", 0, 5, partitions=1)
        assert len(poll_for(consumer, 5)) == 5
        assert consumer.subscription() == {f"{prefix}-a", f"{prefix}-b"}


@each_generation
def test_a_missing_topic_is_read_once_it_is_created(broker_of: BrokerOf, version: str) -> None:
    """The subscription does not create it."""
    broker = broker_of(version)
    topic = fresh_name("later")
    with consumer_of(broker, topic) as consumer:
        assert consumer.poll(1_000) == {}
        assert topic not in consumer.topics()
        broker.create_topic(topic)
        write(broker, topic, 0, 3, partitions=1)
        assert poll_for(consumer, 3) == [(0, 0), (0, 1), (0, 2)]


def test_fetch_sessions_can_be_turned_off(broker_of: BrokerOf) -> None:
    """A setting helps those who suspect them of a fault."""
    broker = broker_of(NEW)
    topic = filled(broker)
    with consumer_of(broker, topic, enable_incremental_fetch_sessions=False) as consumer:
        assert set(poll_for(consumer, 2 * EACH)) == all_of([0, 1])


def test_offsets_are_found_by_time(broker_of: BrokerOf) -> None:
    """Brokers before 0.10.1 can't, and the error names their version."""
    broker = broker_of(NEW)
    topic = fresh_name("times")
    broker.create_topic(topic)
    tp = TopicPartition(topic, 0)
    program = [sys.executable, "-c", WITH_HEADERS, broker.bootstrap_servers, topic]
    subprocess.run(program, check=True, timeout=60)
    with consumer_of(broker) as consumer:
        found = consumer.offsets_for_times({tp: 1_000_150})[tp]
        assert found is not None
        assert (found.offset, found.timestamp) == (2, 1_000_200)
        assert consumer.offsets_for_times({tp: 2_000_000}) == {tp: None}
        consumer.assign([tp])
        consumer.seek(tp, found.offset)
        record = next(consumer)
        assert (record.offset, record.timestamp, record.headers) == (2, 1_000_200, [("n", b"2")])
        batch = consumer.poll_arrow(timeout_ms=5_000)
        assert batch.column("offset").to_pylist() == [3, 4]
        assert batch.column("headers")[0].as_py() == [{"key": "n", "value": b"3"}]
    with consumer_of(broker_of(FIRST_WITH_GROUPS)) as consumer:
        old = filled(broker_of(FIRST_WITH_GROUPS))
        with pytest.raises(UnsupportedVersion, match=r"Kafka 0\.9"):
            consumer.offsets_for_times({TopicPartition(old, 0): 1})


def test_pyarrow_reads_from_a_consumer_directly(broker_of: BrokerOf) -> None:
    """A reader gets all records until none comes; the next reader gets later ones."""
    broker = broker_of(NEW)
    topic = filled(broker)
    wanted = pa.schema([("partition", pa.int32()), ("value", pa.string())])
    with consumer_of(broker, topic, consumer_timeout_ms=3_000) as consumer:
        table = pa.RecordBatchReader.from_stream(consumer).read_all()
        places = zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True)
        assert sorted(places) == sorted(all_of([0, 1]))
        assert table["value"].to_pylist() == [b"%d" % n for n in table["offset"].to_pylist()]
        write(broker, topic, EACH, EACH + 2, partitions=1)
        reader = pa.RecordBatchReader.from_stream(consumer, schema=wanted)
        assert reader.read_all().to_pydict() == {
            "partition": [0, 0],
            "value": [str(EACH), str(EACH + 1)],
        }


def test_an_offset_out_of_range_is_raised_without_a_reset_policy(broker_of: BrokerOf) -> None:
    """It is raised until the caller seeks; the other partition is read on."""
    broker = broker_of(NEW)
    topic = filled(broker)
    bad, good = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with consumer_of(broker, auto_offset_reset="none") as consumer:
        consumer.assign([bad, good])
        consumer.seek(bad, 10_000)
        consumer.seek(good, 0)
        found: list[tuple[int, int]] = []
        raised: list[OffsetOutOfRange] = []

        def both() -> bool:
            # The error and the records may come in either order.
            try:
                polled = consumer.poll(timeout_ms=200).values()
            except OffsetOutOfRange as error:
                raised.append(error)
            else:
                found.extend(
                    (record.partition, record.offset) for part in polled for record in part
                )
            return bool(raised) and len(found) == EACH

        wait_until(both, what="the error, and the other partition's records")
        assert set(found) == all_of([1])
        assert {tp for error in raised for tp in error.partitions} == {bad}
        consumer.seek_to_beginning(bad)
        assert set(poll_for(consumer, EACH)) == all_of([0])


def test_wakeup_from_another_thread_and_from_a_signal(broker_of: BrokerOf) -> None:
    """It ends a poll at once."""
    broker = broker_of(NEW)
    with consumer_of(broker, filled(broker), auto_offset_reset="latest") as consumer:
        consumer.poll(1_000)
        timer = threading.Timer(0.2, consumer.wakeup)
        timer.start()
        began_ms = SystemClock().now_ms()
        with pytest.raises(Woken):
            consumer.poll(60_000)
        timer.join()
        before = signal.signal(signal.SIGALRM, lambda *_: consumer.wakeup())
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Woken):
                next(consumer)
        finally:
            signal.signal(signal.SIGALRM, before)
        assert SystemClock().now_ms() - began_ms < PROMPT_MS


def test_a_broker_that_hangs_blocks_no_call(broker_of: BrokerOf) -> None:
    """A poll, a commit, a lookup and a close end within their timeouts."""
    broker = broker_of(NEW)
    topic = filled(broker)
    consumer = consumer_of(broker, topic, group_id=fresh_name("group"))
    poll_for(consumer, 2 * EACH)
    broker.pause_broker(0)
    try:
        began_ms = SystemClock().now_ms()
        consumer.poll(300)
        with pytest.raises(ZkConsumerError):
            consumer.commit(timeout_ms=500)
        with pytest.raises(RequestTimedOut):
            consumer.committed(TopicPartition(topic, 0), timeout_ms=500)
        consumer.close(timeout_ms=2_000)
        assert SystemClock().now_ms() - began_ms < PROMPT_MS
    finally:
        broker.resume_broker(0)


def test_an_unreachable_address_is_named() -> None:
    """Calls that need a response raise; a poll goes on trying."""
    with KafkaConsumer(
        "t",
        bootstrap_servers="127.0.0.1:1",
        bootstrap_timeout_ms=0,
        group_id="g",
        retry_backoff_ms=50,
    ) as consumer:
        assert consumer.poll(300) == {}
        assert not consumer.bootstrap_connected()
        with pytest.raises(TransportError, match=r"127\.0\.0\.1:1"):
            consumer.topics(timeout_ms=300)


def test_a_poll_in_a_forked_child_raises(broker_of: BrokerOf) -> None:
    """It would hang, or break the parent's connections."""
    broker = broker_of(NEW)
    with consumer_of(broker, filled(broker)) as consumer:
        poll_for(consumer, 2 * EACH)

        def child() -> str:
            try:
                consumer.poll()
            except ConsumerForked as error:
                return f"raised: {error}"
            return "not raised"

        assert in_forked_child(child).startswith("raised: consumer")
        assert consumer.poll(50) == {}


def test_groups_need_brokers_with_coordinators(broker_of: BrokerOf) -> None:
    """The error names the missing request or the alternative."""
    broker = broker_of(OLDEST)
    topic = filled(broker)
    with (
        consumer_of(broker, topic, group_id=fresh_name("group")) as consumer,
        pytest.raises((UnsupportedVersion, GroupFailed)) as raised,
    ):
        wait_until(lambda: consumer.poll(500), what="the error")
    assert "zookeeper_connect" in str(raised.value) or "JOIN_GROUP" in str(raised.value)


def test_a_missing_partition_hides_no_other_end_offset(broker_of: BrokerOf) -> None:
    """This holds for the consumer of slices; all other calls raise."""
    broker = broker_of("3.9.1")
    topic = filled(broker)
    known = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    settings = {"bootstrap.servers": broker.bootstrap_servers}
    with SliceConsumer(settings) as consumer:
        found = consumer.known_end_offsets([*known, TopicPartition(topic, 99)], 1_000)
        assert found == dict.fromkeys(known, EACH)
        assert consumer.known_end_offsets([], 1_000) == {}
