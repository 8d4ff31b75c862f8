"""Connections that are used again, by one at a time, and in the process that opened them."""

import threading
from collections.abc import Iterator

import pytest

from tests.fakes.loopback import LoopbackServer
from tests.support.fake_net import LONG_MS, FakeNet, fake_net
from tests.support.forks import in_forked_child
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.errors import ConnectFailed, ConnectionLost
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.messages.metadata import MetadataRequest
from zkconsumer.wire.negotiation import of_generation
from zkconsumer.wire.versions import BrokerGeneration

QUESTION = MetadataRequest(topics=("t",))


def pool_over(connector: Connector) -> ConnectionPool:
    """An empty pool that knows the brokers to be old."""
    dialer = BrokerDialer(
        connector,
        client_id="pools",
        connect_timeout_ms=LONG_MS,
        request_timeout_ms=LONG_MS,
        assumed=of_generation(BrokerGeneration.V0_8_0),
    )
    return ConnectionPool(dialer, SystemClock())


@pytest.fixture
def net() -> FakeNet:
    """Two brokers with one topic."""
    net = fake_net(2)
    net.cluster.create_topic("t")
    return net


@pytest.fixture
def pool(net: FakeNet) -> Iterator[ConnectionPool]:
    """An empty pool."""
    one = pool_over(net.network)
    yield one
    one.stop()


def take(pool: ConnectionPool, broker: Broker) -> tuple[NegotiatedConnection, bool]:
    """A connection, and whether it was idle."""
    return pool.take_or_dial(broker, timeout_ms=LONG_MS)


def responses(connection: NegotiatedConnection) -> bool:
    """Whether it works."""
    return bool(connection.call(QUESTION, timeout_ms=LONG_MS).topics)


def test_what_was_given_back_is_taken_next(net: FakeNet, pool: ConnectionPool) -> None:
    """By broker; each is in one hand at a time."""
    first, second = net.brokers[0].address, net.brokers[1].address
    (one, one_idle), (other, other_idle) = take(pool, first), take(pool, second)
    assert (one_idle, other_idle) == (False, False)
    pool.give_back(one)
    pool.give_back(other)
    assert take(pool, first) == (one, True)
    assert take(pool, first)[1] is False
    assert take(pool, second) == (other, True)
    assert responses(one)


def test_one_to_a_broker_is_kept_and_all_others_are_closed(
    net: FakeNet, pool: ConnectionPool
) -> None:
    """Also a second one to the same broker; what is in use is left alone."""
    first, second = net.brokers[0].address, net.brokers[1].address
    taken = [take(pool, broker)[0] for broker in (first, first, second, second)]
    for connection in taken[:3]:
        pool.give_back(connection)
    pool.keep(first)
    assert [connection.is_idle for connection in taken] == [False, True, False, True]
    assert take(pool, first) == (taken[1], True)
    pool.give_back(taken[1])
    pool.keep(None)
    assert not taken[1].is_idle


def test_what_waits_for_an_answer_is_closed(net: FakeNet, pool: ConnectionPool) -> None:
    """Its answer would be the next one's; and what is closed is not kept either."""
    broker = net.brokers[0].address
    connection, _ = take(pool, broker)
    connection.begin(QUESTION, timeout_ms=LONG_MS)
    pool.give_back(connection)
    closed, was_idle = take(pool, broker)
    assert not was_idle
    pool.give_back(closed)
    closed.close()
    assert take(pool, broker)[1] is False


def test_only_so_many_are_kept(net: FakeNet, pool: ConnectionPool) -> None:
    """The others are closed."""
    taken = [take(pool, net.brokers[0].address)[0] for _ in range(4)]
    for connection in taken:
        pool.give_back(connection)
    assert [connection.is_idle for connection in taken] == [True, True, False, False]


def test_stopping_closes_what_is_idle_and_in_use(net: FakeNet, pool: ConnectionPool) -> None:
    """Twice does no harm."""
    broker = net.brokers[0].address
    one, other = take(pool, broker)[0], take(pool, broker)[0]
    pool.give_back(one)
    pool.stop()
    pool.stop()
    assert pool.stopped
    pool.give_back(other)
    assert (one.is_idle, other.is_idle) == (False, False)
    with pytest.raises(ConnectionLost, match="stopped"):
        take(pool, broker)


def test_a_broker_that_is_down_is_named(net: FakeNet, pool: ConnectionPool) -> None:
    """And it is to be asked after others."""
    net.brokers[0].stop()
    with pytest.raises(ConnectFailed, match="fake-0:9092"):
        take(pool, net.brokers[0].address)
    assert pool.failed_last(net.brokers[0].address)


def test_a_forked_child_waits_for_no_thread_of_its_parent(net: FakeNet) -> None:
    """One that connected, say, when it was forked: what that held, nobody would ever let go of."""
    pool = pool_over(net.network)
    origin = pool._origin

    def child() -> str:
        connection, _ = take(pool, net.brokers[0].address)
        return "ok" if connection.is_idle else "closed"

    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with origin._lock, origin._known._lock:
            taken.set()
            done.wait(LONG_MS / 1000)

    scope = ThreadScope("holding")
    scope.spawn("hold", hold, stop=done.set)
    assert taken.wait(LONG_MS / 1000)
    assert in_forked_child(child) == "ok"
    assert scope.close(LONG_MS) == []
    pool.stop()


def test_a_forked_child_opens_its_own() -> None:
    """And the parent's connections live on, whatever the child does and however it ends."""
    net = fake_net()
    net.cluster.create_topic("t")
    with LoopbackServer() as server:
        net.brokers.listen_on_loopback(server)
        broker = net.brokers[0].address
        pool = pool_over(TcpConnector())
        idle, used = take(pool, broker)[0], take(pool, broker)[0]
        pool.give_back(idle)

        def child() -> str:
            own, was_idle = take(pool, broker)
            if was_idle:
                return "the child took its parent's"
            if not responses(own):
                return "no answer"
            pool.give_back(own)
            pool.stop()
            return "ok"

        with pool._lock:
            assert in_forked_child(child) == "ok"
        assert take(pool, broker) == (idle, True)
        assert responses(idle)
        assert responses(used)
        pool.stop()
