"""The responses of a 0.8.2.2 broker: the fakes and the real one must agree."""

from collections.abc import Iterator

import pytest

from tests.support import requests as send
from tests.support.broker_worlds import LANES, TIMEOUT_MS, BrokerWorld, Client, broker_world
from tests.support.clusters import fresh_name
from tests.support.waiting import wait_until
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectionLost
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.sandbox import Sandbox
from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.messages.api_versions import ApiVersionsRequest
from zkconsumer.wire.messages.fetch import FetchedPartition
from zkconsumer.wire.messages.find_coordinator import FindCoordinatorRequest
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest
from zkconsumer.wire.messages.list_groups import ListGroupsRequest
from zkconsumer.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from zkconsumer.wire.messages.metadata import MetadataRequest, TopicMetadata
from zkconsumer.wire.messages.produce import ProduceRequest
from zkconsumer.wire.messages.topic_admin import CreateTopicsRequest

RECORDS = [Record(0, f"k{number}".encode(), b"value" * 20) for number in range(5)]
NUMBERED = [record._replace(offset=number) for number, record in enumerate(RECORDS)]
NOWHERE = TopicPartition("no-such-topic", 0)
IN_ZOOKEEPER, IN_KAFKA = 0, 1
ILLEGAL = ("no good", "..", "t" * 256, "a/b", "")
LONG_AGO_MS = 1_000
FAR_FUTURE_MS = 1 << 50


@pytest.fixture(params=LANES)
def world(request: pytest.FixtureRequest) -> Iterator[BrokerWorld]:
    """A broker, fake or real."""
    yield from broker_world(request)


@pytest.fixture
def client(world: BrokerWorld) -> Iterator[Client]:
    """A client of the broker."""
    client = Client(world)
    yield client
    client.close()


@pytest.fixture(scope="module")
def creating_cluster() -> Iterator[Sandbox]:
    """A real broker that creates topics automatically."""
    with Sandbox(kafka="0.8.2.2", brokers=1, auto_create_topics=True) as sandbox:
        yield sandbox


