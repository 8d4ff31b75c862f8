"""Connections that know their broker, whatever it is, and was, and becomes."""

import pytest

from tests.support.spoken_broker import MODERN, Said, Serves, SpokenBroker, Word
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectFailed,
    ConnectionLost,
    RequestTimedOut,
    TransportError,
    UnsupportedVersion,
    ZkConsumerError,
)
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.scope import ThreadScope
from zkconsumer.testing.memory_transport import MemoryNetwork
from zkconsumer.wire.api import ApiKey, Response
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest
from zkconsumer.wire.messages.metadata import MetadataRequest, MetadataResponse
from zkconsumer.wire.messages.sync_group import SyncGroupRequest
from zkconsumer.wire.versions import BrokerGeneration, VersionRange

ADDRESS = Broker(-1, "b", 9092)
LONG_MS = 10_000
SHORT_MS = 50
QUESTION = MetadataRequest(topics=("t",))
NOTHING = MetadataResponse(brokers=(), topics=())

KAFKA_0_10_2: Serves = {
    **MODERN,
    ApiKey.API_VERSIONS: VersionRange(0, 0),
    ApiKey.METADATA: VersionRange(0, 2),
}


def answering(frame: RequestFrame) -> Response | None:
    """Answer metadata requests."""
    return NOTHING if frame.api_key is ApiKey.METADATA else None


@pytest.fixture
def broker() -> SpokenBroker:
    """A broker of today."""
    return SpokenBroker(ADDRESS, answer=answering)


@pytest.fixture
def dialer(broker: SpokenBroker) -> BrokerDialer:
    """A way to it."""
    return dialer_to(broker)


def dialer_to(broker: SpokenBroker, *, timeout_ms: int = LONG_MS) -> BrokerDialer:
    """A way to a broker."""
    network = MemoryNetwork()
    broker.listen(network)
    return BrokerDialer(
        network, client_id="test", connect_timeout_ms=LONG_MS, request_timeout_ms=timeout_ms
    )


def version_sent(broker: SpokenBroker, connection: NegotiatedConnection) -> int:
    """Ask for metadata; the version in which that arrived."""
    assert connection.call(QUESTION, timeout_ms=LONG_MS) == NOTHING
    return broker.asked(ApiKey.METADATA)[-1].version


# --- Finding out ----------------------------------------------------------------------------------


def test_a_modern_broker_is_asked_on_the_connection_that_is_used(
    broker: SpokenBroker, dialer: BrokerDialer
) -> None:
    """One connect is enough; the newest common version is sent, within the bounds of the call."""
    connection = dialer.dial(ADDRESS)
    assert broker.accepted == 1
    assert connection.versions.generation is None
    assert version_sent(broker, connection) == MetadataRequest.API.last
    connection.call(QUESTION, timeout_ms=LONG_MS, at_most=4)
    assert broker.asked(ApiKey.METADATA)[-1].version == 4
    with pytest.raises(UnsupportedVersion, match=r"broker -1 \(b:9092\).*METADATA from version 13"):
        connection.call(QUESTION, timeout_ms=LONG_MS, at_least=13)
    assert connection.is_idle
    connection.close()


def test_a_broker_of_0_10_refuses_the_newest_question_once(
    broker: SpokenBroker, dialer: BrokerDialer
) -> None:
    """It says which version to ask with: later connections ask with that one at once."""
    broker.serves = KAFKA_0_10_2
    first = dialer.dial(ADDRESS)
    assert version_sent(broker, first) == 2
    assert broker.accepted == 2
    second = dialer.dial(ADDRESS)
    assert broker.accepted == 3
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("generation", "connects"),
    [
        (BrokerGeneration.V0_9, 2),
        # ApiVersions twice, one question a release, ApiVersions again, and what is used.
        (BrokerGeneration.V0_8_2, 6),
        (BrokerGeneration.V0_8_1, 7),
        (BrokerGeneration.V0_8_0, 8),
    ],
)
def test_an_old_broker_is_found_out_once(
    broker: SpokenBroker,
    dialer: BrokerDialer,
    generation: BrokerGeneration,
    connects: int,
) -> None:
    """What it is holds for later connections while one lives."""
    broker.become(generation)
    first = dialer.dial(ADDRESS)
    assert first.versions.generation is generation
    assert broker.accepted == connects
    assert version_sent(broker, first) == 0
    second = dialer.dial(ADDRESS)
    assert second.versions.generation is generation
    assert broker.accepted == connects + 1
    first.close()
    second.close()


