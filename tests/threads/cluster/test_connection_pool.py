"""Pooled connections: one caller at a time, and only in the process that opened them."""

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

REQUEST = MetadataRequest(topics=("t",))


def pool_over(connector: Connector) -> ConnectionPool:
    """An empty pool that assumes old brokers, so that no versions are requested."""
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
    connection_pool = pool_over(net.network)
    yield connection_pool
    connection_pool.stop()


def take(pool: ConnectionPool, broker: Broker) -> tuple[NegotiatedConnection, bool]:
    """Take a connection, and return it with whether it was idle."""
    return pool.take_or_dial(broker, timeout_ms=LONG_MS)


def is_usable(connection: NegotiatedConnection) -> bool:
    """Return whether a request on this connection gets a response."""
    return bool(connection.call(REQUEST, timeout_ms=LONG_MS).topics)


def test_a_returned_connection_is_taken_next(net: FakeNet, pool: ConnectionPool) -> None:
    """It is by the next caller for that broker, and no two callers share it."""
    first, second = net.brokers[0].address, net.brokers[1].address
    (connection, was_idle), (other, other_idle) = take(pool, first), take(pool, second)
    assert (was_idle, other_idle) == (False, False)
    pool.give_back(connection)
    pool.give_back(other)
    assert take(pool, first) == (connection, True)
    assert take(pool, first)[1] is False
    assert take(pool, second) == (other, True)
    assert is_usable(connection)


def test_keep_closes_all_idle_connections_but_one(net: FakeNet, pool: ConnectionPool) -> None:
    """A second one to the same broker is closed, too; connections in use stay open."""
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


def test_a_connection_that_waits_for_a_response_is_closed(
    net: FakeNet, pool: ConnectionPool
) -> None:
    """The next caller would get that response; a closed connection is not kept either."""
    broker = net.brokers[0].address
    connection, _ = take(pool, broker)
    connection.begin(REQUEST, timeout_ms=LONG_MS)
    pool.give_back(connection)
    closed, was_idle = take(pool, broker)
    assert not was_idle
    pool.give_back(closed)
    closed.close()
    assert take(pool, broker)[1] is False


def test_the_number_of_idle_connections_is_limited(net: FakeNet, pool: ConnectionPool) -> None:
    """Connections beyond the limit are closed when they are returned."""
    taken = [take(pool, net.brokers[0].address)[0] for _ in range(4)]
    for connection in taken:
        pool.give_back(connection)
    assert [connection.is_idle for connection in taken] == [True, True, False, False]


def test_stopping_closes_idle_connections_and_those_in_use(
    net: FakeNet, pool: ConnectionPool
) -> None:
    """Stopping twice does no harm."""
    broker = net.brokers[0].address
    connection, other = take(pool, broker)[0], take(pool, broker)[0]
    pool.give_back(connection)
    pool.stop()
    pool.stop()
    assert pool.stopped
    pool.give_back(other)
    assert (connection.is_idle, other.is_idle) == (False, False)
    with pytest.raises(ConnectionLost, match="stopped"):
        take(pool, broker)


def test_a_broker_that_is_down_is_named(net: FakeNet, pool: ConnectionPool) -> None:
    """The pool remembers the failure, so that other brokers are tried before it."""
    net.brokers[0].stop()
    with pytest.raises(ConnectFailed, match="fake-0:9092"):
        take(pool, net.brokers[0].address)
    assert pool.failed_last(net.brokers[0].address)


def test_a_forked_child_does_not_wait_for_locks_of_its_parent(net: FakeNet) -> None:
    """A thread of the parent may hold one at the fork: in the child nobody would release it."""
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


def test_a_forked_child_opens_its_own_connections() -> None:
    """The parent's connections stay usable, whatever the child does and however it ends."""
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
            if not is_usable(own):
                return "no answer"
            pool.give_back(own)
            pool.give_back(used)  # the child was forked during a call
            if take(pool, broker) != (own, True):
                return "the child kept its parent's"
            pool.stop()
            return "ok"

        with pool._lock:
            assert in_forked_child(child) == "ok"
        assert take(pool, broker) == (idle, True)
        assert is_usable(idle)
        assert is_usable(used)
        pool.stop()
