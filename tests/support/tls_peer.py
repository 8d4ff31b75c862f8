"""TLS in memory: the server's side around a scripted peer, and a network of such peers."""

import ssl

from tests.fakes.conversation import Conversation
from tests.fakes.memory_transport import MemoryNetwork
from tests.support.certificates import Certificates
from tests.support.scripted_peer import ScriptedPeer
from zkconsumer.net.security import TlsSettings
from zkconsumer.net.tls import TlsTransport, context_of
from zkconsumer.net.transport import Connector, Transport

CONNECT_MS = 10_000
HOST = "127.0.0.1"
"""The host name in the broker's certificate."""


def server_context(certificates: Certificates, *, wants_client: bool = False) -> ssl.SSLContext:
    """Return a broker's SSL context."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.broker)
    if wants_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates.authority)
    return context


class TlsPeer:
    """A ``Conversation`` that encrypts another one.

    Args:
        inner: the conversation without encryption.
        context: the server's SSL context.
    """

    def __init__(self, inner: Conversation, context: ssl.SSLContext) -> None:
        self._inner = inner
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._ready = False
        self._failed = False
        self.on_change = inner.on_change
        self.hang_up = inner.hang_up
        self.next_deadline_ms = inner.next_deadline_ms

    @property
    def is_over(self) -> bool:
        """See ``Conversation``."""
        return self._failed or self._inner.is_over

    def receive(self, data: bytes, now_ms: int) -> None:
        """See ``Conversation``."""
        self._incoming.write(data)
        try:
            if not self._ready:
                self._tls.do_handshake()
                self._ready = True
            while True:
                self._inner.receive(self._tls.read(1 << 16), now_ms)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError:
            self._failed = True

    def take_outgoing(self, now_ms: int) -> bytes:
        """See ``Conversation``."""
        if self._ready and not self._failed:
            message = self._inner.take_outgoing(now_ms)
            if message:
                self._tls.write(message)
        return self._outgoing.read()


class TlsConnector:
    """A ``Connector`` that adds TLS to the connections of another one."""

    def __init__(self, inner: Connector, context: ssl.SSLContext) -> None:
        self._inner = inner
        self._context = context

    def connect(self, host: str, port: int, *, timeout_ms: int) -> Transport:
        """See ``Connector``."""
        inner = self._inner.connect(host, port, timeout_ms=timeout_ms)
        transport = TlsTransport(inner, self._context, host)
        transport.handshake(timeout_ms=timeout_ms)
        return transport


class TlsWorld:
    """A ``NetworkWorld`` in memory with TLS."""

    def __init__(self, certificates: Certificates) -> None:
        self._network = MemoryNetwork()
        self._server = server_context(certificates)
        client = context_of(TlsSettings(cafile=certificates.authority))
        self.connector: Connector = TlsConnector(self._network, client)
        self._ports = iter(range(1, 1000))

    def listen(self, peer: ScriptedPeer) -> tuple[str, int]:
        """See ``NetworkWorld``."""
        address = (HOST, next(self._ports))
        self._network.listen(*address, lambda: TlsPeer(peer.accept(), self._server))
        return address

    def unused_address(self) -> tuple[str, int]:
        """See ``NetworkWorld``."""
        return ("nobody", 1)


def transport_to(conversation: Conversation, context: ssl.SSLContext, host: str) -> TlsTransport:
    """Return a TLS transport to a peer, before the handshake."""
    network = MemoryNetwork()
    network.listen(host, 1, lambda: conversation)
    return TlsTransport(network.connect(host, 1, timeout_ms=CONNECT_MS), context, host)