def test_an_old_broker_that_stops_is_not_taken_for_an_older_one(
    broker: SpokenBroker, dialer: BrokerDialer
) -> None:
    """A modern broker that breaks connections while it stops is asked again behind all."""
    broken = 4

    def stopping(frame: RequestFrame) -> Said | None:
        nonlocal broken
        if broken and frame.api_key is not ApiKey.METADATA:
            broken -= 1
            return Word.CLOSE
        return answering(frame)

    broker.answer = stopping
    broker.serves = KAFKA_0_10_2
    connection = dialer.dial(ADDRESS)
    assert connection.versions.generation is None
    assert version_sent(broker, connection) == 2
    connection.close()


# --- Becoming another -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BrokerGeneration.V0_8_2, None),
        (BrokerGeneration.V0_9, BrokerGeneration.V0_8_2),
        (None, BrokerGeneration.V0_8_2),
        (None, BrokerGeneration.V0_9),
    ],
)
def test_a_broker_that_is_back_as_another_version(
    broker: SpokenBroker,
    dialer: BrokerDialer,
    before: BrokerGeneration | None,
    after: BrokerGeneration | None,
) -> None:
    """A lost connection ends what was known: also where another one has not noticed yet."""
    broker.become(before)
    first, second = dialer.dial(ADDRESS), dialer.dial(ADDRESS)
    assert first.versions.generation is before
    broker.become(after)
    with pytest.raises(ConnectionLost):
        first.call(QUESTION, timeout_ms=LONG_MS)
    again = dialer.dial(ADDRESS)
    assert again.versions.generation is after
    # The other one belongs to what was known before: its end changes nothing now.
    with pytest.raises(ConnectionLost):
        second.call(QUESTION, timeout_ms=LONG_MS)
    accepted = broker.accepted
    third = dialer.dial(ADDRESS)
    assert third.versions.generation is after
    assert broker.accepted == accepted + 1
    again.close()
    third.close()


def test_the_last_connection_takes_what_was_known_with_it(
    broker: SpokenBroker, dialer: BrokerDialer
) -> None:
    """Nobody would notice that the broker became another one: so it is asked anew."""
    broker.become(BrokerGeneration.V0_8_2)
    first, second = dialer.dial(ADDRESS), dialer.dial(ADDRESS)
    first.close()
    first.close()
    accepted = broker.accepted
    third = dialer.dial(ADDRESS)
    assert broker.accepted == accepted + 1
    second.close()
    third.close()
    broker.generation, broker.serves = None, MODERN
    with_modern = dialer.dial(ADDRESS)
    assert with_modern.versions.generation is None
    with_modern.close()


def test_a_broker_that_does_not_connect_any_more_may_be_another_one(
    broker: SpokenBroker, dialer: BrokerDialer
) -> None:
    """Also where a connection from before is open still, as far as we know."""
    broker.become(BrokerGeneration.V0_8_2)
    stale = dialer.dial(ADDRESS)
    broker.down = True
    with pytest.raises(ConnectFailed):
        dialer.dial(ADDRESS)
    broker.down = False
    broker.generation, broker.serves = None, MODERN
    connection = dialer.dial(ADDRESS)
    assert connection.versions.generation is None
    connection.close()
    stale.close()


