"""Dialing ends: in time, when it is stopped, and when the port can't be used."""

from pathlib import Path

import pytest

from tests.support.certificates import Certificates
from tests.support.scripted_broker import ScriptedAction, ScriptedBroker, ScriptedResponse
from tests.support.scripted_dialing import (
    ADDRESS,
    EMPTY_RESPONSE,
    LONG_MS,
    REQUEST,
    SHORT_MS,
    dialer_to,
    version_sent,
)
from zkconsumer.clock import SystemClock
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectFailed,
    ConnectionLost,
    RequestTimedOut,
    ZkConsumerError,
)
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import SecuritySettings, TlsSettings
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.group_members import SyncGroupRequest
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest
from zkconsumer.wire.messages.metadata import MetadataRequest
from zkconsumer.wire.versions import BrokerGeneration

# --- Ports that can't be used ---------------------------------------------------------------------


def test_a_port_that_requires_sasl_is_recognized(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """A port that responds only to ApiVersions is recognized at once."""

    def wants_sasl(frame: RequestFrame) -> ScriptedResponse | None:
        return None if frame.api_key is ApiKey.API_VERSIONS else ScriptedAction.CLOSE

    broker.response = wants_sasl
    with pytest.raises(AuthenticationFailed, match=r"b:9092.*requires SASL .security_protocol"):
        dialer.dial(ADDRESS)
    assert broker.accepted == 2


def test_a_port_that_requires_tls_is_recognized(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """The response is a TLS alert."""
    broker.response = lambda _: b"\x15\x03\x03\x00\x02\x02\x50"
    with pytest.raises(AuthenticationFailed, match=r"b:9092.*TLS.*security_protocol"):
        dialer.dial(ADDRESS)


def test_a_port_that_closes_every_connection_is_not_taken_for_another(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """It may work later: a proxy in front of a broker that is down does the same."""
    broker.response = lambda _: ScriptedAction.CLOSE
    with pytest.raises(ConnectFailed, match=r"b:9092.*closes the connection on every request"):
        dialer.dial(ADDRESS)


def test_a_port_that_is_no_broker_is_recognized(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """Bytes of another protocol raise a protocol error at once."""
    broker.response = lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n"
    with pytest.raises(ZkConsumerError, match="another protocol"):
        dialer.dial(ADDRESS)


# --- Time, and stopping ---------------------------------------------------------------------------


@pytest.mark.parametrize("api", [ApiKey.API_VERSIONS, ApiKey.HEARTBEAT])
def test_dialing_a_broker_that_hangs_ends_in_time(broker: ScriptedBroker, api: ApiKey) -> None:
    """Silence is a time-out, and not taken for an old version."""

    def hanging(frame: RequestFrame) -> ScriptedResponse | None:
        return ScriptedAction.SILENCE if frame.api_key is api else None

    broker.response = hanging
    clock = SystemClock()
    began_ms = clock.now_ms()
    with pytest.raises(RequestTimedOut):
        dialer_to(broker, timeout_ms=SHORT_MS).dial(ADDRESS)
    with pytest.raises(RequestTimedOut):
        dialer_to(broker).dial(ADDRESS, timeout_ms=SHORT_MS)
    assert clock.now_ms() - began_ms < LONG_MS


def test_twins_are_stopped_separately(broker: ScriptedBroker, dialer: BrokerDialer) -> None:
    """What one learns, the other knows; stopping the original stops its siblings, too."""
    broker.become(BrokerGeneration.V0_8_2)
    first = dialer.dial(ADDRESS)
    first_sibling, second_sibling = dialer.sibling(), dialer.sibling()
    first_sibling.stop()
    with pytest.raises(ConnectionLost, match="aborted"):
        first_sibling.dial(ADDRESS)
    accepted = broker.accepted
    second_sibling.dial(ADDRESS).close()
    dialer.dial(ADDRESS).close()
    assert broker.accepted == accepted + 2
    dialer.stop()
    for stopped in (second_sibling, dialer, dialer.sibling()):
        with pytest.raises(ConnectionLost, match="aborted"):
            stopped.dial(ADDRESS)
    assert broker.accepted == accepted + 2
    first.close()


def test_a_twin_does_not_read_files_again(certificates: Certificates, tmp_path: Path) -> None:
    """Later connections use the files' content as first read, even if the files are gone."""
    authority = tmp_path / "ca.pem"
    authority.write_bytes(Path(certificates.authority).read_bytes())
    client = ClientSettings(
        client_id="test",
        timeout_ms=SHORT_MS,
        security=SecuritySettings(protocol="SSL", tls=TlsSettings(cafile=authority)),
    )
    original = dialer_of(client)
    authority.unlink()
    assert original.sibling().sibling().protocol == "SSL"


def test_a_call_that_times_out_closes_the_connection(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """A late response must not be taken for that of the next request."""
    connection = dialer.dial(ADDRESS)
    broker.response = lambda frame: (
        ScriptedAction.SILENCE if frame.api_key is ApiKey.METADATA else None
    )
    with pytest.raises(RequestTimedOut):
        connection.call(REQUEST, timeout_ms=SHORT_MS)
    assert not connection.is_idle
    with pytest.raises(ConnectionLost):
        connection.call(REQUEST, timeout_ms=SHORT_MS)


def test_a_request_may_be_sent_first_and_its_response_read_later(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """``begin`` returns the version that it chose; nothing else may be sent before ``finish``."""
    connection = dialer.dial(ADDRESS)
    in_flight = connection.begin(REQUEST, timeout_ms=LONG_MS, at_most=7)
    assert in_flight.version == 7
    assert connection.is_idle is False
    with pytest.raises(ZkConsumerError, match="in flight"):
        connection.call(REQUEST, timeout_ms=LONG_MS)
    assert connection.finish(in_flight, timeout_ms=LONG_MS) == EMPTY_RESPONSE
    assert version_sent(broker, connection) == MetadataRequest.API.last
    connection.close()


def test_a_request_that_an_old_version_can_not_express_is_not_sent(
    broker: ScriptedBroker, dialer: BrokerDialer
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
