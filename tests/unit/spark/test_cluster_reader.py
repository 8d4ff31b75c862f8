"""The driver's requests to the cluster, with brokers that respond and brokers that do not."""

from collections.abc import Iterator

import pytest

from tests.fakes.fake_responses import SEGMENT_TIME_MS
from tests.fakes.fake_script import Close, Cut, Fail, Hang, ScriptedReply, Step
from tests.fakes.memory_transport import MemoryTransport
from tests.support.fake_net import LONG_MS, SHORT_MS, FakeNet, fake_net
from tests.support.manual_clock import ManualClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import BrokerError, ConfigError, ConnectFailed, TransportError
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.spark import broker_finder
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.options import source_options
from zkconsumer.spark.subscription import Assigned, TopicPattern, Topics
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.list_offsets import ListedPartition, ListedTopic, ListOffsetsResponse
from zkconsumer.wire.messages.metadata import MetadataBroker, MetadataResponse
from zkconsumer.zk.group_values import BrokerList

TPS = tuple(TopicPartition("t", number) for number in range(3))
STARTS = dict.fromkeys(TPS, 1)
ENDS = dict(zip(TPS, (10, 20, 30), strict=True))


@pytest.fixture
def net() -> FakeNet:
    """Create three partitions on three brokers, holding the records 1 to 9, 19 and 29."""
    net = fake_net(3)
    net.cluster.create_topic("t", partitions=3)
    for tp in TPS:
        net.cluster.append(tp, [Record(0, None, b"x")] * (10 * (tp.partition + 1)))
        net.cluster.log(tp).delete_before(1)
    return net


def reader_of(net: FakeNet, *, retries: int = 3, timeout_ms: int = 10_000) -> ClusterReader:
    """Create a reader that knows all brokers and does not pause between attempts."""
    addresses = tuple(
        Broker(-1 - number, broker.host, broker.port)
        for number, broker in enumerate(net.brokers.addresses)
    )
    return ClusterReader(
        ClusterAddress(bootstrap=addresses),
        timeout_ms=timeout_ms,
        retries=retries,
        retry_interval_ms=0,
        connector=net.network,
    )


def patient_reader_of(net: FakeNet, *, grace_ms: int) -> ClusterReader:
    """Create a reader of two attempts, on a clock that advances by a second at each reading."""
    clock = ManualClock()
    clock.step_ms = 1_000
    addresses = tuple(
        Broker(-1 - number, broker.host, broker.port)
        for number, broker in enumerate(net.brokers.addresses)
    )
    return ClusterReader(
        ClusterAddress(bootstrap=addresses),
        retries=2,
        retry_interval_ms=0,
        grace_ms=grace_ms,
        connector=net.network,
        clock=clock,
    )


@pytest.fixture
def reader(net: FakeNet) -> Iterator[ClusterReader]:
    """Create a reader of three attempts."""
    with reader_of(net) as opened:
        yield opened


def listed(tp: TopicPartition, *offsets: int) -> ScriptedReply:
    """Script the response of a leader whose log has these segments, with its end first."""
    partition = ListedPartition(partition=tp.partition, error_code=0, offsets=offsets)
    return ScriptedReply(
        ListOffsetsResponse(topics=(ListedTopic(topic=tp.topic, partitions=(partition,)),))
    )


def test_brokers_partitions_leaders_and_offsets_are_read(
    reader: ClusterReader, net: FakeNet
) -> None:
    """Brokers, partitions, leaders and both ends of the logs are read."""
    assert reader.brokers() == net.brokers.addresses
    assert reader.partitions(Topics(("t",))) == TPS
    assert reader.leaders(TPS) == dict(zip(TPS, net.brokers.addresses, strict=True))
    assert reader.earliest(TPS) == STARTS
    assert reader.latest(TPS) == ENDS
    assert reader.latest(TPS[1:2]) == {TPS[1]: 20}


def test_a_lookup_of_nothing_sends_no_request(net: FakeNet) -> None:
    """A lookup of no partitions sends no request, and works without brokers."""
    for broker in net.brokers:
        broker.stop()
    with reader_of(net) as reader:
        assert reader.earliest(()) == reader.latest(()) == {}
        assert reader.at_time({}) == reader.until_time({}) == {}


def test_no_lookup_creates_a_topic(net: FakeNet) -> None:
    """No lookup creates a topic, though brokers create any that a metadata request names."""
    net.cluster.auto_create = True
    with reader_of(net) as reader:
        with pytest.raises(ConfigError, match="subscribe: the cluster has no topic missing"):
            reader.partitions(Topics(("missing", "t")))
        with pytest.raises(ConfigError, match="assign: the cluster has no partition t-3"):
            reader.partitions(Assigned((TopicPartition("t", 3),)))
        assert reader.partitions(TopicPattern("missing")) == ()
    assert set(net.cluster.topics) == {"t"}


