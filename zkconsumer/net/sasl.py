"""Authenticates a connection by SASL.

From 1.0 on, tokens travel in requests. Before, they follow the handshake without request headers,
and a broker that refuses them closes the connection without a response. 0.9, which supports GSSAPI
alone, has no handshake either.
Source: Kafka 0.10.2.2, 3.9 ``SaslClientAuthenticator``; KIP-43, KIP-152, KIP-368.
"""

from collections.abc import Callable
from dataclasses import dataclass

from zkconsumer.clock import Clock
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectionLost,
    IllegalSaslStateError,
    RequestTimedOut,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    UnsupportedVersion,
)
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.mechanism import ClosedOnCredentials, Mechanism
from zkconsumer.net.sasl_mechanisms import mechanism_of
from zkconsumer.net.security import GSSAPI, SecuritySettings
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.framing import LENGTH_BYTES
from zkconsumer.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from zkconsumer.wire.negotiation import BrokerVersions
from zkconsumer.wire.versions import BrokerGeneration

_NONCE_BYTES = 24
_RENEWED_AFTER = 0.85
"""The earliest share of a session's lifetime at which Kafka's own clients re-authenticate."""
_SOONEST_MS = 1_100
"""Brokers refuse a second authentication within a second."""


@dataclass(slots=True)
class SaslSession:
    """The SASL session of one connection. Thread: one at a time.

    Attributes:
        security: the mechanism and the credentials.
        versions: the versions that the broker serves.
        clock: for deadlines, and for the time of re-authentication.
    """

    security: SecuritySettings
    versions: BrokerVersions
    clock: Clock
    _due_ms: int | None = None

    @property
    def expires(self) -> bool:
        """Whether the broker limits the lifetime of the session (KIP-368)."""
        return self._due_ms is not None

    def is_due(self, now_ms: int) -> bool:
        """Return whether to re-authenticate before the next request."""
        return self._due_ms is not None and now_ms >= self._due_ms

    def renew(self, connection: BrokerConnection, *, timeout_ms: int) -> None:
        """Re-authenticate the connection; raises as ``authenticate``."""
        self.authenticate(connection, deadline_ms=self.clock.now_ms() + timeout_ms)

    def authenticate(self, connection: BrokerConnection, *, deadline_ms: int) -> None:
        """Authenticate the connection.

        Raises:
            AuthenticationFailed: the broker refuses our credentials, or fails to prove its own.
            ClosedOnCredentials: it closed the connection instead of responding.
            TransportError: no response came, or none in time.
        """

        def left_ms() -> int:
            left = deadline_ms - self.clock.now_ms()
            if left <= 0:
                raise RequestTimedOut(f"{connection.broker}: no authentication in time")
            return left

        in_requests = self._needs_handshake() and self._handshake(connection, left_ms)
        said_ms = self.clock.now_ms()
        write = self._in_request if in_requests else self._bare
        mechanism, token = self._begun(connection)
        lifetime_ms = 0
        while token is not None:
            if mechanism.is_unanswered and not in_requests:
                connection.send_bytes(_framed(token), timeout_ms=left_ms())
                break
            challenge, lifetime_ms = write(connection, token, left_ms())
            try:
                token = mechanism.response(challenge)
            except AuthenticationFailed as error:
                raise self._failed(connection, str(error)) from error
        self._due_ms = said_ms + _renewed_after_ms(lifetime_ms) if lifetime_ms > 0 else None

    def _begun(self, connection: BrokerConnection) -> tuple[Mechanism, bytes | None]:
        """Return the mechanism and its first token."""
        from secrets import token_urlsafe  # noqa: PLC0415 - few need it

        try:
            mechanism = mechanism_of(
                self.security,
                host=connection.broker.host,
                nonce=token_urlsafe(_NONCE_BYTES),
            )
            return mechanism, mechanism.first()
        except AuthenticationFailed as error:
            raise self._failed(connection, str(error)) from error

    def _needs_handshake(self) -> bool:
        """Return whether the broker expects a handshake that names the mechanism."""
        old = self.versions.generation is BrokerGeneration.V0_9
        return not (old and self.security.sasl_mechanism == GSSAPI)

    def _handshake(self, connection: BrokerConnection, left_ms: Callable[[], int]) -> bool:
        """Agree on the mechanism; return whether tokens travel in requests."""
        in_requests = self.versions.has(ApiKey.SASL_HANDSHAKE, at_least=1) and self.versions.has(
            ApiKey.SASL_AUTHENTICATE
        )
        try:
            version = self.versions.version_for(
                ApiKey.SASL_HANDSHAKE, at_most=1 if in_requests else 0
            )
        except UnsupportedVersion as error:
            raise self._failed(connection, str(error)) from error
        mechanism = self.security.sasl_mechanism or ""
        request = SaslHandshakeRequest(mechanism=mechanism)
        response = connection.request(request, version=version, timeout_ms=left_ms())
        match response.error_code:
            case ErrorCode.NONE:
                return in_requests
            case ErrorCode.UNSUPPORTED_SASL_MECHANISM:
                known = ", ".join(response.mechanisms) or "none"
                raise self._failed(
                    connection,
                    f"the broker supports {known} (sasl_mechanism)",
                    UnsupportedSaslMechanismError,
                )
            case ErrorCode.ILLEGAL_SASL_STATE:
                raise self._failed(
                    connection,
                    "the port does not use SASL (security_protocol)",
                    IllegalSaslStateError,
                )
            case code:
                raise self._failed(connection, f"the handshake failed: {error_name(code)}")

    def _in_request(
        self, connection: BrokerConnection, token: bytes, timeout_ms: int
    ) -> tuple[bytes, int]:
        response = connection.request(
            SaslAuthenticateRequest(auth_bytes=token),
            version=self.versions.version_for(ApiKey.SASL_AUTHENTICATE),
            timeout_ms=timeout_ms,
        )
        if response.error_code != ErrorCode.NONE:
            reason = response.error_message or error_name(response.error_code)
            raise self._failed(connection, reason)
        return bytes(response.auth_bytes), response.session_lifetime_ms

    def _bare(
        self, connection: BrokerConnection, token: bytes, timeout_ms: int
    ) -> tuple[bytes, int]:
        try:
            response = connection.exchange(_framed(token), timeout_ms=timeout_ms)
        except ConnectionLost as error:
            reason = "the broker closed the connection instead of responding"
            raise ClosedOnCredentials(str(self._failed(connection, reason))) from error
        return bytes(response), 0

    def _failed(
        self,
        connection: BrokerConnection,
        reason: str,
        kind: type[AuthenticationFailed] = SaslAuthenticationFailedError,
    ) -> AuthenticationFailed:
        security = self.security
        name = "" if security.sasl_username is None else f" as {security.sasl_username!r}"
        return kind(f"{connection.broker}: {security.sasl_mechanism}{name} failed: {reason}")


def _framed(token: bytes) -> bytes:
    return len(token).to_bytes(LENGTH_BYTES, "big") + token


def _renewed_after_ms(lifetime_ms: int) -> int:
    """Return the delay until re-authentication: at least 1.1 s, if the session lasts longer."""
    due_ms = int(lifetime_ms * _RENEWED_AFTER)
    return _SOONEST_MS if due_ms < _SOONEST_MS < lifetime_ms else due_ms
