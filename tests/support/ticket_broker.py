"""A broker in memory with SASL/GSSAPI, and the client's side of its authentication."""

from dataclasses import dataclass, field

from tests.support.scripted_broker import ScriptedBroker, ScriptedConversation, ScriptedResponse
from zkconsumer.errors import AuthenticationFailed
from zkconsumer.net.security import SecuritySettings
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from zkconsumer.wire.versions import BrokerGeneration

TOKENS = (b"ticket", b"", b"no layer")
CHALLENGES = (b"proof", b"offer", b"")
"""The broker's challenge to each token; without SaslAuthenticate, none for the last one."""


@dataclass
class Tickets:
    """The client's side (a ``Mechanism``); sends the same tokens in each authentication."""

    host: str
    tokens: tuple[bytes, ...] = TOKENS
    received: list[bytes] = field(default_factory=list)

    @property
    def is_unanswered(self) -> bool:
        """See ``Mechanism``."""
        return len(self.received) == len(self.tokens) - 1

    def first(self) -> bytes:
        """See ``Mechanism``."""
        return self.tokens[0]

    def response(self, challenge: bytes) -> bytes | None:
        """See ``Mechanism``."""
        expected = CHALLENGES[len(self.received)]
        if bytes(challenge) != expected:
            raise AuthenticationFailed(f"{bytes(challenge)!r} instead of {expected!r}")
        self.received.append(bytes(challenge))
        return self.tokens[len(self.received)] if len(self.received) < len(self.tokens) else None


def by_tickets(begun: list[Tickets], tokens: tuple[bytes, ...] = TOKENS) -> SecuritySettings:
    """Return security settings of a client whose authentications are added to ``begun``."""

    def begin(host: str) -> Tickets:
        begun.append(Tickets(host, tokens))
        return begun[-1]

    return SecuritySettings(protocol="SASL_PLAINTEXT", sasl_mechanism="GSSAPI", kerberos=begin)


@dataclass
class TicketBroker(ScriptedBroker):
    """A broker that accepts clients that send ``TOKENS``.

    Attributes:
        let_in: the number of successful authentications.
        lifetime_ms: how long an authentication is valid; 0: for ever.
    """

    let_in: int = 0
    lifetime_ms: int = 0

    def accept(self) -> ScriptedConversation | None:
        """Accept a connection (a ``Listener``)."""
        if self.down:
            return None
        self.accepted += 1
        self.conversations.append(_TicketConversation(self))
        return self.conversations[-1]

    @property
    def has_requests(self) -> bool:
        """Whether tokens are sent in SaslAuthenticate requests."""
        return ApiKey.SASL_AUTHENTICATE in self.serves


class _TicketConversation(ScriptedConversation):
    def __init__(self, broker: TicketBroker) -> None:
        super().__init__(broker)
        self._tickets = broker
        self._message = 0
        # A 0.9 broker takes the first bytes for a token, without a handshake request.
        self._is_bare = broker.generation is BrokerGeneration.V0_9
        broker.response = self._respond
        self._buffer = b""

    def receive(self, data: bytes, now_ms: int) -> None:  # noqa: ARG002 - it has no sense of time
        """See ``Conversation``; unlike a request's, a token's frame may be empty."""
        self._buffer += data
        while not self.is_over and len(self._buffer) >= 4:
            end = 4 + int.from_bytes(self._buffer[:4], "big")
            if len(self._buffer) < end:
                return
            frame, self._buffer = self._buffer[4:end], self._buffer[end:]
            self._take(frame)

    def _take(self, frame: bytes | memoryview) -> None:
        if self._is_bare and self._message < len(TOKENS):
            challenge = self._challenge(bytes(frame))
            if challenge is None:
                self.is_over = True
            elif self._message < len(TOKENS):
                self._outgoing += len(challenge).to_bytes(4, "big") + challenge
            self._wake()
        else:
            super()._take(frame)

    def _respond(self, frame: RequestFrame) -> ScriptedResponse | None:
        match frame.request:
            case SaslHandshakeRequest():
                self._message = 0
                self._is_bare = not self._tickets.has_requests
                return SaslHandshakeResponse(error_code=0, mechanisms=("GSSAPI",))
            case SaslAuthenticateRequest(auth_bytes=token):
                challenge = self._challenge(bytes(token))
                return SaslAuthenticateResponse(
                    error_code=58 if challenge is None else 0,
                    error_message=None if challenge is not None else "no such ticket",
                    auth_bytes=challenge or b"",
                    session_lifetime_ms=self._tickets.lifetime_ms,
                )
            case _:
                return None

    def _challenge(self, token: bytes) -> bytes | None:
        if token != TOKENS[self._message]:
            return None
        self._message += 1
        self._tickets.let_in += self._message == len(TOKENS)
        return CHALLENGES[self._message - 1]
