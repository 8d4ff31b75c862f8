"""The public producer on brokers of every generation: all is written in order and confirmed."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.batch_heads import heads_of
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.waiting import wait_until
from zkconsumer import FutureRecordMetadata, KafkaConsumer, KafkaProducer, Producer, TopicPartition
from zkconsumer.errors import (
    ConsumerClosed,
    ConsumerForked,
    IllegalArgumentError,
    IllegalState,
    KafkaTimeoutError,
    LocalProtocolError,
    MessageSizeTooLargeError,
    NoBrokersAvailable,
)
from zkconsumer.records.consumer_record import ConsumerRecord
from zkconsumer.sandbox import Sandbox
from zkconsumer.serializer import JsonSerializer

pytestmark = pytest.mark.sandbox

each_generation = pytest.mark.parametrize("version", ["0.8.2.2", "0.10.2.2", "0.11.0.3", "3.9.1"])


def topic_of(broker: Sandbox, partitions: int = 1) -> str:
    """Create a topic."""
    topic = fresh_name("produced")
    broker.create_topic(topic, partitions)
    return topic


def read(broker: Sandbox, topic: str, count: int) -> list[ConsumerRecord]:
    """Read ``count`` records of a topic."""
    found: list[ConsumerRecord] = []
    with KafkaConsumer(
        topic, bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:

        def enough() -> bool:
            for records in consumer.poll(timeout_ms=200).values():
                found.extend(records)
            return len(found) >= count

        wait_until(enough, what=f"{count} records")
    return found


@each_generation
@pytest.mark.parametrize("codec", [None, "gzip"])
def test_records_are_where_their_futures_say(
    broker_of: BrokerOf, version: str, codec: str | None
) -> None:
    """Each record is there once, in order, in the partition that the Java client would choose."""
    broker = broker_of(version)
    topic = topic_of(broker, 3)
    with KafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, compression_type=codec, batch_size=300
    ) as producer:
        assert producer.bootstrap_connected()
        assert producer.partitions_for(topic) == {0, 1, 2}
        futures = [
            producer.send(topic, b"%d" % number, key=b"key %d" % (number % 7))
            for number in range(500)
        ]
        producer.flush(30)
        assert all(future.is_done for future in futures)
        metadatas = [future.get() for future in futures]
    found = {
        (consumer_record.partition, consumer_record.offset): consumer_record
        for consumer_record in read(broker, topic, 500)
    }
    assert len(found) == 500
    for number, metadata in enumerate(metadatas):
        record = found[metadata.partition, metadata.offset]
        assert (record.key, record.value) == (b"key %d" % (number % 7), b"%d" % number)
        assert record.timestamp == (-1 if version.startswith("0.8") else metadata.timestamp)
        assert (metadata.serialized_key_size, metadata.serialized_header_size) == (5, -1)
    for partition in range(3):
        offsets = [metadata.offset for metadata in metadatas if metadata.partition == partition]
        assert offsets == list(range(len(offsets)))


@each_generation
def test_headers_are_written_or_refused(broker_of: BrokerOf, version: str) -> None:
    """Brokers before 0.11 can't store them: that record fails, the others are written."""
    broker = broker_of(version)
    topic = topic_of(broker)
    with Producer(
        bootstrap_servers=broker.bootstrap_servers,
        value_serializer=JsonSerializer(),
        key_serializer=str.encode,
        linger_ms=20,
    ) as producer:
        first = producer.send(topic, {"a": 1}, key="k", partition=0, timestamp_ms=1_700_000_000_000)
        headed = producer.send(topic, {"a": 2}, headers=[("h", b"1"), ("n", None)])
        last = producer.send(topic, None, key="k")
        assert first.get(30).timestamp == 1_700_000_000_000
        if version.startswith(("0.8", "0.10")):
            with pytest.raises(LocalProtocolError, match="has headers"):
                headed.get(30)
            assert headed.failed()
            values = [b'{"a": 1}', None]
        else:
            assert headed.get(30).serialized_header_size == 3
            values = [b'{"a": 1}', b'{"a": 2}', None]
        assert last.get(30).offset == len(values) - 1
    found = read(broker, topic, len(values))
    assert [record.value for record in found] == values
    if len(values) == 3:
        assert found[1].headers == [("h", b"1"), ("n", None)]


