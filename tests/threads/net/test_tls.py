"""TLS handshakes, on real threads (the unit tests of the same name hold the rest)."""

from tests.support.certificates import Certificates
from tests.support.scripted_peer import ScriptedPeer
from tests.support.tls_peer import HOST, transport_to
from tests.support.waiting import wait_until
from zkconsumer.errors import (
    ConnectionLost,
)
from zkconsumer.net.security import TlsSettings
from zkconsumer.net.tls import context_of
from zkconsumer.scope import ThreadScope

LONG_MS = 10_000


def test_close_ends_a_handshake(certificates: Certificates) -> None:
    """A peer that does not respond delays no shutdown."""
    transport = transport_to(
        ScriptedPeer(), context_of(TlsSettings(cafile=certificates.authority)), HOST
    )
    ended: list[BaseException] = []
    begun: list[bool] = []

    def shake() -> None:
        begun.append(True)
        try:
            transport.handshake(timeout_ms=LONG_MS)
        except ConnectionLost as error:
            ended.append(error)

    scope = ThreadScope("test-close")
    scope.spawn("shake", shake, stop=transport.close)
    wait_until(lambda: begun, what="the handshake to begin")
    assert scope.close(LONG_MS) == []
    assert scope.first_error() is None
    assert "closed by us" in str(ended[0])