# --- What can't be spoken with --------------------------------------------------------------------


def test_a_port_that_wants_sasl(broker: SpokenBroker, dialer: BrokerDialer) -> None:
    """It answers ApiVersions and nothing else: said at once, as what it is."""

    def wants_sasl(frame: RequestFrame) -> Said | None:
        return None if frame.api_key is ApiKey.API_VERSIONS else Word.CLOSE

    broker.answer = wants_sasl
    with pytest.raises(AuthenticationFailed, match=r"b:9092.*wants SASL .security_protocol"):
        dialer.dial(ADDRESS)
    assert broker.accepted == 2


def test_a_port_that_wants_tls(broker: SpokenBroker, dialer: BrokerDialer) -> None:
    """Its answer is an alert of TLS."""
    broker.answer = lambda _: b"\x15\x03\x03\x00\x02\x02\x50"
    with pytest.raises(AuthenticationFailed, match=r"b:9092.*TLS.*security_protocol"):
        dialer.dial(ADDRESS)


def test_a_port_that_closes_whatever_it_is_asked(
    broker: SpokenBroker, dialer: BrokerDialer
) -> None:
    """It may work later: what forwards to a broker that is down does so, too."""
    broker.answer = lambda _: Word.CLOSE
    with pytest.raises(ConnectFailed, match=r"b:9092.*closes the connection whatever"):
        dialer.dial(ADDRESS)


def test_what_is_no_broker(broker: SpokenBroker, dialer: BrokerDialer) -> None:
    """Bytes of another protocol are an error of the protocol, at once."""
    broker.answer = lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n"
    with pytest.raises(ZkConsumerError, match="another protocol"):
        dialer.dial(ADDRESS)


# --- Time, and stopping ---------------------------------------------------------------------------


@pytest.mark.parametrize("api", [ApiKey.API_VERSIONS, ApiKey.HEARTBEAT])
def test_a_broker_that_hangs_ends_in_time(broker: SpokenBroker, api: ApiKey) -> None:
    """Silence is a time-out, not a version."""

    def hanging(frame: RequestFrame) -> Said | None:
        return Word.SILENCE if frame.api_key is api else None

    broker.answer = hanging
    clock = SystemClock()
    began_ms = clock.now_ms()
    with pytest.raises(RequestTimedOut):
        dialer_to(broker, timeout_ms=SHORT_MS).dial(ADDRESS)
    with pytest.raises(RequestTimedOut):
        dialer_to(broker).dial(ADDRESS, timeout_ms=SHORT_MS)
    assert clock.now_ms() - began_ms < LONG_MS


def test_stop_wakes_whoever_dials(broker: SpokenBroker, dialer: BrokerDialer) -> None:
    """A hanging broker holds nobody up; and later dials fail at once."""
    broker.answer = lambda _: Word.SILENCE
    ended: list[TransportError] = []

    def dial() -> None:
        try:
            dialer.dial(ADDRESS)
        except TransportError as error:
            ended.append(error)

    scope = ThreadScope("test-stop")
    scope.spawn("dial", dial, stop=dialer.stop)
    wait_until(lambda: broker.requests, what="the question")
    assert scope.close(LONG_MS) == []
    assert scope.first_error() is None
    assert len(ended) == 1
    accepted = broker.accepted
    with pytest.raises(ConnectionLost, match="broken off"):
        dialer.dial(ADDRESS)
    assert broker.accepted == accepted == 1


def test_twins_are_stopped_apart(broker: SpokenBroker, dialer: BrokerDialer) -> None:
    """What one finds out the other knows; the elder's stop ends the younger, too."""
    broker.become(BrokerGeneration.V0_8_2)
    first = dialer.dial(ADDRESS)
    one, two = dialer.twin(), dialer.twin()
    one.stop()
    with pytest.raises(ConnectionLost, match="broken off"):
        one.dial(ADDRESS)
    accepted = broker.accepted
    two.dial(ADDRESS).close()
    dialer.dial(ADDRESS).close()
    assert broker.accepted == accepted + 2
    dialer.stop()
    for stopped in (two, dialer, dialer.twin()):
        with pytest.raises(ConnectionLost, match="broken off"):
            stopped.dial(ADDRESS)
    assert broker.accepted == accepted + 2
    first.close()


