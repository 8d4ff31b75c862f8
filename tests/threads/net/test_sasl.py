"""SASL authentication: by requests, renewed, and the errors that brokers respond with."""

import pytest

from tests.fakes.loopback import LOOPBACK, LoopbackServer
from tests.support.manual_clock import ManualClock
from tests.support.scram_server import ScramServer
from tests.support.scripted_broker import (
    MODERN,
    ScriptedAction,
    ScriptedBroker,
    ScriptedResponse,
    Serves,
)
from tests.support.scripted_dialing import dialer_to
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import AuthenticationFailed, ConfigError, ConnectFailed, ZkConsumerError
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.scram import HASHES
from zkconsumer.net.security import SecurityProtocol, SecuritySettings
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.metadata import MetadataRequest, MetadataResponse
from zkconsumer.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from zkconsumer.wire.versions import BrokerGeneration, VersionRange

ADDRESS = Broker(-1, "b", 9092)
LONG_MS = 10_000
EMPTY_RESPONSE = MetadataResponse(brokers=(), topics=())
REQUEST = MetadataRequest(topics=())
MECHANISMS = ("PLAIN", *HASHES)


def without(api: ApiKey) -> dict[ApiKey, VersionRange]:
    """Return the versions of a broker that lacks one API."""
    serves = dict(MODERN)
    del serves[api]
    return serves


KAFKA_0_10: Serves = {
    **without(ApiKey.SASL_AUTHENTICATE),
    ApiKey.SASL_HANDSHAKE: VersionRange(0, 0),
}


class SaslListener:
    """A broker's listener that requires SASL (an ``Answer``).

    Attributes:
        lifetime_ms: how long an authentication is valid.
        authenticated: how many authentications succeeded.
        seen: the APIs of all requests, in order.
    """

    def __init__(self, username: str, password: str) -> None:
        self._token = f"\0{username}\0{password}".encode()
        self._servers = {
            name: ScramServer(hash_name, username, password) for name, hash_name in HASHES.items()
        }
        self.mechanisms = MECHANISMS
        self.lifetime_ms = 0
        self.authenticated = 0
        self.seen: list[ApiKey] = []
        self._server: ScramServer | None = None
        self._challenged = False

    def __call__(self, frame: RequestFrame) -> ScriptedResponse | None:
        """Respond to handshakes, authentications, and requests of authenticated clients."""
        self.seen.append(frame.api_key)
        match frame.request:
            case SaslHandshakeRequest(mechanism=name):
                self._server, self._challenged = self._servers.get(name), False
                known = name in self.mechanisms
                code = 0 if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
                return SaslHandshakeResponse(error_code=code, mechanisms=self.mechanisms)
            case SaslAuthenticateRequest(auth_bytes=token):
                return self._judged(bytes(token))
            case MetadataRequest():
                return EMPTY_RESPONSE if self.authenticated else ScriptedAction.CLOSE
            case _:
                return None

    def _judged(self, token: bytes) -> SaslAuthenticateResponse:
        if self._server is None:
            return self._message(b"", is_accepted=token == self._token)
        if not self._challenged:
            self._challenged = True
            return self._message(self._server.challenge(token))
        outcome = self._server.outcome(token)
        return self._message(outcome, is_accepted=outcome.startswith(b"v="))

    def _message(
        self, token: bytes, *, is_accepted: bool | None = None
    ) -> SaslAuthenticateResponse:
        if is_accepted is False:
            return SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED,
                error_message="Authentication failed: Invalid username or password",
                auth_bytes=b"",
            )
        self.authenticated += is_accepted is True
        return SaslAuthenticateResponse(
            error_code=0,
            error_message=None,
            auth_bytes=token,
            session_lifetime_ms=self.lifetime_ms,
        )


def as_user(
    mechanism: str = "PLAIN",
    password: str = "secret",
    protocol: SecurityProtocol = "SASL_PLAINTEXT",
) -> SecuritySettings:
    """Return settings with a user and password."""
    return SecuritySettings(
        protocol=protocol, sasl_mechanism=mechanism, sasl_username="u", sasl_password=password
    )


@pytest.fixture
def listener() -> SaslListener:
    """A listener that knows one user."""
    return SaslListener("u", "secret")


@pytest.fixture
def broker(listener: SaslListener) -> ScriptedBroker:
    """A current broker with that listener."""
    return ScriptedBroker(ADDRESS, response=listener)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_known_user_is_authenticated(
    broker: ScriptedBroker, listener: SaslListener, mechanism: str
) -> None:
    """It takes one connection, and nothing else is sent before."""
    connection = dialer_to(broker, as_user(mechanism)).dial(ADDRESS)
    assert connection.call(REQUEST, timeout_ms=LONG_MS) == EMPTY_RESPONSE
    assert broker.accepted == 1
    assert listener.seen[:2] == [ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE]
    assert set(listener.seen[2:-1]) == {ApiKey.SASL_AUTHENTICATE}
    connection.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_refused(broker: ScriptedBroker, mechanism: str) -> None:
    """The error has the broker's message, broker and user, but never the password."""
    settings = as_user(mechanism, "wrong-password")
    with pytest.raises(
        AuthenticationFailed, match=rf"b:9092.*{mechanism} as 'u' failed: .*Invalid username"
    ) as caught:
        dialer_to(broker, settings).dial(ADDRESS)
    assert "wrong-password" not in str(caught.value) + repr(settings)
    assert broker.accepted == 1


