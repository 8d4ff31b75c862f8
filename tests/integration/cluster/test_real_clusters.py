"""Leaders, offsets, epochs and coordinators of real brokers from 0.8 to 3.9."""

import random
from collections.abc import Iterator

import pytest

from tests.support.cluster_views import await_view
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.tcp_gate import TcpGate
from tests.support.waiting import PROMPT_MS, wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.cluster.offset_times import TimedOffset
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectionLost, RequestTimedOut, UnsupportedVersion
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.messages.metadata import MetadataRequest

pytestmark = pytest.mark.sandbox

LONG_MS = 20_000
ALL = ["0.8.2.2", "0.9.0.1", "0.10.2.2", "3.9.1"]
REQUEST = MetadataRequest(topics=())


def dialer(request_timeout_ms: int = LONG_MS) -> BrokerDialer:
    """Create a dialer."""
    return BrokerDialer(
        TcpConnector(),
        client_id="test",
        connect_timeout_ms=LONG_MS,
        request_timeout_ms=request_timeout_ms,
    )


def client_of(sandbox: Sandbox) -> ClusterClient:
    """Create a client that knows one address."""
    [broker] = sandbox.brokers
    return ClusterClient(
        dialer(),
        [Broker(-1, broker.host, broker.port)],
        request_timeout_ms=LONG_MS,
        retry_backoff_ms=50,
        shuffle=random.shuffle,
    )


@pytest.fixture(params=ALL)
def sandbox(request: pytest.FixtureRequest, broker_of: BrokerOf) -> Sandbox:
    """Give a broker of each version."""
    return broker_of(request.param)


@pytest.fixture
def client(sandbox: Sandbox) -> Iterator[ClusterClient]:
    """Give a client of the broker."""
    client = client_of(sandbox)
    yield client
    client.stop()


def test_leaders(sandbox: Sandbox, client: ClusterClient) -> None:
    """Existing topics have leaders; a missing one is an error, and the lookup creates none."""
    topic, missing = fresh_name("cluster"), fresh_name("missing")
    sandbox.create_topic(topic, 2)
    [broker] = sandbox.brokers
    view = client.view([topic, missing], timeout_ms=LONG_MS)
    assert view.partitions == {topic: (0, 1)}
    assert set(view.leaders.values()) == {broker}
    assert view.errors == {missing: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    everything = client.view(None, timeout_ms=LONG_MS)
    assert everything.partitions[topic] == (0, 1)
    assert missing not in everything.partitions


def test_offsets_and_epochs(sandbox: Sandbox, client: ClusterClient) -> None:
    """Every version has log ends; timestamps and epochs are only of brokers that have them."""
    topic = fresh_name("cluster")
    sandbox.create_topic(topic, 2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    listed = client.list_offsets({first: EARLIEST, second: LATEST}, timeout_ms=LONG_MS)
    assert {
        tp: offset.offset for tp, offset in listed.items() if isinstance(offset, TimedOffset)
    } == {
        first: 0,
        second: 0,
    }
    if sandbox.kafka.startswith(("0.8", "0.9")):
        with pytest.raises(UnsupportedVersion, match="LIST_OFFSETS from version 1"):
            client.list_offsets({first: 1_000}, timeout_ms=LONG_MS)
    else:
        none = client.list_offsets({first: 1_000}, timeout_ms=LONG_MS)[first]
        assert isinstance(none, TimedOffset)
        assert none.offset == -1
    ends = client.epoch_ends({first: (-1, 0)}, timeout_ms=LONG_MS)
    assert ends == {first: EpochEnd(0, 0) if sandbox.kafka == "3.9.1" else None}


def test_the_coordinator(sandbox: Sandbox, client: ClusterClient) -> None:
    """It is found once the cluster has created the offsets topic."""
    group = fresh_name("group")

    def found() -> Broker | None:
        response = client.coordinator(group, timeout_ms=LONG_MS)
        if isinstance(response, Broker):
            return response
        assert ErrorCode.of(response).retriable
        return None

    assert wait_until(found, what="the coordinator") == sandbox.brokers[0]


def test_metadata_is_kept_current(sandbox: Sandbox) -> None:
    """A new topic appears without a request of the caller; the thread ends promptly."""
    topic = fresh_name("cluster")
    scope = ThreadScope("test-keeper")
    metadata = MetadataManager(
        client_of(sandbox), scope, refresh_ms=50, backoff_ms=50, on_change=lambda _: None
    )
    metadata.watch(frozenset({topic}))
    assert await_view(metadata, lambda view: topic in view.errors, LONG_MS)
    sandbox.create_topic(topic)
    assert await_view(metadata, lambda view: TopicPartition(topic, 0) in view.leaders, LONG_MS)
    assert scope.close(PROMPT_MS) == []
    assert scope.first_error() is None


def test_one_address_and_many_versions(broker_of: BrokerOf) -> None:
    """After each reconnect to a broker of another version, its own API versions are used."""
    broker_dialer = dialer()
    order = ["0.8.2.2", "3.9.1", "0.9.0.1", "0.10.2.2", "0.8.2.2", "0.10.2.2", "3.9.1", "0.9.0.1"]
    brokers = {version: broker_of(version).brokers[0] for version in order}
    with TcpGate("127.0.0.1", 1) as gate:
        at = Broker(-1, "127.0.0.1", gate.port)
        expected = {}
        for version, broker in brokers.items():
            connection = broker_dialer.dial(broker)
            expected[version] = connection.versions
            connection.close()
        assert (
            len(
                {frozenset(broker_versions.common.items()) for broker_versions in expected.values()}
            )
            == 4
        )
        for version in order:
            gate.forward_to(brokers[version].host, brokers[version].port)
            gate.open()
            connection = broker_dialer.dial(at)
            assert connection.versions == expected[version]
            connection.call(REQUEST, timeout_ms=LONG_MS)
            gate.shut()
            with pytest.raises(ConnectionLost):
                connection.call(REQUEST, timeout_ms=LONG_MS)
            connection.close()


def test_a_frozen_broker(broker_of: BrokerOf) -> None:
    """It accepts connections and sends nothing: every wait times out, or is ended by stop()."""
    sandbox = broker_of("3.9.1")
    [broker] = sandbox.brokers
    broker_dialer = dialer(request_timeout_ms=200)
    connection = broker_dialer.dial(broker)
    waiting = dialer()
    sandbox.pause_broker(broker.id)
    try:
        with pytest.raises(RequestTimedOut):
            connection.call(REQUEST, timeout_ms=200)
        with pytest.raises(RequestTimedOut):
            broker_dialer.dial(broker)
        ended: list[bool] = []

        def dial() -> None:
            try:
                waiting.dial(broker)
            except ConnectionLost:
                ended.append(True)

        clock = SystemClock()
        scope = ThreadScope("test-frozen")
        scope.spawn("dial", dial, stop=waiting.stop)
        wait_until(lambda: waiting._dialling, what="the dial to begin")
        began_ms = clock.now_ms()
        assert scope.close(LONG_MS) == []
        assert clock.now_ms() - began_ms < PROMPT_MS
        assert ended == [True]
    finally:
        sandbox.resume_broker(broker.id)
    again = broker_dialer.dial(broker, timeout_ms=LONG_MS)
    again.call(REQUEST, timeout_ms=LONG_MS)
    again.close()
