"""The driver's view of the cluster, from brokers that answer, and from brokers that do not."""

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
    """Three partitions on three brokers, holding the records 1 to 9, 19 and 29."""
    net = fake_net(3)
    net.cluster.create_topic("t", partitions=3)
    for tp in TPS:
        net.cluster.append(tp, [Record(0, None, b"x")] * (10 * (tp.partition + 1)))
        net.cluster.log(tp).delete_before(1)
    return net


def reader_of(net: FakeNet, *, retries: int = 3, timeout_ms: int = 10_000) -> ClusterReader:
    """A reader that knows all brokers, and makes no pause."""
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
    """One of two tries, to which each look at the clock takes a second."""
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
    """That of three tries."""
    with reader_of(net) as one:
        yield one


def listed(tp: TopicPartition, *offsets: int) -> ScriptedReply:
    """The answer of a leader whose log has these segments, and its end first."""
    partition = ListedPartition(partition=tp.partition, error_code=0, offsets=offsets)
    return ScriptedReply(
        ListOffsetsResponse(topics=(ListedTopic(topic=tp.topic, partitions=(partition,)),))
    )


def test_the_cluster_is_told_as_it_is(reader: ClusterReader, net: FakeNet) -> None:
    """Brokers, partitions, leaders, both ends."""
    assert reader.brokers() == net.brokers.addresses
    assert reader.partitions(Topics(("t",))) == TPS
    assert reader.leaders(TPS) == dict(zip(TPS, net.brokers.addresses, strict=True))
    assert reader.earliest(TPS) == STARTS
    assert reader.latest(TPS) == ENDS
    assert reader.latest(TPS[1:2]) == {TPS[1]: 20}


def test_nothing_is_asked_about_nothing(net: FakeNet) -> None:
    """Not even where no broker is."""
    for broker in net.brokers:
        broker.stop()
    with reader_of(net) as reader:
        assert reader.earliest(()) == reader.latest(()) == {}
        assert reader.at_time({}) == reader.until_time({}) == {}


def test_no_topic_is_created_by_looking(net: FakeNet) -> None:
    """Though the brokers would create any that is asked for by its name."""
    net.cluster.auto_create = True
    with reader_of(net) as reader:
        with pytest.raises(ConfigError, match="subscribe: the cluster has no topic missing"):
            reader.partitions(Topics(("missing", "t")))
        with pytest.raises(ConfigError, match="assign: the cluster has no partition t-3"):
            reader.partitions(Assigned((TopicPartition("t", 3),)))
        assert reader.partitions(TopicPattern("missing")) == ()
    assert set(net.cluster.topics) == {"t"}


@pytest.mark.parametrize("step", [Close(), Cut(7), Fail(ErrorCode.NOT_LEADER_FOR_PARTITION)])
def test_what_fails_is_asked_again(net: FakeNet, step: Step) -> None:
    """As often as the options say, and no more; a connection that was kept has one more each."""
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
    """For longer than a few tries take: a new one is elected when ZooKeeper misses the old one."""
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


def test_what_no_leader_heals_is_not_waited_for(net: FakeNet) -> None:
    """A partition that is gone, an answer that makes no sense; or brokers that never answered."""
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
    """Brokers close connections that idle: not even one more try is needed."""
    with reader_of(net, retries=1) as reader:
        assert reader.latest(TPS) == ENDS
        for broker in net.brokers:
            broker.stop()
            broker.start()
        assert reader.latest(TPS) == ENDS
        net.brokers[2].script(ApiKey.LIST_OFFSETS, Close())
        assert reader.latest(TPS) == ENDS


def test_connections_are_kept(reader: ClusterReader, net: FakeNet) -> None:
    """A stream asks the same brokers again and again."""
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
    """The old one says that it leads no more."""
    assert reader.latest(TPS) == ENDS
    net.cluster.move_leader(TPS[0], 2)
    assert reader.latest(TPS) == ENDS
    assert reader.leaders(TPS)[TPS[0]] == net.brokers[2].address


def test_a_partition_without_a_leader_is_named(reader: ClusterReader, net: FakeNet) -> None:
    """It is a part of the query all the same."""
    net.cluster.move_leader(TPS[1], None)
    assert reader.partitions(Topics(("t",))) == TPS
    with pytest.raises(BrokerError, match="no leader for t-1: LEADER_NOT_AVAILABLE") as caught:
        reader.latest(TPS)
    assert (caught.value.topic_partition, caught.value.code) == (TPS[1], 5)


