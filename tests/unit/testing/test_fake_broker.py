"""What tests can make the fake broker do; its responses are checked by the contract suite."""

import pytest

from tests.fakes.fake_broker import BrokerConversation
from tests.fakes.fake_failures import failure
from tests.fakes.fake_script import Close, Cut, DefaultReply, Fail, Hang, Raw, ScriptedReply
from tests.support import requests as send
from tests.support.fake_net import LONG_MS, SHORT_MS, FakeNet, fake_net
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectFailed, ConnectionLost, DecodeError, RequestTimedOut
from zkconsumer.model import Record, TopicPartition
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.wire.api import ApiKey, Request, Response
from zkconsumer.wire.codec import decode_response, encode_request
from zkconsumer.wire.messages.fetch import FetchedPartition, FetchRequest, FetchResponse
from zkconsumer.wire.messages.find_coordinator import FindCoordinatorRequest
from zkconsumer.wire.messages.metadata import MetadataRequest

TP = TopicPartition("t", 0)
ONE = [Record(0, None, b"x")]


@pytest.fixture
def net() -> FakeNet:
    """Two brokers; the first leads the partition."""
    net = fake_net(2)
    net.cluster.create_topic("t", replicas=2)
    return net


def fetch(connection: BrokerConnection, timeout_ms: int = LONG_MS) -> FetchedPartition:
    """Fetch from the start, without waiting for records."""
    request = send.fetch(TP, 0, max_wait_ms=0)
    return send.only(connection.request(request, version=0, timeout_ms=timeout_ms))


def parked(net: FakeNet, now_ms: int, max_wait_ms: int) -> BrokerConversation:
    """Return a conversation in which a fetch at the log's end has just arrived."""
    conversation = net.brokers[0].accept()
    assert conversation is not None
    request = send.fetch(TP, net.cluster.log(TP).end_offset, max_wait_ms=max_wait_ms)
    conversation.receive(
        encode_request(request, version=0, correlation_id=1, client_id="c"), now_ms
    )
    return conversation


def decoded_response(data: bytes) -> FetchedPartition:
    """Decode what a conversation sent."""
    return send.only(decode_response(FetchRequest, 0, data[4:])[1])


def test_a_fetch_waits_for_records(net: FakeNet) -> None:
    """A fetch at the log's end is held until something is appended; its client is then woken."""
    conversation = parked(net, now_ms=100, max_wait_ms=50)
    woken: list[bool] = []
    conversation.on_change(lambda: woken.append(True))
    assert conversation.take_outgoing(149) == b""
    assert conversation.next_deadline_ms() == 150
    net.cluster.append(TP, ONE)
    assert woken == [True]
    assert len(decoded_response(conversation.take_outgoing(149)).records) > 0
    assert conversation.next_deadline_ms() is None


def test_a_fetch_waits_no_longer_than_it_says(net: FakeNet) -> None:
    """A fetch at the log's end is answered empty when its wait time is over."""
    conversation = parked(net, now_ms=100, max_wait_ms=50)
    assert decoded_response(conversation.take_outgoing(150)).error_code == ErrorCode.NONE


def test_a_leader_that_moves_ends_the_wait_of_a_fetch(net: FakeNet) -> None:
    """A held fetch is answered with an error once the broker is no longer the leader."""
    conversation = parked(net, now_ms=100, max_wait_ms=50)
    net.cluster.move_leader(TP, 1)
    code = decoded_response(conversation.take_outgoing(101)).error_code
    assert code == ErrorCode.NOT_LEADER_FOR_PARTITION


def test_a_leader_that_moves_is_named_in_metadata(net: FakeNet) -> None:
    """Metadata names the new leader, the old one refuses, and the log is the same."""
    net.cluster.append(TP, ONE)
    net.cluster.move_leader(TP, 1)
    lookup = MetadataRequest(topics=("t",))
    response = net.connect(0).request(lookup, version=0, timeout_ms=LONG_MS)
    assert response.topics[0].partitions[0].leader == 1
    assert fetch(net.connect(0)).error_code == ErrorCode.NOT_LEADER_FOR_PARTITION
    assert fetch(net.connect(1)).high_watermark == 1