@pytest.mark.parametrize("step", [Close(), Cut(7), Fail(ErrorCode.NOT_LEADER_FOR_PARTITION)])
def test_a_failed_request_is_repeated(net: FakeNet, step: Step) -> None:
    """A failed request is repeated as often as the options say.

    It is repeated once more for each connection that was kept and broke.
    """
    for tries, failures, good in ((3, 2, True), (2, 4, False)):
        with reader_of(net, retries=tries) as reader:
            net.brokers[1].script(ApiKey.LIST_OFFSETS, *[step] * failures)
            if good:
                assert reader.latest(TPS) == ENDS
            else:
                with pytest.raises((TransportError, BrokerError), match=r"broker 1|fake-1"):
                    reader.latest(TPS)


@pytest.mark.parametrize("step", [Close(), Fail(ErrorCode.NOT_LEADER_FOR_PARTITION)])
def test_a_leader_that_died_is_waited_for(net: FakeNet, step: Step) -> None:
    """After a leader died, its successor is waited for: longer than a few attempts take."""
    broker = net.brokers[1]
    with patient_reader_of(net, grace_ms=60_000) as reader:
        assert reader.partitions(Topics(("t",))) == TPS
        broker.script(ApiKey.LIST_OFFSETS, *[step] * 5)
        assert reader.latest(TPS) == ENDS
    with patient_reader_of(net, grace_ms=3_000) as reader:
        assert reader.partitions(Topics(("t",))) == TPS
        broker.script(ApiKey.LIST_OFFSETS, *[step] * 5)
        with pytest.raises((TransportError, BrokerError), match=r"broker 1|fake-1"):
            reader.latest(TPS)