def test_a_twin_connects_on_its_own() -> None:
    """Over TCP: stopping one leaves what the other connects alone."""
    connector = TcpConnector()
    elder = BrokerDialer(
        connector, client_id="test", connect_timeout_ms=SHORT_MS, request_timeout_ms=SHORT_MS
    )
    elder.twin().stop()
    with pytest.raises(ConnectFailed, match="can't connect"):
        elder.dial(Broker(-1, "127.0.0.1", 1))


def test_close_wakes_a_call_and_proves_nothing(broker: SpokenBroker, dialer: BrokerDialer) -> None:
    """Closing from another thread ends a wait; what is known of the broker lives on."""
    broker.become(BrokerGeneration.V0_8_2)
    other = dialer.dial(ADDRESS)
    connection = dialer.dial(ADDRESS)
    broker.answer = lambda frame: Word.SILENCE if frame.api_key is ApiKey.METADATA else None
    ended: list[ConnectionLost] = []

    def call() -> None:
        try:
            connection.call(QUESTION, timeout_ms=LONG_MS)
        except ConnectionLost as error:
            ended.append(error)

    scope = ThreadScope("test-close")
    scope.spawn("call", call, stop=connection.close)
    wait_until(lambda: broker.asked(ApiKey.METADATA), what="the question")
    assert scope.close(LONG_MS) == []
    assert len(ended) == 1
    assert not connection.is_idle
    accepted = broker.accepted
    dialer.dial(ADDRESS).close()
    assert broker.accepted == accepted + 1
    other.close()


def test_a_call_that_times_out_closes(broker: SpokenBroker, dialer: BrokerDialer) -> None:
    """A late answer must not be taken for the next one."""
    connection = dialer.dial(ADDRESS)
    broker.answer = lambda frame: Word.SILENCE if frame.api_key is ApiKey.METADATA else None
    with pytest.raises(RequestTimedOut):
        connection.call(QUESTION, timeout_ms=SHORT_MS)
    assert not connection.is_idle
    with pytest.raises(ConnectionLost):
        connection.call(QUESTION, timeout_ms=SHORT_MS)


def test_sending_first_and_reading_later(broker: SpokenBroker, dialer: BrokerDialer) -> None:
    """``begin`` says which version it chose; nothing else may be sent before ``finish``."""
    connection = dialer.dial(ADDRESS)
    in_flight = connection.begin(QUESTION, timeout_ms=LONG_MS, at_most=7)
    assert in_flight.version == 7
    assert connection.is_idle is False
    with pytest.raises(ZkConsumerError, match="in flight"):
        connection.call(QUESTION, timeout_ms=LONG_MS)
    assert connection.finish(in_flight, timeout_ms=LONG_MS) == NOTHING
    assert version_sent(broker, connection) == MetadataRequest.API.last
    connection.close()


def test_what_an_old_version_can_not_carry_is_not_sent(
    broker: SpokenBroker, dialer: BrokerDialer
) -> None:
    """A request that can't be sent leaves the connection as it was."""
    broker.become(BrokerGeneration.V0_9)
    connection = dialer.dial(ADDRESS)
    static = HeartbeatRequest(
        group_id="g", generation_id=1, member_id="m", group_instance_id="static"
    )
    with pytest.raises(ZkConsumerError, match="group_instance_id"):
        connection.call(static, timeout_ms=LONG_MS)
    assert SyncGroupRequest.API.key in connection.versions.common
    assert connection.is_idle
    assert version_sent(broker, connection) == 0
    connection.close()
