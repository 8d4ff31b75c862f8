"""Raw frames on a connection, before and between requests."""

import pytest

from tests.fakes.memory_transport import MemoryNetwork
from tests.support.scripted_peer import ScriptedPeer
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectionLost,
    DecodeError,
    LocalProtocolError,
    RequestTimedOut,
)
from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.wire.messages.metadata import MetadataRequest

LONG_MS = 10_000
SHORT_MS = 30


@pytest.fixture
def peer() -> ScriptedPeer:
    """The other end of the connection."""
    return ScriptedPeer()


@pytest.fixture
def connection(peer: ScriptedPeer) -> BrokerConnection:
    """A connection to that peer."""
    network = MemoryNetwork()
    network.listen("b", 1, peer.accept)
    return BrokerConnection(
        Broker(1, "b", 1),
        network.connect("b", 1, timeout_ms=LONG_MS),
        client_id="test",
        max_response_bytes=1 << 30,
    )


def test_raw_frames_are_exchanged(connection: BrokerConnection, peer: ScriptedPeer) -> None:
    """They are unchanged, one at a time, and may be empty, which no response to a request is."""
    peer.write(b"\0\0\0\3abc" + b"\0\0\0\0" + b"\0\0\0\1d")
    assert bytes(connection.exchange(b"out", timeout_ms=LONG_MS)) == b"abc"
    assert peer.received == b"out"
    assert bytes(connection.exchange(b"", timeout_ms=LONG_MS)) == b""
    assert bytes(connection.exchange(b"more", timeout_ms=LONG_MS)) == b"d"
    assert peer.received == b"outmore"
    assert connection.is_idle
    connection.close()


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (b"\xff\xff\xff\xff", DecodeError),
        (b"\0\x20\0\0", DecodeError),
        (b"HTTP/1.1", DecodeError),
        (b"\x15\x03\x03\x00\x02\x02\x50", AuthenticationFailed),
        (b"\0\0\0\4ab", ConnectionLost),
        (b"", ConnectionLost),
    ],
)
def test_invalid_frames_end_the_connection(
    connection: BrokerConnection, peer: ScriptedPeer, message: bytes, error: type[Exception]
) -> None:
    """They end the connection before any of the announced bytes is waited for."""
    peer.write(message)
    peer.finish()
    with pytest.raises(error):
        connection.exchange(b"", timeout_ms=LONG_MS)
    assert not connection.is_idle


def test_a_tls_alert_is_not_taken_for_a_length(
    connection: BrokerConnection, peer: ScriptedPeer
) -> None:
    """It may come as the first response; the length that it would mean is not waited for."""
    peer.write(b"\x15\x03\x03\x00\x02\x02\x50")
    with pytest.raises(AuthenticationFailed, match=r"responds in TLS.*security_protocol"):
        connection.request(MetadataRequest(topics=("t",)), version=0, timeout_ms=LONG_MS)
    assert not connection.is_idle


def test_no_raw_frame_is_exchanged_while_a_request_is_in_flight(
    connection: BrokerConnection, peer: ScriptedPeer
) -> None:
    """The frame would be taken for the response."""
    connection.begin(MetadataRequest(topics=()), version=0, timeout_ms=LONG_MS)
    received = peer.received
    with pytest.raises(LocalProtocolError, match="in flight"):
        connection.exchange(b"out", timeout_ms=LONG_MS)
    assert peer.received == received
    connection.close()


def test_a_silent_peer_is_a_timeout(connection: BrokerConnection) -> None:
    """The call ends in time, and the connection with it."""
    with pytest.raises(RequestTimedOut):
        connection.exchange(b"", timeout_ms=SHORT_MS)
    assert not connection.is_idle
