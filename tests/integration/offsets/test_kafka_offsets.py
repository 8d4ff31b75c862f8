"""Offsets in Kafka on real brokers that are killed, frozen and restarted."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support import requests as send
from tests.support.broker_worlds import TIMEOUT_MS
from tests.support.clusters import fresh_name, frozen, without
from tests.support.offset_worlds import PATIENT, real_channel
from tests.support.raw_connections import raw_connection
from tests.support.waiting import PROMPT_MS, wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import TransportError, UnsupportedVersion
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.coordinator import ChannelSettings
from zkconsumer.offsets.dual import DualOffsetStore
from zkconsumer.offsets.kafka import KafkaOffsetStore
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.messages.find_coordinator import FindCoordinatorRequest
from zkconsumer.zk.kazoo_store import connect

pytestmark = pytest.mark.sandbox

IN_KAFKA = 1
BRIEF = ChannelSettings(timeout_ms=1_000, backoff_ms=100, limit_ms=2_000)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Give a stack that closes what a test opened."""
    with ExitStack() as opened:
        yield opened


def new_topic(sandbox: Sandbox, *, replication: int = 1) -> TopicPartition:
    """Create an unused topic; return its partition."""
    topic = fresh_name("offsets")
    sandbox.create_topic(topic, replication=replication)
    return TopicPartition(topic, 0)


def store_of(
    sandbox: Sandbox, group: str, stack: ExitStack, settings: ChannelSettings = PATIENT
) -> KafkaOffsetStore:
    """Create the offset store of a group."""
    return KafkaOffsetStore(real_channel(sandbox, group, stack, settings))


def coordinator_of(sandbox: Sandbox, group: str) -> int:
    """Return the id of a group's coordinator, as one broker knows it."""
    connection = raw_connection(sandbox.brokers[0], timeout_ms=TIMEOUT_MS)
    request = FindCoordinatorRequest(group_id=group)

    def reported() -> list[int]:
        response = connection.request(request, version=0, timeout_ms=TIMEOUT_MS)
        return [] if response.error_code else [response.coordinator_id]

    try:
        return wait_until(reported, what="the coordinator")[0]
    finally:
        connection.close()


def test_the_cluster_sees_what_we_commit(cluster: Sandbox, stack: ExitStack) -> None:
    """The broker's OffsetFetch returns our offset and metadata; we see foreign commits."""
    tp, group = new_topic(cluster), fresh_name("group")
    store = store_of(cluster, group, stack)
    assert store.fetch([tp]) == {tp: FetchedOffset(None)}
    assert store.commit({tp: OffsetAndMetadata(42, "nöte")}, retry=True) == {tp: None}
    connection = raw_connection(cluster.brokers[0], timeout_ms=TIMEOUT_MS)
    stack.callback(connection.close)
    fetch = send.fetch_offset(group, tp)
    seen = send.only(connection.request(fetch, version=IN_KAFKA, timeout_ms=TIMEOUT_MS))
    assert (seen.offset, seen.metadata, seen.error_code) == (42, "nöte", 0)
    commit = send.commit(group, tp, 43)
    connection.request(commit, version=IN_KAFKA, timeout_ms=TIMEOUT_MS)
    assert store.fetch([tp]) == {tp: FetchedOffset(43)}


def test_the_larger_offset_of_both_storages_counts(cluster: Sandbox, stack: ExitStack) -> None:
    """Each partition of a group that moves continues at its larger offset; commits go to both."""
    topic, group = fresh_name("offsets"), fresh_name("group")
    cluster.create_topic(topic, partitions=3)
    ahead_here, ahead_there, nowhere = (TopicPartition(topic, number) for number in range(3))
    client = connect(
        cluster.zookeeper_connect, session_timeout_ms=20_000, connection_timeout_ms=20_000
    )
    stack.callback(client.close)
    in_kafka = store_of(cluster, group, stack)
    both = DualOffsetStore(in_kafka, ZookeeperOffsetStore(client, group))
    assert both.fetch([nowhere]) == {nowhere: FetchedOffset(None)}
    in_kafka.commit({ahead_here: OffsetAndMetadata(9), ahead_there: OffsetAndMetadata(3)})
    nodes = {ahead_here: b"8", ahead_there: b"30"}
    client.set_or_create_many(
        {f"/consumers/{group}/offsets/{topic}/{tp.partition}": data for tp, data in nodes.items()}
    )
    assert both.fetch([ahead_here, ahead_there, nowhere]) == {
        ahead_here: FetchedOffset(9),
        ahead_there: FetchedOffset(30),
        nowhere: FetchedOffset(None),
    }
    assert both.commit({nowhere: OffsetAndMetadata(1)}) == {nowhere: None}
    (node,) = client.get_many([f"/consumers/{group}/offsets/{topic}/2"])
    assert node is not None
    assert node.data == b"1"
    assert in_kafka.fetch([nowhere]) == {nowhere: FetchedOffset(1)}