def test_errors_that_no_new_leader_heals_are_not_waited_for(net: FakeNet) -> None:
    """Errors that no new leader heals are raised without waiting.

    Such are a deleted partition, an invalid response, and brokers that never responded.
    """
    with patient_reader_of(net, grace_ms=60_000) as reader:
        assert reader.partitions(Topics(("t",))) == TPS
        for code in (ErrorCode.UNKNOWN, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            net.brokers[1].script(ApiKey.LIST_OFFSETS, Fail(code), Fail(code))
            with pytest.raises(BrokerError, match="no offsets of t-1"):
                reader.latest(TPS)
    for broker in net.brokers:
        broker.stop()
    with (
        patient_reader_of(net, grace_ms=60_000) as reader,
        pytest.raises(ConnectFailed, match="no broker responded"),
    ):
        reader.partitions(Topics(("t",)))


def test_a_kept_connection_that_broke_is_no_failure(net: FakeNet) -> None:
    """A kept connection that broke is opened again without counting as an attempt."""
    with reader_of(net, retries=1) as reader:
        assert reader.latest(TPS) == ENDS
        for broker in net.brokers:
            broker.stop()
            broker.start()
        assert reader.latest(TPS) == ENDS
        net.brokers[2].script(ApiKey.LIST_OFFSETS, Close())
        assert reader.latest(TPS) == ENDS


def test_connections_are_kept(reader: ClusterReader, net: FakeNet) -> None:
    """Connections are kept, as a stream sends requests to the same brokers again and again."""
    opened: list[str] = []
    connect = net.network.connect

    def counting(host: str, port: int, *, timeout_ms: int) -> MemoryTransport:
        opened.append(host)
        return connect(host, port, timeout_ms=timeout_ms)

    reader.latest(TPS)
    net.network.connect = counting  # type: ignore[method-assign]
    for _ in range(5):
        assert reader.latest(TPS) == ENDS
        assert reader.earliest(TPS) == STARTS
    assert opened == []


def test_a_moved_leader_is_followed(reader: ClusterReader, net: FakeNet) -> None:
    """When the old leader responds that it leads no more, the new one is looked up."""
    assert reader.latest(TPS) == ENDS
    net.cluster.move_leader(TPS[0], 2)
    assert reader.latest(TPS) == ENDS
    assert reader.leaders(TPS)[TPS[0]] == net.brokers[2].address


def test_a_partition_without_a_leader_is_named(reader: ClusterReader, net: FakeNet) -> None:
    """A partition without a leader is still part of the query, and the error names it."""
    net.cluster.move_leader(TPS[1], None)
    assert reader.partitions(Topics(("t",))) == TPS
    with pytest.raises(BrokerError, match="no leader for t-1: LEADER_NOT_AVAILABLE") as caught:
        reader.latest(TPS)
    assert (caught.value.topic_partition, caught.value.code) == (TPS[1], 5)


def test_brokers_that_are_down_are_passed_over(net: FakeNet) -> None:
    """One broker that responds is enough to learn of all; those that are down are skipped."""
    net.cluster.move_leader(TPS[0], 1)
    net.brokers[0].stop()
    net.brokers[2].script(ApiKey.METADATA, Close(), Close(), Close())
    with reader_of(net) as reader:
        assert reader.brokers() == (net.brokers[1].address, net.brokers[2].address)
        assert reader.latest(TPS[:2]) == {TPS[0]: 10, TPS[1]: 20}


def test_brokers_of_the_options_are_tried_again_when_others_fail(net: FakeNet) -> None:
    """If all brokers that were learnt of fail, those of the options are tried again."""
    given = net.brokers[0].address
    with ClusterReader(
        ClusterAddress(bootstrap=(Broker(-1, given.host, given.port),)),
        retry_interval_ms=0,
        connector=net.network,
    ) as reader:
        net.brokers[0].script(
            ApiKey.METADATA,
            ScriptedReply(
                MetadataResponse(brokers=(MetadataBroker(id=9, host="x", port=1),), topics=())
            ),
        )
        assert reader.brokers() == (Broker(9, "x", 1),)
        assert reader.partitions(Topics(("t",))) == TPS


def test_no_broker_at_all_is_an_error(net: FakeNet) -> None:
    """Without any broker that responds, the error says so."""
    for broker in net.brokers:
        broker.stop()
    with reader_of(net) as reader, pytest.raises(ConnectFailed, match="no broker responded"):
        reader.partitions(Topics(("t",)))


def test_a_broker_that_hangs_does_not_hang_the_driver(net: FakeNet) -> None:
    """A broker that hangs costs its time-out for each attempt, and no more."""
    with reader_of(net, retries=2, timeout_ms=SHORT_MS) as reader:
        net.brokers[0].script(ApiKey.LIST_OFFSETS, Hang(), Hang())
        # A slow machine may not get as far as that request.
        with pytest.raises(
            TransportError, match=r"no (response|connection) in time|versions in time"
        ):
            reader.latest(TPS)
    with reader_of(net, retries=2, timeout_ms=LONG_MS) as reader:
        assert reader.latest(TPS) == ENDS


def test_a_leader_that_knows_less_than_was_known_is_doubted(
    reader: ClusterReader, net: FakeNet
) -> None:
    """A log end below the known one is requested again, and accepted if it stays.

    A new leader learns the high watermark a moment later; or the log was created again.
    """
    known = {TPS[0]: 10}
    for outdated, end in ((1, 10), (2, 10), (3, 7)):
        net.brokers[0].script(ApiKey.LIST_OFFSETS, *[listed(TPS[0], 7)] * outdated)
        assert reader.latest(TPS[:1], known=known) == {TPS[0]: end}
    assert reader.latest(TPS, known={TopicPartition("gone", 0): 5}) == ENDS


def test_a_leader_that_knows_less_is_doubted_for_a_while(net: FakeNet) -> None:
    """Such a log end is requested again for a while: to accept it means to read records twice."""
    for outdated, end in ((5, 10), (40, 7)):
        with patient_reader_of(net, grace_ms=12_000) as reader:
            net.brokers[0].script(ApiKey.LIST_OFFSETS, *[listed(TPS[0], 7)] * outdated)
            assert reader.latest(TPS[:1], known={TPS[0]: 10}) == {TPS[0]: end}


def test_a_broker_that_knows_less_than_was_known_is_doubted() -> None:
    """Metadata that lacks known topics is requested again: a broker just started has none yet."""
    net = fake_net()
    net.cluster.create_topic("t", partitions=3)
    myself = MetadataBroker(
        id=0, host=net.brokers[0].address.host, port=net.brokers[0].address.port
    )
    with reader_of(net) as reader:
        assert reader.partitions(TopicPattern("t")) == TPS
        net.brokers[0].script(
            ApiKey.METADATA,
            ScriptedReply(MetadataResponse(brokers=(), topics=())),
            ScriptedReply(MetadataResponse(brokers=(myself,), topics=())),
        )
        assert reader.partitions(TopicPattern("t")) == TPS


def test_a_cluster_without_topics_is_empty() -> None:
    """A cluster without topics is empty: its brokers name no live broker, not even themselves."""
    net = fake_net()
    with reader_of(net) as reader:
        nothing = ScriptedReply(MetadataResponse(brokers=(), topics=()))
        net.brokers[0].script(ApiKey.METADATA, nothing, nothing, nothing, nothing)
        assert [broker.host for broker in reader.brokers()] == [net.brokers[0].address.host]
        assert reader.partitions(TopicPattern(".*")) == ()
        assert metadata_requests(net) == 4


def test_a_topic_that_is_really_gone_is_gone(reader: ClusterReader, net: FakeNet) -> None:
    """A deleted topic is gone after as many attempts as any request has."""
    net.cluster.create_topic("u")
    pattern = TopicPattern("t|u")
    assert len(reader.partitions(pattern)) == 4
    net.cluster.delete_topic("u")
    requested = metadata_requests(net)
    assert reader.partitions(pattern) == TPS
    assert metadata_requests(net) == requested + 3
    assert reader.partitions(pattern) == TPS
    assert metadata_requests(net) == requested + 4


def metadata_requests(net: FakeNet) -> int:
    """Return how many metadata requests all brokers received."""
    return sum(
        frame.api_key == ApiKey.METADATA for broker in net.brokers for frame in broker.requests
    )


@pytest.mark.parametrize(
    ("time_ms", "start", "end"),
    [(SEGMENT_TIME_MS - 1, 1, 10), (SEGMENT_TIME_MS, 10, 10), (SEGMENT_TIME_MS + 1, 10, 10)],
)
def test_times_stand_for_segments(
    reader: ClusterReader, time_ms: int, start: int, end: int
) -> None:
    """A time is resolved by segment: it starts at the segment's begin, and ends after its end."""
    assert reader.at_time({TPS[0]: time_ms}) == {TPS[0]: start}
    assert reader.until_time({TPS[0]: time_ms}) == {TPS[0]: end}


@pytest.mark.parametrize(
    ("by_then", "start", "end"),
    [
        ((), 1, 40),
        ((1,), 1, 70),
        ((40, 1), 40, 100),
        ((70, 40, 1), 70, 100),
        ((100, 70, 40, 1), 100, 100),
    ],
)
def test_a_time_never_loses_a_message(
    reader: ClusterReader, net: FakeNet, by_then: tuple[int, ...], start: int, end: int
) -> None:
    """Of the segments [1, 40), [40, 70), [70, 100) some were last written to by then.

    The first that was not may hold older messages, too: what starts at the time starts before it,
    and what ends at the time ends behind it. In the log's end itself is nothing.
    """
    tp, leader = TPS[0], net.brokers[0]
    net.cluster.log(tp).delete_before(1)
    leader.script(ApiKey.LIST_OFFSETS, listed(tp, *by_then[:1]))
    assert reader.at_time({tp: 5}) == {tp: start}
    leader.script(ApiKey.LIST_OFFSETS, listed(tp, *by_then[:1]), listed(tp, 100, 70, 40, 1))
    assert reader.until_time({tp: 5}) == {tp: end}


def test_a_reader_is_created_from_options(net: FakeNet) -> None:
    """A reader takes its address, client id, time-out and attempts from the options."""
    address = net.brokers[0].address
    options = source_options(
        {
            "subscribe": "t",
            "kafka.bootstrap.servers": f"{address.host}:{address.port}",
            "kafka.client.id": "me",
            "fetchOffset.numRetries": "1",
            "fetchOffset.retryIntervalMs": "0",
        }
    )
    with ClusterReader.of(options, connector=net.network) as reader:
        assert reader.partitions(options.subscription) == TPS
        net.brokers[0].script(ApiKey.LIST_OFFSETS, Fail(ErrorCode.UNKNOWN))
        with pytest.raises(BrokerError, match="no offsets of t-0"):
            reader.latest(TPS[:1])
    assert {frame.client_id for frame in net.brokers[0].requests} == {"me"}


def test_brokers_registered_as_old_get_no_api_versions_request(
    net: FakeNet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers registered as old get no ApiVersions request, but version 0 of each API."""
    requested_apis = {ApiKey.METADATA, ApiKey.LIST_OFFSETS}
    for are_old in (True, False):
        found = BrokerList(brokers=net.brokers.addresses, malformed={}, are_old=are_old)
        monkeypatch.setattr(broker_finder, "read_registered", lambda _, found=found: found)
        for broker in net.brokers:
            broker.requests.clear()
        with ClusterReader(
            ClusterAddress(zookeeper_connect="zk:1"), retries=1, connector=net.network
        ) as reader:
            assert reader.partitions(Topics(("t",))) == TPS
            assert (reader.earliest(TPS), reader.latest(TPS)) == (STARTS, ENDS)
            assert reader.are_old
        frames = [
            (request.api_key, request.version)
            for broker in net.brokers
            for request in broker.requests
        ]
        assert ({key for key, _ in frames} == requested_apis) == are_old
        assert {version for key, version in frames if key in requested_apis} == {0}


def test_a_closed_reader_raises(reader: ClusterReader) -> None:
    """A closed reader raises at once, without further attempts."""
    reader.close()
    with pytest.raises(TransportError):
        reader.partitions(Topics(("t",)))
