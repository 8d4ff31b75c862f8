"""A connection has one request at a time, and never reads part of another response."""

import pytest

from tests.fakes.fake_script import Close, Cut, Hang, Raw, Step
from tests.support import requests as request
from tests.support.fake_net import CLIENT_ID, LONG_MS, SHORT_MS, FakeNet, fake_net, request_metadata
from zkconsumer.errors import (
    ConnectFailed,
    ConnectionLost,
    DecodeError,
    LocalProtocolError,
    RequestTimedOut,
    ZkConsumerError,
)
from zkconsumer.model import Record, TopicPartition
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import encode_response
from zkconsumer.wire.messages.fetch import FetchRequest, FetchTopic
from zkconsumer.wire.messages.metadata import MetadataRequest, MetadataResponse

TP = TopicPartition("t", 0)
REQUEST = MetadataRequest(topics=("t",))
NOTHING = MetadataResponse(brokers=(), topics=())


def test_requests_have_correlation_ids_and_the_client_id(net: FakeNet) -> None:
    """Correlation ids count up from 0; every request has the client id."""
    connection = net.connect()
    for _ in range(3):
        assert request_metadata(connection).topics[0].topic == "t"
    assert [request_frame.correlation_id for request_frame in net.brokers[0].requests] == [0, 1, 2]
    assert {request_frame.client_id for request_frame in net.brokers[0].requests} == {CLIENT_ID}


def test_correlation_ids_wrap(net: FakeNet) -> None:
    """The largest correlation id is followed by 0."""
    connection = net.connect()
    connection._correlation_id = (1 << 31) - 1
    request_metadata(connection)
    request_metadata(connection)
    assert [request_frame.correlation_id for request_frame in net.brokers[0].requests] == [
        (1 << 31) - 1,
        0,
    ]


@pytest.mark.parametrize(
    ("step", "error", "complaint"),
    [
        (Hang(), RequestTimedOut, "fake-0:9092"),
        (Close(), ConnectionLost, r"broker 0 \(fake-0:9092\): closed the connection"),
        (Cut(3), ConnectionLost, "fake-0:9092"),
        (Cut(20), ConnectionLost, "fake-0:9092"),
        (Raw(b"\0\0\0\x10abc"), RequestTimedOut, "fake-0:9092"),
        (Raw(b"\x7f\xff\xff\xff"), DecodeError, "a length of 2147483647"),
        (Raw(b"\xff\xff\xff\xff"), DecodeError, "a length of -1"),
        (Raw(b"HTTP/1.1 400 Bad Request"), DecodeError, "the peer speaks another protocol"),
        (
            Raw(encode_response(NOTHING, version=0, correlation_id=5)),
            DecodeError,
            "response to 5, not 0",
        ),
        (Raw(b"\0\0\0\x05" + bytes(5)), DecodeError, "MetadataResponse v0.*field brokers"),
    ],
)
def test_a_failure_closes_the_connection(
    net: FakeNet, step: Step, error: type[ZkConsumerError], complaint: str
) -> None:
    """A failure with a response raises a named error, and the connection can't be used any more."""
    net.brokers[0].script(ApiKey.METADATA, step)
    connection = net.connect()
    with pytest.raises(error, match=complaint):
        request_metadata(connection, SHORT_MS if error is RequestTimedOut else LONG_MS)
    with pytest.raises(ConnectionLost):
        request_metadata(connection)
    assert request_metadata(net.connect()).topics[0].topic == "t"


def test_requests_that_cannot_be_sent_change_nothing(net: FakeNet) -> None:
    """A request that can't be encoded is our error, and the connection stays usable."""
    connection = net.connect()
    with pytest.raises(LocalProtocolError, match="there is no version 99"):
        connection.request(REQUEST, version=99, timeout_ms=LONG_MS)
    with pytest.raises(LocalProtocolError, match=r"field topics\[0\]\.topic"):
        connection.request(
            FetchRequest(
                max_wait_ms=0, min_bytes=0, topics=(FetchTopic(topic="t" * 40_000, partitions=()),)
            ),
            version=0,
            timeout_ms=LONG_MS,
        )
    assert request_metadata(connection).topics[0].topic == "t"


