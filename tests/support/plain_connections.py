"""Dialers and clients as streams of a ZooKeeper group use them: without ApiVersions requests."""

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
    """Return a dialer that uses the versions of a 0.8 broker."""
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
    """Return a dialer that assumes these versions of every broker."""
    return BrokerDialer(
        connector,
        client_id=client_id,
        connect_timeout_ms=timeout_ms,
        request_timeout_ms=timeout_ms,
        assumed=versions,
    )


def serving_fetch(last: int) -> BrokerVersions:
    """Return the versions of a broker with ApiVersions, and Fetch up to version ``last``."""
    old = of_generation(OLDEST)
    return replace(old, common={**old.common, ApiKey.FETCH: VersionRange(0, last)}, generation=None)


def plain_client(
    dialer: BrokerDialer, *, timeout_ms: int = 5_000, clock: Clock | None = None
) -> ClusterClient:
    """Return a client that queries brokers in the given order, each over its own connection."""

    def leave(_: list[Broker]) -> None:
        """Leave them in order, in place of a shuffle."""

    return ClusterClient(
        dialer,
        (),
        request_timeout_ms=timeout_ms,
        retry_backoff_ms=10,
        shuffle=leave,
        idle_per_broker=0,
        clock=clock,
    )


def short_timeout_client(net: FakeNet, timeout_ms: int = 20) -> ClusterClient:
    """Return a client with short timeouts that queries brokers in the given order."""
    return plain_client(plain_dialer(net.network, timeout_ms=timeout_ms), timeout_ms=timeout_ms)