def test_a_mechanism_that_the_broker_lacks_is_refused(
    broker: ScriptedBroker, listener: SaslListener
) -> None:
    """The error names those that it has."""
    listener.mechanisms = ("GSSAPI", "SCRAM-SHA-512")
    refused = r"supports GSSAPI, SCRAM-SHA-512 .sasl_mechanism"
    with pytest.raises(AuthenticationFailed, match=refused):
        dialer_to(broker, as_user()).dial(ADDRESS)


def test_a_port_without_sasl_is_refused() -> None:
    """Such a broker rejects the handshake."""
    broker = ScriptedBroker(
        ADDRESS,
        response=lambda frame: (
            SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=())
            if frame.api_key is ApiKey.SASL_HANDSHAKE
            else None
        ),
    )
    with pytest.raises(AuthenticationFailed, match="does not use SASL"):
        dialer_to(broker, as_user()).dial(ADDRESS)


def test_brokers_without_handshake_are_refused() -> None:
    """Before 0.10 there is no handshake: they close the connection, or do not list the API."""
    broker = ScriptedBroker(ADDRESS)
    broker.become(BrokerGeneration.V0_8_2)
    with pytest.raises(ConnectFailed, match=r"older than Kafka 0.10"):
        dialer_to(broker, as_user()).dial(ADDRESS)
    missing = without(ApiKey.SASL_HANDSHAKE)
    with pytest.raises(AuthenticationFailed, match="lacks SASL_HANDSHAKE"):
        dialer_to(ScriptedBroker(ADDRESS, serves=missing), as_user()).dial(ADDRESS)


def test_a_broker_that_closes_twice_on_tokens_has_refused(listener: SaslListener) -> None:
    """Brokers before 1.0 refuse so; a single close may have another cause."""
    broker = ScriptedBroker(ADDRESS, serves=KAFKA_0_10, response=listener)
    # Tokens without a request header: this broker closes on them, as on a wrong password.
    with pytest.raises(AuthenticationFailed, match=r"'u' failed: .*closed.*twice"):
        dialer_to(broker, as_user()).dial(ADDRESS)
    assert broker.accepted == 2


def test_an_authentication_is_renewed_before_it_expires(
    broker: ScriptedBroker, listener: SaslListener
) -> None:
    """It is between two requests, on the same connection (KIP-368)."""
    listener.lifetime_ms = 10_000
    clock = ManualClock()
    connection = dialer_to(broker, as_user("SCRAM-SHA-256"), clock).dial(ADDRESS)
    connection.call(REQUEST, timeout_ms=LONG_MS)
    clock.advance(8_000)
    connection.call(REQUEST, timeout_ms=LONG_MS)
    assert listener.authenticated == 1
    clock.advance(1_000)
    connection.call(REQUEST, timeout_ms=LONG_MS)
    assert listener.authenticated == 2
    in_flight = connection.begin(REQUEST, timeout_ms=LONG_MS)
    clock.advance(9_000)
    assert connection.finish(in_flight, timeout_ms=LONG_MS) == EMPTY_RESPONSE
    assert listener.authenticated == 2
    assert broker.accepted == 1
    listener.mechanisms = ()
    with pytest.raises(AuthenticationFailed):
        connection.call(REQUEST, timeout_ms=LONG_MS)
    assert not connection.is_idle
    connection.close()


@pytest.mark.parametrize("lifetime_ms", [0, 10_000])
def test_a_connection_that_must_authenticate_again_is_not_delegated(
    broker: ScriptedBroker, listener: SaslListener, lifetime_ms: int
) -> None:
    """The native loop, which uses the descriptor alone, could not do so."""
    listener.lifetime_ms = lifetime_ms
    with LoopbackServer() as server:
        port = server.listen(broker.accept)
        dialer = BrokerDialer(
            TcpConnector(),
            client_id="test",
            security=as_user("SCRAM-SHA-256"),
            connect_timeout_ms=LONG_MS,
            request_timeout_ms=LONG_MS,
        )
        connection = dialer.dial(Broker(-1, LOOPBACK, port))
        assert connection.has_descriptor == (not lifetime_ms)
        connection.close()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"protocol": "TLS"}, "security.protocol='TLS'"),
        ({"protocol": "SASL_SSL"}, "sasl.mechanism=None"),
        ({"protocol": "SASL_SSL", "sasl_mechanism": "KERBEROS"}, "SCRAM-SHA-256"),
        ({"protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"}, "user name and a password"),
        (
            {
                "protocol": "SASL_SSL",
                "sasl_mechanism": "PLAIN",
                "sasl_username": "a\0b",
                "sasl_password": "",
            },
            "NUL",
        ),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, str], complaint: str) -> None:
    """They are before any connection, and the error names the setting."""
    with pytest.raises(ConfigError, match=complaint):
        SecuritySettings(**settings)  # type: ignore[arg-type]
    assert issubclass(ConfigError, ZkConsumerError)
