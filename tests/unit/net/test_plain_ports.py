"""TLS to a port without it is distinguished from a broker that stops: only the former answers."""

from collections.abc import Callable

import pytest

from tests.fakes.conversation import Conversation
from tests.fakes.memory_transport import MemoryNetwork
from tests.support.certificates import Certificates
from tests.support.scripted_peer import ScriptedPeer
from tests.support.spoken_broker import SpokenBroker, Word, old
from tests.support.spoken_dialling import ADDRESS, LONG_MS
from zkconsumer.errors import AuthenticationFailed, ConnectFailed
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import SecuritySettings, TlsSettings
from zkconsumer.net.tls import context_of
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.versions import BrokerGeneration


class ClosesFirst:
    """A port that closes the first connection, as one without TLS does on a TLS handshake.

    Args:
        then: takes those that follow.
    """

    def __init__(self, then: Callable[[], Conversation | None]) -> None:
        self._then = then
        self.accepted = 0

    def accept(self) -> Conversation | None:
        """Be the listener."""
        self.accepted += 1
        if self.accepted > 1:
            return self._then()
        return closing()


def closing() -> ScriptedPeer:
    """What closes at once."""
    peer = ScriptedPeer()
    peer.finish()
    return peer


def dial(port: ClosesFirst, certificates: Certificates) -> None:
    """Dial it by TLS."""
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
def test_a_broker_of_any_version_that_answers_in_the_clear(
    certificates: Certificates, generation: BrokerGeneration | None
) -> None:
    """That can't work later, and is told as what it is; the question says nothing of us."""
    broker = SpokenBroker(ADDRESS, generation=generation)
    if generation is not None:
        broker.serves = old(generation)
    with pytest.raises(AuthenticationFailed, match=r"b:9092.*does not use TLS.*security_protocol"):
        dial(ClosesFirst(broker.accept), certificates)
    assert broker.requests
    assert all(request.client_id != "secret-name" for request in broker.requests)


def test_a_port_with_sasl_and_without_tls(certificates: Certificates) -> None:
    """It answers what may be asked before SASL, and nothing else."""
    broker = SpokenBroker(ADDRESS)
    broker.response = lambda frame: None if frame.api_key is ApiKey.API_VERSIONS else Word.CLOSE
    with pytest.raises(AuthenticationFailed, match=r"does not use TLS.*SASL_PLAINTEXT"):
        dial(ClosesFirst(broker.accept), certificates)


def down() -> None:
    """Refuses connections."""


def back_in_tls() -> Conversation:
    """A port of TLS, which answers a question in the clear by an alert."""
    peer = ScriptedPeer()
    peer.write(b"\x15\x03\x03\x00\x02\x02\x50")
    peer.finish()
    return peer


@pytest.mark.parametrize("then", [closing, down, back_in_tls])
def test_a_broker_that_stops_or_starts_is_not_taken_for_that(
    certificates: Certificates, then: Callable[[], Conversation | None]
) -> None:
    """Nor what stands before one that is down, and closes whatever comes: it may work later."""
    with pytest.raises(ConnectFailed, match="closed the connection during the TLS handshake"):
        dial(ClosesFirst(then), certificates)
