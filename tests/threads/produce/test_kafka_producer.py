"""Wrong calls of the public producer, and what its callers wait for, without a broker."""

import sys
from collections.abc import Iterator

import pytest

from tests.support.fake_net import FakeNet, fake_net
from zkconsumer import KafkaProducer
from zkconsumer.errors import ConfigError, ConsumerForked, IllegalArgumentError
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.produce import kafka_producer

LONG_MS = 3_600_000


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> FakeNet:
    """A broker in memory, to which all producers connect; topic ``t`` has two partitions."""
    net = fake_net()
    net.cluster.create_topic("t", partitions=2)

    def dialer(settings: ClientSettings, **_: object) -> BrokerDialer:
        return dialer_of(settings, connector=net.network)

    monkeypatch.setattr(kafka_producer, "dialer_of", dialer)
    return net


def connected_producer(net: FakeNet, **settings: object) -> KafkaProducer:
    """A producer to the broker in memory."""
    broker = net.brokers.addresses[0]
    return KafkaProducer({"bootstrap.servers": f"{broker.host}:{broker.port}"}, **settings)


@pytest.fixture
def producer(net: FakeNet) -> Iterator[KafkaProducer]:
    """A producer whose records wait for a flush."""
    with connected_producer(net, linger_ms=LONG_MS, delivery_timeout_ms=2 * LONG_MS) as producer:
        yield producer


@pytest.mark.parametrize("stamp", [1.5, "5", -1, 2**63])
def test_a_timestamp_is_whole_milliseconds(producer: KafkaProducer, stamp: object) -> None:
    """Anything else is refused at once, such as the float ``time.time() * 1000``."""
    with pytest.raises(IllegalArgumentError, match="timestamp_ms is"):
        producer.send("t", b"1", timestamp_ms=stamp)  # type: ignore[arg-type]


@pytest.mark.parametrize("partition", [1.0, "1", 2, -1, [1]])
def test_a_partition_is_a_number_of_the_topic(producer: KafkaProducer, partition: object) -> None:
    """Anything else is refused at once, before a partitioner sees it."""
    with pytest.raises(IllegalArgumentError, match="no partition"):
        producer.send("t", b"1", partition=partition)  # type: ignore[arg-type]


@pytest.mark.parametrize("timeout", ["1", float("nan"), [1]])
def test_a_time_out_of_close_is_a_number(net: FakeNet, timeout: object) -> None:
    """Anything else is refused, and the producer stays open."""
    with connected_producer(net, linger_ms=0) as producer:
        with pytest.raises(IllegalArgumentError, match="timeout is"):
            producer.close(timeout)  # type: ignore[arg-type]
        assert producer.send("t", b"1").get(10).offset == 0


def test_close_may_wait_without_a_limit(net: FakeNet) -> None:
    """Infinite seconds are no limit, as for the results of sends."""
    producer = connected_producer(net, linger_ms=LONG_MS, delivery_timeout_ms=2 * LONG_MS)
    sent = producer.send("t", b"1")
    producer.close(float("inf"))
    assert sent.get(0).offset == 0


class ClosingSerializer:
    """A serializer that counts how often it is closed."""

    def __init__(self) -> None:
        self.closed = 0

    def __call__(self, value: bytes) -> bytes:
        return value

    def close(self) -> None:
        self.closed += 1


def test_serializers_are_closed_once(net: FakeNet) -> None:
    """One for keys and values is one, and a second close of the producer does nothing."""
    serializer = ClosingSerializer()
    producer = connected_producer(net, key_serializer=serializer, value_serializer=serializer)
    producer.close()
    producer.close()
    assert serializer.closed == 1


def test_a_forked_child_does_not_wait_for_its_parents_futures(producer: KafkaProducer) -> None:
    """No thread of the child would ever resolve them; known results are available."""
    known = producer.send("t", b"1")
    producer.flush(10)
    pending = producer.send("t", b"2")
    producer._guard.forked = True
    try:
        assert known.get().offset == 0
        with pytest.raises(ConsumerForked):
            pending.get(0.1)
    finally:
        producer._guard.forked = False


def test_a_full_buffer_is_sent_at_once(net: FakeNet) -> None:
    """Otherwise senders would wait for ``linger_ms`` or ``max_block_ms``."""
    with connected_producer(
        net,
        buffer_memory=200,
        linger_ms=LONG_MS,
        delivery_timeout_ms=2 * LONG_MS,
        max_block_ms=10_000,
    ) as producer:
        futures = [producer.send("t", b"x" * 100, partition=place % 2) for place in range(5)]
        assert all(future.is_done for future in futures[:-1])


def test_a_record_may_not_linger_until_it_is_too_old(net: FakeNet) -> None:
    """It would fail without an attempt."""
    with pytest.raises(ConfigError, match="linger_ms"):
        connected_producer(net, linger_ms=120_000)


def test_a_callback_that_exits_ends_no_delivery(producer: KafkaProducer) -> None:
    """``sys.exit()`` would end the writer's thread only, and later futures would never resolve."""
    futures = [producer.send("t", b"%d" % number, partition=0) for number in range(3)]
    for future in futures:
        future.add_both(sys.exit)
    producer.flush(10)
    assert [future.get(5).offset for future in futures] == [0, 1, 2]
    last = producer.send("t", b"4", partition=0)
    producer.flush(10)
    assert last.get(0).offset == 3
