"""Brokers for contract suites: fakes in memory, the same over TCP, and the sandbox's real one."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Protocol, TypeVar

import pytest

from tests.fakes.fake_broker import FakeBrokers
from tests.fakes.fake_cluster import FakeCluster
from tests.fakes.loopback import LoopbackServer
from tests.fakes.memory_transport import MemoryNetwork
from tests.support.clusters import fresh_name
from tests.support.raw_connections import raw_connection
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector
from zkconsumer.sandbox import Sandbox
from zkconsumer.wire.api import Request

R = TypeVar("R")
TIMEOUT_MS = 20_000
CLIENT_ID = "contract-tests"

LANES = [
    "memory",
    "tcp",
    pytest.param("real", marks=pytest.mark.sandbox),
]


class BrokerWorld(Protocol):
    """One broker on which a test creates topics."""

    connector: Connector

    @property
    def broker(self) -> Broker:
        """Return the broker's address."""
        ...

    def new_topic(self) -> TopicPartition:
        """Create a fresh topic with one partition; return the partition."""
        ...


class FakeWorld:
    """A fake broker."""

    def __init__(self, connector: Connector, brokers: FakeBrokers) -> None:
        self.connector = connector
        self._brokers = brokers

    @property
    def broker(self) -> Broker:
        """See ``BrokerWorld``."""
        return self._brokers[0].address

    def new_topic(self) -> TopicPartition:
        """See ``BrokerWorld``."""
        topic = fresh_name("fake")
        self._brokers.cluster.create_topic(topic)
        return TopicPartition(topic, 0)


class RealWorld:
    """A broker of the sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.connector: Connector = TcpConnector()
        self._sandbox = sandbox

    @property
    def broker(self) -> Broker:
        """See ``BrokerWorld``."""
        return self._sandbox.brokers[0]

    def new_topic(self) -> TopicPartition:
        """See ``BrokerWorld``."""
        topic = fresh_name("wire")
        self._sandbox.create_topic(topic)
        return TopicPartition(topic, 0)


class Client:
    """Send requests to one broker, over a connection that is opened again after a failure."""

    def __init__(self, world: BrokerWorld) -> None:
        self._connector = world.connector
        self.broker = world.broker
        self.connection = self._connect()

    def request(self, request: Request[R], version: int = 0) -> R:
        """Send a request and wait for its response."""
        return self.connection.request(request, version=version, timeout_ms=TIMEOUT_MS)

    def reconnect(self) -> None:
        """Open another connection."""
        self.connection.close()
        self.connection = self._connect()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def _connect(self) -> BrokerConnection:
        return raw_connection(
            self.broker, connector=self._connector, client_id=CLIENT_ID, timeout_ms=TIMEOUT_MS
        )


def broker_world(
    request: pytest.FixtureRequest, real_cluster: str = "cluster", *, auto_create: bool = False
) -> Iterator[BrokerWorld]:
    """Provide the broker of the lane that a fixture's parameter names.

    Args:
        request: pytest's request of the calling fixture.
        real_cluster: name of the fixture with the real broker.
        auto_create: whether a metadata request creates a topic; configure a real broker likewise.
    """
    if request.param == "real":
        yield RealWorld(request.getfixturevalue(real_cluster))
        return
    brokers = FakeBrokers(FakeCluster(auto_create=auto_create))
    with ExitStack() as stack:
        connector: Connector
        if request.param == "memory":
            connector = network = MemoryNetwork()
            brokers.listen_in_memory(network)
        else:
            connector = TcpConnector()
            brokers.listen_on_loopback(stack.enter_context(LoopbackServer()))
        yield FakeWorld(connector, brokers)