def test_brokers_that_are_down_are_passed_over(net: FakeNet) -> None:
    """One that answers is enough to learn of all."""
    net.cluster.move_leader(TPS[0], 1)
    net.brokers[0].stop()
    net.brokers[2].script(ApiKey.METADATA, Close(), Close(), Close())
    with reader_of(net) as reader:
        assert reader.brokers() == (net.brokers[1].address, net.brokers[2].address)
        assert reader.latest(TPS[:2]) == {TPS[0]: 10, TPS[1]: 20}


def test_brokers_that_are_given_are_asked_again_when_others_fail(net: FakeNet) -> None:
    """Those that were learnt of may all be gone, and those given be back."""
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
    """That names them."""
    for broker in net.brokers:
        broker.stop()
    with reader_of(net) as reader, pytest.raises(ConnectFailed, match="no broker responded"):
        reader.partitions(Topics(("t",)))


def test_a_broker_that_hangs_does_not_hang_the_driver(net: FakeNet) -> None:
    """It has its time, and as many tries as any."""
    with reader_of(net, retries=2, timeout_ms=SHORT_MS) as reader:
        net.brokers[0].script(ApiKey.LIST_OFFSETS, Hang(), Hang())
        # A machine may be too slow to come as far as that request.
        with pytest.raises(
            TransportError, match=r"no response in time|did not report its versions in time"
        ):
            reader.latest(TPS)
    with reader_of(net, retries=2, timeout_ms=LONG_MS) as reader:
        assert reader.latest(TPS) == ENDS


def test_a_leader_that_knows_less_than_was_known_is_doubted(
    reader: ClusterReader, net: FakeNet
) -> None:
    """A new one learns a moment later how far consumers may read; but the log may be made anew."""
    known = {TPS[0]: 10}
    for behind, end in ((1, 10), (2, 10), (3, 7)):
        net.brokers[0].script(ApiKey.LIST_OFFSETS, *[listed(TPS[0], 7)] * behind)
        assert reader.latest(TPS[:1], known=known) == {TPS[0]: end}
    assert reader.latest(TPS, known={TopicPartition("gone", 0): 5}) == ENDS


def test_a_leader_that_knows_less_is_doubted_for_a_while(net: FakeNet) -> None:
    """What is read of a log that counts as made anew, may come twice: that is worth a wait."""
    for behind, end in ((5, 10), (40, 7)):
        with patient_reader_of(net, grace_ms=12_000) as reader:
            net.brokers[0].script(ApiKey.LIST_OFFSETS, *[listed(TPS[0], 7)] * behind)
            assert reader.latest(TPS[:1], known={TPS[0]: 10}) == {TPS[0]: end}


def test_a_broker_that_knows_less_than_was_known_is_doubted() -> None:
    """One that has just started knows no brokers, and then no topics, for a moment."""
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
    """Its brokers know of none that lives, not even of themselves, before the first topic."""
    net = fake_net()
    with reader_of(net) as reader:
        nothing = ScriptedReply(MetadataResponse(brokers=(), topics=()))
        net.brokers[0].script(ApiKey.METADATA, nothing, nothing, nothing, nothing)
        assert [broker.host for broker in reader.brokers()] == [net.brokers[0].address.host]
        assert reader.partitions(TopicPattern(".*")) == ()
        assert metadata_requests(net) == 4


def test_a_topic_that_is_really_gone_is_gone(reader: ClusterReader, net: FakeNet) -> None:
    """After as many tries as any."""
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
    """How often all brokers together were asked for metadata."""
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
    """Older than the only segment, it is where the log begins; and it ends behind the segment."""
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


def test_a_reader_is_made_of_options(net: FakeNet) -> None:
    """Address, client id, time-out and tries."""
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


def test_brokers_that_are_registered_as_old_are_not_asked_what_they_serve(
    net: FakeNet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They get what they always got; tasks are told, whoever has found it out."""
    asked_about = {ApiKey.METADATA, ApiKey.LIST_OFFSETS}
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
        assert ({key for key, _ in frames} == asked_about) == are_old
        assert {version for key, version in frames if key in asked_about} == {0}


def test_what_is_closed_answers_no_more(reader: ClusterReader) -> None:
    """And does not go on trying."""
    reader.close()
    with pytest.raises(TransportError):
        reader.partitions(Topics(("t",)))