def test_a_coordinator_that_dies(cluster3: Sandbox, stack: ExitStack) -> None:
    """Another one takes over: commits and fetches continue there.

    Offsets are committed twice, so that the next coordinator has them for sure: see
    ``zkconsumer.offsets.kafka``.
    """
    tp, group = new_topic(cluster3, replication=3), fresh_name("group")
    store = store_of(cluster3, group, stack)
    store.fetch([tp])
    for _ in range(2):
        assert store.commit({tp: OffsetAndMetadata(7)}, retry=True) == {tp: None}
    victim = coordinator_of(cluster3, group)
    with without(cluster3, victim):
        assert store.fetch([tp]) == {tp: FetchedOffset(7)}
        assert store.commit({tp: OffsetAndMetadata(8)}, retry=True) == {tp: None}
    assert store.fetch([tp]) == {tp: FetchedOffset(8)}


def test_the_only_coordinator_comes_back(cluster: Sandbox, stack: ExitStack) -> None:
    """While it is down calls fail within their limit; afterwards they succeed."""
    tp, group = new_topic(cluster), fresh_name("group")
    store = store_of(cluster, group, stack)
    store.fetch([tp])
    assert store.commit({tp: OffsetAndMetadata(7)}, retry=True) == {tp: None}
    hasty = store_of(cluster, group, stack, BRIEF)
    hasty.fetch([tp])
    with without(cluster, 0):
        began_ms = SystemClock().now_ms()
        with pytest.raises(TransportError, match=f"group {group}: no offset coordinator responds"):
            hasty.fetch([tp])
        assert SystemClock().now_ms() - began_ms < PROMPT_MS
        with pytest.raises(TransportError):
            hasty.commit({tp: OffsetAndMetadata(8)})
    assert store.fetch([tp]) == {tp: FetchedOffset(7)}
    assert store.commit({tp: OffsetAndMetadata(8)}, retry=True) == {tp: None}
    assert hasty.fetch([tp]) == {tp: FetchedOffset(8)}


def test_a_frozen_coordinator_does_not_delay_a_shutdown(
    cluster3: Sandbox, stack: ExitStack
) -> None:
    """A call that waits for its response ends when it is interrupted."""
    tp, group = new_topic(cluster3), fresh_name("group")
    channel = real_channel(cluster3, group, stack)
    store = KafkaOffsetStore(channel)
    store.fetch([tp])
    victim = coordinator_of(cluster3, group)
    failures: list[TransportError] = []

    def fetch() -> None:
        try:
            store.fetch([tp])
        except TransportError as error:
            failures.append(error)

    with frozen(cluster3, victim):
        scope = ThreadScope("test-kafka-offsets")
        scope.spawn("fetch", fetch, stop=lambda: None)
        wait_until(lambda: channel._running is not None, what="the fetch")
        began_ms = SystemClock().now_ms()
        channel.interrupt()
        assert scope.close(TIMEOUT_MS) == []
        assert SystemClock().now_ms() - began_ms < PROMPT_MS
    assert "interrupted" in str(failures[0])
    assert store.fetch([tp]) == {tp: FetchedOffset(None)}


def test_metadata_at_the_brokers_own_limit(cluster: Sandbox, stack: ExitStack) -> None:
    """4,096 characters fit; one more is refused by us, and by the broker if we let it through.

    Our refusal is better: a broker that refuses everything in a request still serves the refused
    offsets until it restarts.
    """
    tp, group = new_topic(cluster), fresh_name("group")
    channel = real_channel(cluster, group, stack)
    store = KafkaOffsetStore(channel)
    store.fetch([tp])
    longest = "\u20ac" * 4096
    assert store.commit({tp: OffsetAndMetadata(1, longest)}, retry=True) == {tp: None}
    refused = store.commit({tp: OffsetAndMetadata(2, longest + "x")})[tp]
    assert "has 4097 characters" in str(refused)
    assert store.fetch([tp]) == {tp: FetchedOffset(1, metadata=longest)}
    careless = KafkaOffsetStore(channel, metadata_limit=10_000)
    refused = careless.commit({tp: OffsetAndMetadata(2, longest + "x")}, retry=True)[tp]
    assert "OFFSET_METADATA_TOO_LARGE (12)" in str(refused)


def test_a_topic_that_does_not_exist(cluster: Sandbox, stack: ExitStack) -> None:
    """The coordinator's error is reported, and is not taken for "no offset"."""
    group, nowhere = fresh_name("group"), TopicPartition(fresh_name("nowhere"), 0)
    reported = store_of(cluster, group, stack).fetch([nowhere])[nowhere]
    assert reported.offset is None
    assert "UNKNOWN_TOPIC_OR_PARTITION (3)" in str(reported.error)


@pytest.mark.parametrize("kafka", ["0.8.0", "0.8.1.1"])
def test_brokers_before_0_8_2_are_named_as_the_reason(kafka: str, stack: ExitStack) -> None:
    """They close the connection at the request; the error names the setting to change."""
    with Sandbox(kafka=kafka, brokers=1) as old:
        tp = TopicPartition("t", 0)
        with pytest.raises(UnsupportedVersion, match=r"set offsets\.storage=zookeeper"):
            store_of(old, fresh_name("group"), stack).fetch([tp])
