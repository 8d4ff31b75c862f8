"""The producer knows exactly what was acknowledged."""

import pytest

from tests.fakes.fake_script import Close, Fail, Hang, ScriptedReply, Step
from tests.support.fake_net import FakeNet, fake_net
from tests.support.set_producer import Producer
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    BrokerError,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
)
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.settings import BatchSettings
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.produce import ProduceResponse

TP = TopicPartition("t", 0)
RECORDS = [Record(7, b"k", b"one"), Record(7, None, b"two")]
TIMEOUT_MS = 500
SETTINGS = BatchSettings(timeout_ms=TIMEOUT_MS, retries=3, backoff_ms=70)


class Waits(list[int]):
    """A function that records waits, and does not wait."""

    def __call__(self, duration_ms: int) -> None:
        self.append(duration_ms)


@pytest.fixture
def net() -> FakeNet:
    """Two brokers; the first leads the partition."""
    net = fake_net(2)
    net.cluster.create_topic("t", replicas=2)
    return net


@pytest.fixture
def waits() -> Waits:
    """The producer's waits."""
    return Waits()


def producer(net: FakeNet, waits: Waits, settings: BatchSettings = SETTINGS) -> Producer:
    """Return a producer in memory."""
    return Producer(net.brokers.addresses, connector=net.network, settings=settings, wait=waits)


def written(net: FakeNet) -> list[Record]:
    """Return the records in the log."""
    data = net.cluster.log(TP).read(0, 1 << 20)
    decoded = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=1 << 20)
    return list(decoded.records)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_each_set_has_its_base_offset(net: FakeNet, waits: Waits, codec: Codec) -> None:
    """Each send returns the set's first offset, and the log has the records."""
    sender = producer(net, waits)
    assert [sender.send(TP, RECORDS, codec=codec) for _ in range(3)] == [0, 2, 4]
    assert [(record.offset, record.value) for record in written(net)][-2:] == [
        (4, b"one"),
        (5, b"two"),
    ]
    assert waits == []


def test_connections_are_kept(net: FakeNet, waits: Waits) -> None:
    """One connection to a leader serves all sets; closing the producer closes it."""
    sender = producer(net, waits)
    sender.send(TP, RECORDS)
    opened = list(net.brokers[0]._conversations)
    sender.send(TP, RECORDS)
    assert net.brokers[0]._conversations == opened
    sender.close()
    assert all(broker_conversation.is_over for broker_conversation in opened)


@pytest.mark.parametrize(
    "step",
    [
        Close(),
        Hang(),
        Fail(ErrorCode.NOT_ENOUGH_REPLICAS),
        ScriptedReply(ProduceResponse(topics=())),
    ],
)
def test_retriable_failures_are_retried(net: FakeNet, waits: Waits, step: Step) -> None:
    """A retriable failure costs a pause and another attempt."""
    net.brokers[0].script(ApiKey.PRODUCE, step, step)
    assert producer(net, waits).send(TP, RECORDS) == 0
    assert waits == [70, 70]


def test_a_moved_leader_is_found(net: FakeNet, waits: Waits) -> None:
    """When the leader has moved, the set is sent to the new one."""
    sender = producer(net, waits)
    sender.send(TP, RECORDS)
    net.cluster.move_leader(TP, 1)
    assert sender.send(TP, RECORDS) == 2
    assert waits == [70]
    assert net.brokers[1].requests


def test_attempts_are_limited(net: FakeNet, waits: Waits) -> None:
    """When every attempt fails, the last failure is raised."""
    net.cluster.move_leader(TP, None)
    with pytest.raises(BrokerError, match="t-0 has no leader: LEADER_NOT_AVAILABLE") as caught:
        producer(net, waits).send(TP, RECORDS)
    assert caught.value.topic_partition == TP
    assert waits == [70] * 3


def test_unreachable_brokers_are_an_error(net: FakeNet, waits: Waits) -> None:
    """When no broker can be reached, the last transport error is raised."""
    for broker in net.brokers:
        broker.stop()
    with pytest.raises(TransportError, match="no broker responded to the request for t"):
        producer(net, waits).send(TP, RECORDS)
    assert len(waits) == 3


def test_a_response_without_our_partition_is_an_error(net: FakeNet, waits: Waits) -> None:
    """A response without our partition violates the protocol."""
    net.brokers[0].script(ApiKey.PRODUCE, *[ScriptedReply(ProduceResponse(topics=()))] * 4)
    with pytest.raises(RemoteProtocolError, match="its response does not include t-0"):
        producer(net, waits).send(TP, RECORDS)


def test_final_refusals_are_raised_at_once(net: FakeNet, waits: Waits) -> None:
    """A failure that would repeat is not retried."""
    with pytest.raises(BrokerError, match=r"refused a set for t-0: MESSAGE_TOO_LARGE \(10\)"):
        producer(net, waits).send(TP, [Record(0, None, bytes(2_000_000))])
    with pytest.raises(LocalProtocolError):
        producer(net, waits).send(TopicPartition("t" * 40_000, 0), RECORDS)
    assert waits == []