def test_scripted_steps_are_taken_in_order(net: FakeNet) -> None:
    """Each step serves one request of its API; other APIs are not touched."""
    reply = FetchResponse(topics=())
    net.brokers[0].script(ApiKey.FETCH, Fail(7), DefaultReply(), ScriptedReply(reply), Close())
    connection = net.connect()
    lookup = MetadataRequest(topics=("t",))
    assert connection.request(lookup, version=0, timeout_ms=LONG_MS).topics[0].error_code == 0
    assert fetch(connection).error_code == 7
    assert fetch(connection).error_code == 0
    request = send.fetch(TP, 0, max_wait_ms=0)
    assert connection.request(request, version=0, timeout_ms=LONG_MS) == reply
    with pytest.raises(ConnectionLost):
        fetch(connection)
    assert fetch(net.connect()).error_code == 0


def test_a_broker_can_hang_break_off_and_send_garbage(net: FakeNet) -> None:
    """A broker can be told to hang, to stop in the middle of a response, and to send garbage."""
    net.brokers[0].script(ApiKey.FETCH, Hang(), Cut(10), Raw(bytes(8)))
    with pytest.raises(RequestTimedOut):
        fetch(net.connect(), SHORT_MS)
    with pytest.raises(ConnectionLost):
        fetch(net.connect())
    with pytest.raises(DecodeError):
        fetch(net.connect())


def test_a_broker_can_be_stopped_and_started(net: FakeNet) -> None:
    """A stopped broker breaks its connections, takes no new ones, and leads nothing."""
    connection = net.connect()
    net.brokers[0].stop()
    with pytest.raises(ConnectionLost):
        fetch(connection)
    with pytest.raises(ConnectFailed):
        net.connect()
    lookup = MetadataRequest(topics=("t",))
    response = net.connect(1).request(lookup, version=0, timeout_ms=LONG_MS)
    partition = response.topics[0].partitions[0]
    assert [broker.id for broker in response.brokers] == [1]
    assert (partition.leader, partition.replicas) == (-1, (1,))
    net.brokers[0].start()
    assert fetch(net.connect()).error_code == 0


def test_a_stopped_follower_is_reported(net: FakeNet) -> None:
    """Where a follower is down, metadata has error 9 and still the leader."""
    net.brokers[1].stop()
    lookup = MetadataRequest(topics=("t",))
    response = net.connect(0).request(lookup, version=0, timeout_ms=LONG_MS)
    partition = response.topics[0].partitions[0]
    assert (partition.error_code, partition.leader) == (ErrorCode.REPLICA_NOT_AVAILABLE, 0)


def test_only_the_coordinator_serves_offsets(net: FakeNet) -> None:
    """Only the coordinator serves offsets; without one, no coordinator is named."""
    for coordinator, expected in ((1, (0, 1)), (None, (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1))):
        net.cluster.coordinator = coordinator
        connection = net.connect()
        request = FindCoordinatorRequest(group_id="g")
        found = connection.request(request, version=0, timeout_ms=LONG_MS)
        assert (found.error_code, found.coordinator_id) == expected
        committed = connection.request(send.commit("g", TP, 1), version=1, timeout_ms=LONG_MS)
        assert send.only(committed).error_code == ErrorCode.NOT_COORDINATOR
        fetched = connection.request(send.fetch_offset("g", TP), version=1, timeout_ms=LONG_MS)
        assert send.only(fetched).error_code == ErrorCode.NOT_COORDINATOR


def test_deleted_records_are_out_of_range(net: FakeNet) -> None:
    """Deleting the start of the log puts old offsets out of range."""
    net.cluster.append(TP, ONE * 5)
    net.cluster.log(TP).delete_before(3)
    assert fetch(net.connect()).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_raw_entries_are_fetched_unchanged(net: FakeNet) -> None:
    """Raw bytes appended to the log are fetched unchanged."""
    assert net.cluster.append_raw(TP, b"not a message", record_count=2) == 0
    fetched = fetch(net.connect())
    assert (bytes(fetched.records), fetched.high_watermark) == (b"not a message", 2)


FAILING: list[Request[Response]] = [
    send.fetch(TP, 0),
    send.produce(TP, b""),
    send.list_offsets(TP, -1),
    send.commit("g", TP, 1),
    send.fetch_offset("g", TP),
    MetadataRequest(topics=("t",)),
    FindCoordinatorRequest(group_id="g"),
]


@pytest.mark.parametrize("request_", FAILING, ids=lambda request_class: request_class.API.key.name)
def test_every_api_can_fail(request_: Request[Response]) -> None:
    """A scripted failure is a response of the right type that has the error code."""
    response = failure(request_, 77)
    assert isinstance(response, request_.RESPONSE)
    assert "error_code=77" in repr(response)