@pytest.fixture(params=LANES)
def creating(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client of a broker that creates topics automatically."""
    for world in broker_world(request, "creating_cluster", auto_create=True):
        client = Client(world)
        yield client
        client.close()


@pytest.fixture
def tp(world: BrokerWorld) -> TopicPartition:
    """An empty partition."""
    return world.new_topic()


def fill(client: Client, tp: TopicPartition, codec: Codec = Codec.NONE) -> None:
    """Produce the records."""
    response = send.only(client.request(send.produce(tp, build_message_set(RECORDS, codec=codec))))
    assert response.error_code == ErrorCode.NONE


def records_of(fetched: FetchedPartition, offset: int) -> list[Record]:
    """Decode the records of a fetched partition."""
    assert fetched.error_code == ErrorCode.NONE
    decoded = decode_record_set(
        fetched.records, fetch_offset=offset, max_decompressed_bytes=1 << 20
    )
    return list(decoded.records)


def described(client: Client, *topics: str) -> tuple[TopicMetadata, ...]:
    """Request the metadata of topics."""
    return client.request(MetadataRequest(topics=topics)).topics


def find_coordinator(client: Client) -> None:
    """Wait for a coordinator of the group (the first request creates the offsets topic)."""
    request = FindCoordinatorRequest(group_id="any")
    wait_until(lambda: client.request(request).error_code == ErrorCode.NONE, what="a coordinator")


def test_metadata_of_a_topic(client: Client, tp: TopicPartition) -> None:
    """The brokers, and for each partition its leader, replicas and in-sync replicas."""
    response = client.request(MetadataRequest(topics=(tp.topic,)))
    addresses = [(broker.id, broker.host, broker.port) for broker in response.brokers]
    assert addresses == [(client.broker.id, client.broker.host, client.broker.port)]
    (topic,) = response.topics
    (partition,) = topic.partitions
    assert (topic.error_code, topic.topic) == (ErrorCode.NONE, tp.topic)
    assert (partition.error_code, partition.partition, partition.leader) == (0, 0, 0)
    assert partition.replicas == partition.isr == (0,)


def test_metadata_of_all_topics(client: Client, world: BrokerWorld) -> None:
    """A request without topic names returns all topics."""
    mine = {world.new_topic().topic, world.new_topic().topic}
    assert mine <= {topic.topic for topic in described(client)}


def test_metadata_of_missing_topics(client: Client, tp: TopicPartition) -> None:
    """Unknown and illegal topics get error 3 without partitions, listed after existing topics."""
    missing = (NOWHERE.topic, *ILLEGAL)
    known, *unknown = described(client, *missing, tp.topic)
    assert (known.topic, known.error_code) == (tp.topic, ErrorCode.NONE)
    assert {topic.topic for topic in unknown} == set(missing)
    assert {topic.error_code for topic in unknown} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert not any(topic.partitions for topic in unknown)


def test_a_metadata_request_creates_a_topic(creating: Client) -> None:
    """With auto-create the first response has error 5 and no partitions, a later one the topic."""
    name = fresh_name("created")
    (first,) = described(creating, name)
    assert (first.error_code, first.partitions) == (ErrorCode.LEADER_NOT_AVAILABLE, ())
    (topic,) = wait_until(
        lambda: [
            topic_metadata
            for topic_metadata in described(creating, name)
            if topic_metadata.error_code == ErrorCode.NONE
        ],
        what="the topic",
    )
    assert [partition.partition for partition in topic.partitions] == [0]


@pytest.mark.parametrize("illegal", ILLEGAL, ids=["space", "dots", "long", "slash", "empty"])
def test_one_illegal_name_fails_the_whole_metadata_response(creating: Client, illegal: str) -> None:
    """With auto-create one illegal name empties the brokers, and gives every topic error 17."""
    response = creating.request(MetadataRequest(topics=(illegal, NOWHERE.topic)))
    assert response.brokers == ()
    assert [topic.error_code for topic in response.topics] == [ErrorCode.INVALID_TOPIC] * 2


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY])
def test_produced_records_are_fetched(client: Client, tp: TopicPartition, codec: Codec) -> None:
    """Fetched records have consecutive offsets from the base offset on, whatever was produced."""
    message_set = build_message_set(RECORDS, codec=codec)
    for base_offset in (0, 5):
        response = send.only(client.request(send.produce(tp, message_set)))
        assert (response.error_code, response.base_offset) == (0, base_offset)
        fetched = send.only(client.request(send.fetch(tp, base_offset)))
        assert fetched.high_watermark == base_offset + 5
        expected = [record._replace(offset=record.offset + base_offset) for record in NUMBERED]
        assert records_of(fetched, base_offset) == expected


def test_fetch_from_the_middle(client: Client, tp: TopicPartition) -> None:
    """A fetch starts at its offset, or at the start of the compressed set that contains it."""
    fill(client, tp)
    fill(client, tp, Codec.GZIP)
    assert [
        record.offset for record in records_of(send.only(client.request(send.fetch(tp, 3))), 0)
    ] == list(range(3, 10))
    assert [
        record.offset for record in records_of(send.only(client.request(send.fetch(tp, 8))), 0)
    ] == list(range(5, 10))


def test_fetch_at_the_end(client: Client, tp: TopicPartition) -> None:
    """A fetch at the log's end returns no records and no error."""
    fill(client, tp)
    fetched = send.only(client.request(send.fetch(tp, 5, max_wait_ms=20)))
    assert (fetched.error_code, fetched.high_watermark) == (ErrorCode.NONE, 5)
    assert bytes(fetched.records) == b""


@pytest.mark.parametrize("offset", [-1, 6, 1 << 40])
def test_fetch_out_of_range(client: Client, tp: TopicPartition, offset: int) -> None:
    """An offset outside the log is answered at once with error 1 and high watermark -1."""
    fill(client, tp)
    fetched = send.only(client.request(send.fetch(tp, offset, max_wait_ms=TIMEOUT_MS * 2)))
    assert (fetched.error_code, fetched.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


@pytest.mark.parametrize(("max_bytes", "size"), [(40, 40), (12, 12), (0, 0)])
def test_fetch_of_few_bytes(client: Client, tp: TopicPartition, max_bytes: int, size: int) -> None:
    """A limit below the first message's size returns exactly that many bytes of it."""
    fill(client, tp)
    fetched = send.only(client.request(send.fetch(tp, 0, max_bytes=max_bytes)))
    assert (fetched.error_code, len(fetched.records)) == (ErrorCode.NONE, size)


def test_fetch_of_negative_size(client: Client, tp: TopicPartition) -> None:
    """A negative byte limit is answered with error -1."""
    fill(client, tp)
    fetched = send.only(client.request(send.fetch(tp, 0, max_bytes=-1)))
    assert fetched.error_code == ErrorCode.UNKNOWN


def test_missing_partitions(client: Client, tp: TopicPartition) -> None:
    """Fetch, ListOffsets and Produce answer unknown topics and partitions with error 3."""
    for missing in (NOWHERE, TopicPartition(tp.topic, 7), TopicPartition(tp.topic, -1)):
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert send.only(client.request(send.fetch(missing, 0))).error_code == unknown
        listed = send.only(client.request(send.list_offsets(missing, LATEST_TIMESTAMP)))
        assert (listed.error_code, listed.offsets) == (unknown, ())
        produced = send.only(client.request(send.produce(missing, build_message_set(RECORDS))))
        assert (produced.error_code, produced.base_offset) == (unknown, -1)


@pytest.mark.parametrize(
    ("timestamp", "offsets"),
    [
        (EARLIEST_TIMESTAMP, (0,)),
        (LATEST_TIMESTAMP, (5, 0)),
        (FAR_FUTURE_MS, (5, 0)),
        (LONG_AGO_MS, ()),
    ],
)
def test_list_offsets(
    client: Client, tp: TopicPartition, timestamp: int, offsets: tuple[int, ...]
) -> None:
    """Offsets come newest first; a time before all segments gives an empty list, not an error."""
    fill(client, tp)
    listed = send.only(client.request(send.list_offsets(tp, timestamp, max_offsets=10)))
    assert (listed.error_code, listed.offsets) == (ErrorCode.NONE, offsets)
    first = send.only(client.request(send.list_offsets(tp, timestamp)))
    assert first.offsets == offsets[:1]


def test_list_offsets_of_an_empty_log(client: Client, tp: TopicPartition) -> None:
    """An empty log starts and ends at 0, and that offset is listed once."""
    for timestamp in (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP):
        listed = send.only(client.request(send.list_offsets(tp, timestamp, max_offsets=10)))
        assert listed.offsets == (0,)


def test_produce_refuses_bad_messages(client: Client, tp: TopicPartition) -> None:
    """A wrong checksum gives error 2, too large a message error 10; nothing is appended."""
    good = build_message_set(RECORDS)
    flipped = good[:-1] + bytes([good[-1] ^ 1])
    corrupt = send.only(client.request(send.produce(tp, flipped)))
    assert corrupt.error_code == ErrorCode.CORRUPT_MESSAGE
    huge = build_message_set([Record(0, None, bytes(1_000_012))])
    too_large = send.only(client.request(send.produce(tp, huge)))
    assert too_large.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert send.only(client.request(send.list_offsets(tp, LATEST_TIMESTAMP))).offsets == (0,)


@pytest.mark.parametrize(
    "request_",
    ["0063 0000 00000001 0000", "0008 0002 00000001 0000", "0001 0000 00000001 7fff"],
    ids=["unknown api", "unknown version", "cut off"],
)
def test_malformed_requests(world: BrokerWorld, request_: str) -> None:
    """A request that the broker can't decode makes it close the connection without a response."""
    body = bytes.fromhex(request_)
    broker = world.broker
    transport = world.connector.connect(broker.host, broker.port, timeout_ms=TIMEOUT_MS)
    transport.set_timeout_ms(TIMEOUT_MS)
    transport.send(len(body).to_bytes(4, "big") + body)
    assert transport.receive_into(memoryview(bytearray(1))) == 0
    transport.close()


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (ApiVersionsRequest(client_software_name="a", client_software_version="1"), 0),
        (ListGroupsRequest(), 0),
        (ProduceRequest(acks=1, timeout_ms=1_000, topics=()), 3),
        (CreateTopicsRequest(topics=(), timeout_ms=1_000), 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_requests_of_later_versions(
    client: Client, request_: Request[Response], version: int
) -> None:
    """APIs and versions of later brokers make it close the connection, which clients rely on."""
    with pytest.raises(ConnectionLost):
        client.request(request_, version)


def test_heartbeats(client: Client) -> None:
    """Heartbeat's API key exists, but has no implementation: the response is an unknown error."""
    heartbeat = HeartbeatRequest(group_id="nobody", generation_id=-1, member_id="")
    assert client.request(heartbeat).error_code == ErrorCode.UNKNOWN


def test_offsets_in_zookeeper(client: Client, tp: TopicPartition) -> None:
    """Version 0: a missing offset is error 3, metadata is dropped, and the topic must exist."""
    group = fresh_name("group")
    missing = send.only(client.request(send.fetch_offset(group, tp), IN_ZOOKEEPER))
    assert (missing.offset, missing.metadata) == (-1, "")
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    stored = client.request(send.commit(group, tp, 42, metadata="note"), IN_ZOOKEEPER)
    assert send.only(stored).error_code == ErrorCode.NONE
    fetched = send.only(client.request(send.fetch_offset(group, tp), IN_ZOOKEEPER))
    assert (fetched.offset, fetched.metadata, fetched.error_code) == (42, "", 0)
    refused = send.only(client.request(send.commit(group, NOWHERE, 1), IN_ZOOKEEPER))
    assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_offsets_in_kafka(client: Client, tp: TopicPartition) -> None:
    """Version 1: a missing offset is no error, and metadata is kept, up to its limit."""
    find_coordinator(client)
    group = fresh_name("group")
    missing = send.only(client.request(send.fetch_offset(group, tp), IN_KAFKA))
    assert (missing.offset, missing.metadata, missing.error_code) == (-1, "", 0)
    for offset, metadata in ((42, ""), (100, "nöte"), (7, "x" * 4096)):
        stored = client.request(send.commit(group, tp, offset, metadata=metadata), IN_KAFKA)
        assert send.only(stored).error_code == ErrorCode.NONE
        fetched = send.only(client.request(send.fetch_offset(group, tp), IN_KAFKA))
        assert (fetched.offset, fetched.metadata, fetched.error_code) == (offset, metadata, 0)
    refused = client.request(send.commit(group, tp, 1, metadata="x" * 4097), IN_KAFKA)
    assert send.only(refused).error_code == ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_offsets_of_unknown_topics_in_kafka(client: Client) -> None:
    """Version 1 stores offsets of topics that do not exist, but does not return them."""
    find_coordinator(client)
    group = fresh_name("group")
    stored = send.only(client.request(send.commit(group, NOWHERE, 1), IN_KAFKA))
    assert stored.error_code == ErrorCode.NONE
    missing = send.only(client.request(send.fetch_offset(group, NOWHERE), IN_KAFKA))
    assert (missing.offset, missing.error_code) == (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_coordinator(client: Client) -> None:
    """The response has the coordinator's id and address."""
    find_coordinator(client)
    response = client.request(FindCoordinatorRequest(group_id="any"))
    coordinator = (response.coordinator_id, response.host, response.port)
    assert coordinator == (client.broker.id, client.broker.host, client.broker.port)


def test_responses_match_their_requests(client: Client, tp: TopicPartition) -> None:
    """Each of many requests on one connection gets its own response."""
    fill(client, tp)
    for _ in range(20):
        assert records_of(send.only(client.request(send.fetch(tp, 0))), 0) == NUMBERED
        assert described(client, tp.topic)[0].topic == tp.topic
