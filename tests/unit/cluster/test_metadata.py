"""Asking brokers about topics until one answers."""

from collections.abc import Sequence

import pytest

from tests.support.fake_net import LONG_MS, SHORT_MS, FakeNet, fake_net
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.metadata import MetadataReader
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import BrokerError, LocalProtocolError, TransportError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.scope import ThreadScope
from zkconsumer.testing.fake_script import Close, Fail, Hang, Raw, Step
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.metadata import MetadataRequest


@pytest.fixture
def net() -> FakeNet:
    """Three brokers, and a topic that each of them leads a partition of."""
    net = fake_net(3)
    net.cluster.create_topic("t", partitions=3)
    return net


def read(
    net: FakeNet, topics: Sequence[str], *, all_topics: bool = False, order: Sequence[int] = ()
) -> ClusterView:
    """Ask the brokers, in that order."""

    def put_in_order(brokers: list[Broker]) -> None:
        if order:
            brokers[:] = [net.brokers[number].address for number in order]

    reader = MetadataReader(net.connector.open, timeout_ms=SHORT_MS, shuffle=put_in_order)
    return reader.read(net.brokers.addresses, topics, all_topics=all_topics)


def asked(net: FakeNet) -> list[int]:
    """Which brokers were asked."""
    return [broker.id for broker in net.brokers if broker.requests]


def test_leaders_come_back(net: FakeNet) -> None:
    """One broker is asked, and says who leads what."""
    view = read(net, ["t"], order=[1, 0, 2])
    assert view.leaders == {
        TopicPartition("t", number): net.brokers[number].address for number in range(3)
    }
    assert asked(net) == [1]


@pytest.mark.parametrize("step", [Hang(), Close(), Raw(b"HTTP/1.1 400 Bad Request")])
def test_the_next_broker_is_asked(net: FakeNet, step: Step) -> None:
    """A broker that hangs, leaves or talks nonsense does not keep the others from answering."""
    net.brokers[2].script(ApiKey.METADATA, step)
    net.brokers[0].stop()
    view = read(net, ["t"], order=[0, 2, 1])
    assert set(view.leaders) == {TopicPartition("t", 1), TopicPartition("t", 2)}
    assert asked(net) == [1, 2]


def test_nobody_answers(net: FakeNet) -> None:
    """When no broker answers, the error names all of them and why."""
    net.brokers[0].stop()
    net.brokers[1].script(ApiKey.METADATA, Hang(), Hang())
    net.brokers[2].script(ApiKey.METADATA, Raw(bytes(100)))
    with pytest.raises(TransportError) as caught:
        read(net, ["t"])
    told = str(caught.value)
    assert "no broker answers about t" in told
    for part in ("fake-0:9092: can't connect", "fake-1:9092: no answer", "fake-2:9092): Frame:"):
        assert part in told


def test_nobody_to_ask(net: FakeNet) -> None:
    """Without any broker the error says so."""
    reader = MetadataReader(net.connector.open, timeout_ms=SHORT_MS, shuffle=lambda _: None)
    with pytest.raises(TransportError, match="no broker is registered"):
        reader.read([], ["t"])


def test_all_topics_only_on_demand(net: FakeNet) -> None:
    """An empty list, which asks for everything, is sent only by those who say so."""
    net.cluster.create_topic("other")
    with pytest.raises(LocalProtocolError, match="all_topics"):
        read(net, [])
    with pytest.raises(LocalProtocolError, match="all_topics"):
        read(net, ["t"], all_topics=True)
    assert asked(net) == []
    assert {tp.topic for tp in read(net, [], all_topics=True).leaders} == {"t", "other"}
    (broker,) = asked(net)
    assert net.brokers[broker].requests[-1].request == MetadataRequest(topics=())


def test_an_illegal_topic_name(net: FakeNet) -> None:
    """A refusal because of one illegal name is reported as such, with the names."""
    net.cluster.auto_create = True
    with pytest.raises(
        BrokerError, match="one of these topic names is illegal: t2, no good"
    ) as caught:
        read(net, ["t2", "no good"])
    assert caught.value.code == ErrorCode.INVALID_TOPIC


def test_topic_errors_are_values(net: FakeNet) -> None:
    """Topics with errors do not hide the others."""
    view = read(net, ["missing", "t"])
    assert view.errors == {"missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(view.leaders) == 3
    net.brokers[0].script(ApiKey.METADATA, Fail(ErrorCode.LEADER_NOT_AVAILABLE))
    assert read(net, ["t"], order=[0]).errors == {"t": ErrorCode.LEADER_NOT_AVAILABLE}


def test_connections_are_closed(net: FakeNet) -> None:
    """Every question leaves no connection behind."""
    read(net, ["t"], order=[1])
    assert all(one.is_over for one in net.brokers[1]._conversations)
    assert net.brokers[1]._conversations


def test_stop_ends_a_question_and_all_later_ones(net: FakeNet) -> None:
    """Stopped from another thread, a reader asks no further broker, now or later."""
    for broker in net.brokers:
        broker.script(ApiKey.METADATA, Hang())
    reader = MetadataReader(net.connector.open, timeout_ms=LONG_MS, shuffle=lambda _: None)
    refused: list[TransportError] = []

    def ask() -> None:
        try:
            reader.read(net.brokers.addresses, ["t"])
        except TransportError as error:
            refused.append(error)

    scope = ThreadScope("test-metadata")
    scope.spawn("ask", ask, stop=reader.stop)
    wait_until(lambda: asked(net), what="the first broker to be asked")
    assert scope.close(LONG_MS) == []
    assert "closed by us" in str(refused[0])
    ask()
    assert len(refused) == 2
    assert asked(net) == [0]


def test_a_silent_broker_is_not_waited_for_where_another_answers(net: FakeNet) -> None:
    """The time that one may take is far longer than what its silence costs."""
    net.brokers[0].script(ApiKey.METADATA, Hang())
    net.brokers[1].script(ApiKey.METADATA, Hang())
    reader = MetadataReader(net.connector.open, timeout_ms=LONG_MS, shuffle=lambda _: None)
    began_ms = SystemClock().now_ms()
    view = reader.read(net.brokers.addresses, ["t"])
    assert len(view.leaders) == 3
    assert SystemClock().now_ms() - began_ms < LONG_MS / 2
    assert asked(net) == [0, 1, 2]


def test_the_only_broker_is_asked_once_more() -> None:
    """Over another connection: what was lost is one answer."""
    net = fake_net(1)
    net.cluster.create_topic("t")
    net.brokers[0].script(ApiKey.METADATA, Hang())
    reader = MetadataReader(net.connector.open, timeout_ms=LONG_MS, shuffle=lambda _: None)
    began_ms = SystemClock().now_ms()
    assert len(reader.read(net.brokers.addresses, ["t"]).leaders) == 1
    assert SystemClock().now_ms() - began_ms < LONG_MS / 2
