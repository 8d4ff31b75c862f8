"""Connections that are used again, by one at a time, and in the process that opened them."""

import pytest

from tests.support.fake_net import LONG_MS, FakeNet, fake_net
from tests.support.forks import in_forked_child
from zkconsumer.errors import ConnectFailed
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.connection_cache import ConnectionCache
from zkconsumer.net.connector import BrokerConnector
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.testing.loopback import LoopbackServer
from zkconsumer.wire.messages.metadata import MetadataRequest

QUESTION = MetadataRequest(topics=("t",))


@pytest.fixture
def net() -> FakeNet:
    """Two brokers with one topic."""
    net = fake_net(2)
    net.cluster.create_topic("t")
    return net


def answers(connection: BrokerConnection) -> bool:
    """Whether it works."""
    return bool(connection.request(QUESTION, version=0, timeout_ms=LONG_MS).topics)


def test_what_was_given_back_is_taken_next(net: FakeNet) -> None:
    """By broker; each is in one hand at a time."""
    cache = ConnectionCache(net.connector.open)
    first, second = net.brokers[0].address, net.brokers[1].address
    assert cache.take(first) is None
    one, other = cache.open(first), cache.open(second)
    cache.give_back(one)
    cache.give_back(other)
    assert cache.take(first) is one
    assert cache.take(first) is None
    assert cache.take(second) is other
    assert answers(one)


def test_what_waits_for_an_answer_is_closed(net: FakeNet) -> None:
    """Its answer would be the next one's; and what is closed is not kept either."""
    cache = ConnectionCache(net.connector.open)
    broker = net.brokers[0].address
    connection = cache.open(broker)
    connection.begin(QUESTION, version=0, timeout_ms=LONG_MS)
    cache.give_back(connection)
    assert cache.take(broker) is None
    closed = cache.open(broker)
    cache.give_back(closed)
    closed.close()
    assert cache.take(broker) is None


def test_only_so_many_are_kept(net: FakeNet) -> None:
    """The others are closed."""
    cache = ConnectionCache(net.connector.open, idle_per_broker=1)
    broker = net.brokers[0].address
    one, other = cache.open(broker), cache.open(broker)
    cache.give_back(one)
    cache.give_back(other)
    assert (one.is_idle, other.is_idle) == (True, False)


def test_closing_closes_what_is_idle_and_what_comes_back(net: FakeNet) -> None:
    """Twice does no harm."""
    cache = ConnectionCache(net.connector.open)
    broker = net.brokers[0].address
    one, other = cache.open(broker), cache.open(broker)
    cache.give_back(one)
    cache.close()
    cache.close()
    cache.give_back(other)
    assert (one.is_idle, other.is_idle) == (False, False)
    assert cache.take(broker) is None


def test_a_broker_that_is_down_is_named() -> None:
    """Nothing is kept of it."""
    net = fake_net()
    net.brokers[0].stop()
    cache = ConnectionCache(net.connector.open)
    with pytest.raises(ConnectFailed, match="fake-0:9092"):
        cache.open(net.brokers[0].address)


def test_a_forked_child_opens_its_own() -> None:
    """And the parent's connection lives on, whatever the child does and however it ends."""
    net = fake_net()
    net.cluster.create_topic("t")
    with LoopbackServer() as server:
        net.brokers.listen_on_loopback(server)
        broker = net.brokers[0].address
        opener = BrokerConnector(TcpConnector(), client_id="forks", timeout_ms=LONG_MS)
        cache = ConnectionCache(opener.open)
        connection = cache.open(broker)
        cache.give_back(connection)

        def child() -> str:
            if cache.take(broker) is not None:
                return "the child took its parent's"
            own = cache.open(broker)
            if not answers(own):
                return "no answer"
            cache.give_back(own)
            cache.close()
            return "ok"

        assert in_forked_child(child) == "ok"
        assert cache.take(broker) is connection
        assert answers(connection)
        connection.close()