def test_a_broker_that_restarts_gets_each_record_once(broker_of: BrokerOf) -> None:
    """Records are sent all the time: none is lost, repeated or out of order."""
    broker = broker_of("3.9.1")
    topic = topic_of(broker, 2)
    futures: list[FutureRecordMetadata] = []
    stop = threading.Event()
    with KafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, linger_ms=2, request_timeout_ms=5_000
    ) as producer:

        def write() -> None:
            while not stop.wait(0.001):
                number = len(futures)
                futures.append(producer.send(topic, b"%d" % number, partition=number % 2))

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            wait_until(lambda: len(futures) > 200 and futures[200].is_done, what="some records")
            node = broker.brokers[0].id
            broker.kill_broker(node)
            broker.start_broker(node)
            count = len(futures)
            wait_until(lambda: len(futures) > count + 200, what="more records")
            stop.set()
            writing.result()
        producer.flush(60)
        assert not [future.exception for future in futures if future.failed()]
    found = read(broker, topic, len(futures))
    for partition in range(2):
        numbers = [int(record.value or b"") for record in found if record.partition == partition]
        assert numbers == list(range(partition, len(futures), 2))
    assert {head.producer_id for head in heads_of(broker, TopicPartition(topic, 0))} != {-1}


def test_what_cannot_be_written_fails_alone(broker_of: BrokerOf) -> None:
    """One record is too large for the producer, one for the broker; the others are written."""
    broker = broker_of("3.9.1")
    topic = topic_of(broker)
    results: list[object] = []
    with KafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, max_request_size=3_000_000, linger_ms=50
    ) as producer:
        first = producer.send(topic, b"1")
        for size in (2_000_000, 4_000_000):
            future = producer.send(topic, b"x" * size).add_errback(results.append)
            with pytest.raises(MessageSizeTooLargeError):
                future.get(30)
        last = producer.send(topic, b"2").add_callback(results.append)
        assert (first.get(30).offset, last.get(30).offset) == (0, 1)
    assert [type(response).__name__ for response in results][2:] == ["RecordMetadata"]
    assert len(results) == 3


def test_mistakes_of_callers_are_errors(broker_of: BrokerOf) -> None:
    """They are raised at once, and the producer continues."""
    broker = broker_of("3.9.1")
    topic = topic_of(broker)
    refusals: list[BaseException] = []

    def waits(_: object) -> None:
        for wait in (producer.flush, producer.send(topic, b"4").get):
            try:
                wait(5)
            except IllegalState as error:
                refusals.append(error)

    with KafkaProducer(bootstrap_servers=broker.bootstrap_servers, max_block_ms=2_000) as producer:
        wrong: list[Callable[[], object]] = [
            lambda: producer.send(topic, "text"),
            lambda: producer.send(topic, b"1", partition=1),
            lambda: producer.send(topic, b"1", headers=[("h", "text")]),  # type: ignore[list-item]
            lambda: producer.send("", b"1"),
        ]
        for call in wrong:
            with pytest.raises(IllegalArgumentError):
                call()
        producer.send(topic, b"3").add_callback(waits)
        producer.flush(30)
        wait_until(lambda: len(refusals) == 2, what="both refusals")
        child = os.fork()
        if not child:
            try:
                producer.send(topic, b"5")
            except ConsumerForked:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    with pytest.raises(ConsumerClosed):
        producer.send(topic, b"6")
    with pytest.raises(NoBrokersAvailable):
        KafkaProducer(bootstrap_servers="127.0.0.1:9", bootstrap_timeout_ms=300)


def test_without_brokers_futures_fail_and_senders_wait_for_buffer_space(
    broker_of: BrokerOf,
) -> None:
    """Both have time and memory limits, and closing does not hang."""
    broker = broker_of("3.9.1")
    topic = topic_of(broker)
    producer = KafkaProducer(
        bootstrap_servers=broker.bootstrap_servers,
        buffer_memory=10_000,
        max_block_ms=500,
        delivery_timeout_ms=3_000,
        request_timeout_ms=1_000,
    )
    node = broker.brokers[0].id
    producer.send(topic, b"there").get(30)
    broker.stop_broker(node)
    try:
        late = producer.send(topic, b"x" * 9_900)
        with pytest.raises(KafkaTimeoutError, match="no buffer space"):
            producer.send(topic, b"x" * 200)
        with pytest.raises(KafkaTimeoutError, match=r"within 0\.1 s"):
            late.get(0.1)
        wait_until(lambda: late.is_done, what="the time-out of delivery")
        assert late.failed()
        lost = producer.send(topic, b"lost")
        producer.close(timeout=0.2)
        with pytest.raises(IllegalState):
            lost.get()
    finally:
        broker.start_broker(node)
