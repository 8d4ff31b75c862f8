"""A broker that hangs: calls end at their timeouts, and so does ``close``."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.interop.coordinated.conftest import GroupOn
from tests.support.clusters import BrokerOf, fresh_name, frozen
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer
from zkconsumer.errors import RequestTimedOut, ZkConsumerError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

VERSION = "3.9.1"
GRACE_S = 10.0


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Check that the block takes no longer than this, plus some time for a busy machine."""
    started = time.perf_counter()
    yield
    took = time.perf_counter() - started
    assert took < seconds + GRACE_S, f"took {took:.1f} s"


def member(cluster: Sandbox, topic: str) -> KafkaConsumer:
    """A consumer that reads the topic as a member of a group."""
    return KafkaConsumer(
        topic,
        bootstrap_servers=cluster.bootstrap_servers,
        bootstrap_timeout_ms=0,
        client_id="hung",
        group_id=fresh_name("hung"),
        auto_offset_reset="earliest",
        session_timeout_ms=6000,
        heartbeat_interval_ms=300,
    )


def own_threads() -> list[str]:
    """Return the threads of these consumers that are alive."""
    return [
        thread.name for thread in threading.enumerate() if thread.name.startswith("consumer hung")
    ]


def position_at_end(consumer: KafkaConsumer, tp: TopicPartition) -> int:
    """Return a position that needs a request to a broker."""
    consumer.seek_to_end(tp)
    position = consumer.position(tp, timeout_ms=500)
    if position is None:
        raise RequestTimedOut("None: not known in time")
    return position


CALLS: tuple[Callable[[KafkaConsumer, TopicPartition], object], ...] = (
    lambda consumer, tp: consumer.commit({tp: OffsetAndMetadata(1)}, timeout_ms=500),
    lambda consumer, tp: consumer.committed(tp, timeout_ms=500),
    lambda consumer, tp: consumer.end_offsets([tp], timeout_ms=500),
    lambda consumer, _: consumer.topics(timeout_ms=500),
    position_at_end,
)


def test_calls_and_close_end_in_time(group_on: GroupOn) -> None:
    """Every call that needs a broker times out with an error; no thread is left."""
    group = group_on(VERSION)
    topic = group.topic(1)
    tp = TopicPartition(topic, 0)
    group.write([tp], 5)
    consumer = member(group.cluster, topic)
    wait_until(lambda: consumer.poll(timeout_ms=500), what="records")
    with frozen(group.cluster, 0):
        with within(0.5):
            assert consumer.poll(timeout_ms=500) == {}
        for call in CALLS:
            with within(0.5), pytest.raises(ZkConsumerError, match=r"500 ms|in time"):
                call(consumer, tp)
        with within(2):
            consumer.close(timeout_ms=2000)
    assert own_threads() == []


@pytest.mark.parametrize("polled_ms", [0, 300])
def test_a_consumer_that_never_connected_is_closed_in_time(
    broker_of: BrokerOf, polled_ms: int
) -> None:
    """It is connecting, requesting API versions, or looking for a coordinator."""
    cluster = broker_of(VERSION)
    topic = fresh_name("hung")
    cluster.create_topic(topic)
    with frozen(cluster, 0):
        consumer = member(cluster, topic)
        with within(polled_ms / 1000):
            assert consumer.poll(timeout_ms=polled_ms) == {}
        with within(1):
            consumer.close(timeout_ms=1000)
    assert own_threads() == []


def test_reading_continues_when_the_broker_resumes(group_on: GroupOn) -> None:
    """After the freeze all records come, each once."""
    group = group_on(VERSION)
    topic = group.topic(1)
    tp = TopicPartition(topic, 0)
    sent = group.write([tp], 5)
    with member(group.cluster, topic) as consumer:
        found: list[str] = []

        def poll() -> bool:
            for records in consumer.poll(timeout_ms=200).values():
                found.extend((record.value or b"").decode() for record in records)
            return len(found) >= len(sent)

        wait_until(poll, what="the first records")
        with frozen(group.cluster, 0):
            for _ in range(5):
                poll()
        sent += group.write([tp], 5)
        wait_until(poll, what="the later records")
        assert found == sent


def test_an_unreachable_broker() -> None:
    """Polls return nothing, lookups raise, and close does not wait."""
    consumer = KafkaConsumer(
        "nowhere",
        bootstrap_servers="127.0.0.1:1",
        bootstrap_timeout_ms=0,
        client_id="hung",
        group_id="nobody",
    )
    with within(0.3):
        assert consumer.poll(timeout_ms=300) == {}
    with within(0.5), pytest.raises(ZkConsumerError, match=r"127\.0\.0\.1:1"):
        consumer.topics(timeout_ms=500)
    with within(0):
        consumer.close()
    assert own_threads() == []
