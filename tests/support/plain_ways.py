"""Ways to brokers as the streams of a ZooKeeper group take them: nobody is asked what it serves."""

from dataclasses import replace

from tests.support.fake_net import FakeNet
from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.transport import Connector
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.negotiation import BrokerVersions, of_generation
from zkconsumer.wire.versions import OLDEST, VersionRange


def plain_dialer(
    connector: Connector, *, client_id: str = "tests", timeout_ms: int = 5_000
) -> BrokerDialer:
    """Connects, and sends what a broker of 0.8 knows."""
    return assuming_dialer(
        connector, of_generation(OLDEST), client_id=client_id, timeout_ms=timeout_ms
    )


def assuming_dialer(
    connector: Connector,
    versions: BrokerVersions,
    *,
    client_id: str = "tests",
    timeout_ms: int = 5_000,
) -> BrokerDialer:
    """Connects, and takes every broker for one that serves this."""
    return BrokerDialer(
        connector,
        client_id=client_id,
        connect_timeout_ms=timeout_ms,
        request_timeout_ms=timeout_ms,
        assumed=versions,
    )


def serving_fetch(last: int) -> BrokerVersions:
    """What a broker serves that can say it, up to a version of Fetch."""
    old = of_generation(OLDEST)
    return replace(old, common={**old.common, ApiKey.FETCH: VersionRange(0, last)}, generation=None)


def plain_client(
    dialer: BrokerDialer, *, timeout_ms: int = 5_000, clock: Clock | None = None
) -> ClusterClient:
    """Asks brokers in the order in which they are given, each over a connection of its own."""

    def leave(_: list[Broker]) -> None:
        """Leave them in order."""

    return ClusterClient(
        dialer,
        (),
        request_timeout_ms=timeout_ms,
        retry_backoff_ms=10,
        shuffle=leave,
        idle_per_broker=0,
        clock=clock,
    )


def impatient_client(net: FakeNet, timeout_ms: int = 20) -> ClusterClient:
    """Asks brokers in the order in which they are given."""
    return plain_client(plain_dialer(net.network, timeout_ms=timeout_ms), timeout_ms=timeout_ms)
