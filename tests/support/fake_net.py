"""Fake brokers in memory, with a client's way to them."""

from dataclasses import dataclass

from tests.support.raw_connections import BrokerConnector
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.testing.fake_broker import FakeBrokers
from zkconsumer.testing.fake_cluster import FakeCluster
from zkconsumer.testing.memory_transport import MemoryNetwork

CLIENT_ID = "unit-tests"
LONG_MS = 10_000
SHORT_MS = 20


@dataclass(frozen=True, slots=True)
class FakeNet:
    """A cluster, its brokers, the network they are in, and what opens connections there."""

    cluster: FakeCluster
    brokers: FakeBrokers
    network: MemoryNetwork
    connector: BrokerConnector

    def connect(self, broker_id: int = 0) -> BrokerConnection:
        """Connect to a broker."""
        return self.connector.open(self.brokers[broker_id].address)


def fake_net(broker_count: int = 1, *, max_response_bytes: int = 1 << 24) -> FakeNet:
    """Start so many brokers in memory."""
    cluster = FakeCluster(broker_count)
    brokers = FakeBrokers(cluster)
    network = MemoryNetwork()
    brokers.listen_in_memory(network)
    connector = BrokerConnector(
        network, client_id=CLIENT_ID, timeout_ms=LONG_MS, max_response_bytes=max_response_bytes
    )
    return FakeNet(cluster, brokers, network, connector)