def test_large_responses_arrive_whole(net: FakeNet) -> None:
    """A response of several megabytes, far more than one read, arrives unchanged."""
    net.cluster.append(TP, [Record(0, None, bytes([number]) * 900_000) for number in range(5)])
    response = net.connect().request(
        request.fetch(TP, 0, max_bytes=1 << 24), version=0, timeout_ms=LONG_MS
    )
    assert request.only(response).records == net.cluster.log(TP).read(0, 1 << 24)


def test_a_response_above_the_limit_is_refused() -> None:
    """A response larger than allowed is refused before it is read."""
    net = fake_net(max_response_bytes=1000)
    net.cluster.create_topic("t")
    net.cluster.append(TP, [Record(0, None, bytes(2000))])
    with pytest.raises(DecodeError, match="only 4 to 1000 make sense for what was requested"):
        net.connect().request(request.fetch(TP, 0), version=0, timeout_ms=LONG_MS)


def test_a_broker_that_is_down_can_not_be_connected_to(net: FakeNet) -> None:
    """Connecting to a broker that is down raises ConnectFailed with its address."""
    net.brokers[0].stop()
    with pytest.raises(ConnectFailed, match="fake-0:9092"):
        net.connect()


def is_idle(connection: BrokerConnection) -> bool:
    """Return ``is_idle``; the type checker assumes nothing about a second call."""
    return connection.is_idle


def test_a_request_may_be_sent_before_its_response_is_waited_for(net: FakeNet) -> None:
    """It is sent at once, and no other request may follow before its response was read."""
    connection = net.connect()
    assert is_idle(connection)
    in_flight = connection.begin(REQUEST, version=0, timeout_ms=LONG_MS)
    assert not is_idle(connection)
    assert len(net.brokers[0].requests) == 1
    with pytest.raises(LocalProtocolError, match="MetadataRequest can't be sent while another"):
        request_metadata(connection)
    assert connection.finish(in_flight, timeout_ms=LONG_MS).topics[0].topic == "t"
    assert is_idle(connection)
    with pytest.raises(LocalProtocolError, match="this MetadataRequest is not in flight"):
        connection.finish(in_flight, timeout_ms=LONG_MS)
    assert request_metadata(connection).topics[0].topic == "t"


def test_the_timeout_of_a_response_counts_from_the_wait(net: FakeNet) -> None:
    """The time-out counts from the call that waits, not from the sending."""
    net.brokers[0].script(ApiKey.METADATA, Hang())
    connection = net.connect()
    in_flight = connection.begin(REQUEST, version=0, timeout_ms=LONG_MS)
    with pytest.raises(RequestTimedOut):
        connection.finish(in_flight, timeout_ms=SHORT_MS)
    assert not is_idle(connection)
    with pytest.raises(ConnectionLost):
        connection.begin(REQUEST, version=0, timeout_ms=LONG_MS)


def test_several_requests_may_be_in_flight_if_allowed(net: FakeNet) -> None:
    """Responses come in order; one request more than allowed, or one out of order, is refused."""
    connection = net.connect()
    first, second = (
        connection.begin(REQUEST, version=0, timeout_ms=LONG_MS, most_in_flight=2) for _ in range(2)
    )
    with pytest.raises(LocalProtocolError, match="MetadataRequest can't be sent while another"):
        connection.begin(REQUEST, version=0, timeout_ms=LONG_MS, most_in_flight=2)
    with pytest.raises(LocalProtocolError, match="this MetadataRequest is not in flight"):
        connection.finish(second, timeout_ms=LONG_MS)
    for in_flight in (first, second):
        assert connection.finish(in_flight, timeout_ms=LONG_MS).topics[0].topic == "t"
    assert is_idle(connection)
