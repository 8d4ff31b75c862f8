"""Brokers for contract suites: fakes in memory, fakes over TCP, and the sandbox's real one."""

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
    """One broker, on which tests create topics."""

    connector: Connector

    @property
    def broker(self) -> Broker:
        """The broker."""
        ...

    def new_topic(self) -> TopicPartition:
        """Create an unused topic with one partition, and return the partition."""
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
    """A client of one broker, with a connection that can be replaced after a failure."""

    def __init__(self, world: BrokerWorld) -> None:
        self._connector = world.connector
        self.broker = world.broker
        self.connection = self._connect()

    def request(self, request: Request[R], version: int = 0) -> R:
        """Send a request, and wait for its response."""
        return self.connection.request(request, version=version, timeout_ms=TIMEOUT_MS)

    def reconnect(self) -> None:
        """Replace the connection by a new one."""
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
    """Yield the world of the lane that a fixture's parameter names.

    Args:
        request: the fixture's request.
        real_cluster: the name of the real broker's fixture.
        auto_create: whether fakes create topics automatically; the real broker must agree.
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
