"""Fake brokers in memory, and connections to them."""

from dataclasses import dataclass

from tests.fakes.fake_broker import FakeBrokers
from tests.fakes.fake_cluster import FakeCluster
from tests.fakes.memory_transport import MemoryNetwork
from tests.support.raw_connections import raw_connection
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.wire.messages.metadata import MetadataRequest, MetadataResponse

CLIENT_ID = "unit-tests"
LONG_MS = 10_000
SHORT_MS = 20


@dataclass(frozen=True, slots=True)
class FakeNet:
    """A cluster, its brokers, their network, and the maximum size of a response."""

    cluster: FakeCluster
    brokers: FakeBrokers
    network: MemoryNetwork
    max_response_bytes: int

    def connect(self, broker_id: int = 0) -> BrokerConnection:
        """Connect to a broker."""
        return raw_connection(
            self.brokers[broker_id].address,
            connector=self.network,
            client_id=CLIENT_ID,
            timeout_ms=LONG_MS,
            max_response_bytes=self.max_response_bytes,
        )


def fake_net(broker_count: int = 1, *, max_response_bytes: int = 1 << 24) -> FakeNet:
    """Start ``broker_count`` brokers in memory."""
    cluster = FakeCluster(broker_count)
    brokers = FakeBrokers(cluster)
    network = MemoryNetwork()
    brokers.listen_in_memory(network)
    return FakeNet(cluster, brokers, network, max_response_bytes)


def request_metadata(connection: BrokerConnection, timeout_ms: int = LONG_MS) -> MetadataResponse:
    """Send a metadata request, which a broker always answers."""
    return connection.request(MetadataRequest(topics=("t",)), version=0, timeout_ms=timeout_ms)


def requested_brokers(net: FakeNet) -> list[int]:
    """Return the ids of brokers that received a request."""
    return [broker.id for broker in net.brokers if broker.requests]
