"""TLS to a port without it is distinguished from a broker that stops: only the former responds."""

from collections.abc import Callable

import pytest

from tests.fakes.conversation import Conversation
from tests.fakes.memory_transport import MemoryNetwork
from tests.support.certificates import Certificates
from tests.support.scripted_broker import ScriptedAction, ScriptedBroker, old
from tests.support.scripted_dialing import ADDRESS, LONG_MS
from tests.support.scripted_peer import ScriptedPeer
from zkconsumer.errors import AuthenticationFailed, ConnectFailed
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import SecuritySettings, TlsSettings
from zkconsumer.net.tls import context_of
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.versions import BrokerGeneration


class ClosesFirst:
    """A port that closes the first connection, as one without TLS does on a TLS handshake.

    Args:
        then: accepts the later connections.
    """

    def __init__(self, then: Callable[[], Conversation | None]) -> None:
        self._then = then
        self.accepted = 0

    def accept(self) -> Conversation | None:
        """Accept a connection, as a listener."""
        self.accepted += 1
        if self.accepted > 1:
            return self._then()
        return closing()


def closing() -> ScriptedPeer:
    """Return a peer that closes at once."""
    peer = ScriptedPeer()
    peer.finish()
    return peer


def dial(port: ClosesFirst, certificates: Certificates) -> None:
    """Dial the port by TLS."""
    network = MemoryNetwork()
    network.listen(ADDRESS.host, ADDRESS.port, port.accept)
    context = context_of(TlsSettings(cafile=certificates.authority))
    dialer = BrokerDialer(
        network,
        client_id="secret-name",
        security=SecuritySettings(protocol="SSL", ssl_context=context),
        connect_timeout_ms=LONG_MS,
        request_timeout_ms=LONG_MS,
    )
    dialer.dial(ADDRESS)


@pytest.mark.parametrize("generation", [None, *BrokerGeneration])
def test_a_broker_without_tls_is_recognized_whatever_its_version(
    certificates: Certificates, generation: BrokerGeneration | None
) -> None:
    """The error is not retriable; the probe in clear text reveals nothing of the client."""
    broker = ScriptedBroker(ADDRESS, generation=generation)
    if generation is not None:
        broker.serves = old(generation)
    with pytest.raises(AuthenticationFailed, match=r"b:9092.*does not use TLS.*security_protocol"):
        dial(ClosesFirst(broker.accept), certificates)
    assert broker.requests
    assert all(request.client_id != "secret-name" for request in broker.requests)


def test_a_broker_with_sasl_and_without_tls_is_recognized(certificates: Certificates) -> None:
    """It responds to what may be asked before SASL, and to nothing else."""
    broker = ScriptedBroker(ADDRESS)
    broker.response = lambda frame: (
        None if frame.api_key is ApiKey.API_VERSIONS else ScriptedAction.CLOSE
    )
    with pytest.raises(AuthenticationFailed, match=r"does not use TLS.*SASL_PLAINTEXT"):
        dial(ClosesFirst(broker.accept), certificates)


def down() -> None:
    """Refuse the connection."""


def back_in_tls() -> Conversation:
    """Return a TLS port, which responds to a request in clear text with an alert."""
    peer = ScriptedPeer()
    peer.write(b"\x15\x03\x03\x00\x02\x02\x50")
    peer.finish()
    return peer


@pytest.mark.parametrize("then", [closing, down, back_in_tls])
def test_a_broker_that_stops_or_starts_is_not_taken_for_one_without_tls(
    certificates: Certificates, then: Callable[[], Conversation | None]
) -> None:
    """A proxy in front of a broker that is down closes every connection, too: it may work later."""
    with pytest.raises(ConnectFailed, match="closed the connection during the TLS handshake"):
        dial(ClosesFirst(then), certificates)
