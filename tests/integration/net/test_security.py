"""TLS and SASL with real brokers: who is authenticated, and how soon others get which error."""

from dataclasses import dataclass

import pytest

from tests.integration.net.conftest import SecureBrokerOf
from tests.support.certificates import KEY_PASSWORD, Certificates
from tests.support.clusters import fresh_name
from tests.support.secure_broker import (
    LIFETIME_MS,
    PASSWORD,
    PLAIN_USER,
    SCRAM_USER,
    SecureBroker,
)
from tests.support.token_endpoint import TokenEndpoint
from tests.support.traffic import write
from tests.support.waiting import PROMPT_MS
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.clock import SystemClock
from zkconsumer.errors import AuthenticationFailed, ConnectFailed, ConnectionLost
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import PLAINTEXT, SecurityProtocol, SecuritySettings, TlsSettings
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.tls import context_of
from zkconsumer.sandbox.tokens import unsigned_token
from zkconsumer.scope import wait_ms
from zkconsumer.wire.messages.metadata import MetadataRequest

pytestmark = [pytest.mark.sandbox, pytest.mark.long]

LONG_MS = 20_000
ALL = ["0.9.0.1", "0.10.2.2", "3.9.1"]
WITH_SASL = ["0.10.2.2", "3.9.1"]
REQUEST = MetadataRequest(topics=())
USERS = {"PLAIN": PLAIN_USER, "SCRAM-SHA-256": SCRAM_USER, "SCRAM-SHA-512": SCRAM_USER}


def dialer(security: SecuritySettings) -> BrokerDialer:
    """Create a dialer."""
    return BrokerDialer(
        TcpConnector(),
        client_id="test",
        security=security,
        connect_timeout_ms=LONG_MS,
        request_timeout_ms=LONG_MS,
    )


def request(broker: SecureBroker, listener: str, security: SecuritySettings) -> None:
    """Authenticate, and make a request that only authenticated clients may make."""
    connection = dialer(security).dial(broker.at(listener))
    try:
        assert connection.call(REQUEST, timeout_ms=LONG_MS).brokers
    finally:
        connection.close()


def tls(certificates: Certificates) -> SecuritySettings:
    """Return settings that trust the brokers' authority."""
    return SecuritySettings(
        protocol="SSL", ssl_context=context_of(TlsSettings(cafile=certificates.authority))
    )


def user(
    certificates: Certificates,
    mechanism: str,
    protocol: SecurityProtocol = "SASL_PLAINTEXT",
    *,
    password: str = PASSWORD,
) -> SecuritySettings:
    """Return the settings of the brokers' user, for a mechanism."""
    return SecuritySettings(
        protocol=protocol,
        ssl_context=context_of(TlsSettings(cafile=certificates.authority)),
        sasl_mechanism=mechanism,
        sasl_username=USERS[mechanism],
        sasl_password=password,
    )


@pytest.mark.parametrize("version", ALL)
def test_tls(secure_broker_of: SecureBrokerOf, certificates: Certificates, version: str) -> None:
    """Every version with TLS works; an unknown authority's certificate is an error."""
    broker = secure_broker_of(version)
    request(broker, "SSL", tls(certificates))
    with pytest.raises(AuthenticationFailed, match=r"127.0.0.1.*is not trusted.*ssl_cafile"):
        request(
            broker,
            "SSL",
            SecuritySettings(
                protocol="SSL", ssl_context=context_of(TlsSettings(cafile=certificates.stranger))
            ),
        )


@pytest.mark.parametrize("mechanism", sorted(USERS))
@pytest.mark.parametrize("version", WITH_SASL)
def test_sasl(
    secure_broker_of: SecureBrokerOf, certificates: Certificates, version: str, mechanism: str
) -> None:
    """Every mechanism works with and without TLS, with raw tokens (0.10) and in requests (1.0)."""
    broker = secure_broker_of(version)
    request(broker, "SASL_PLAINTEXT", user(certificates, mechanism))
    request(broker, "SASL_SSL", user(certificates, mechanism, "SASL_SSL"))


@pytest.mark.parametrize("mechanism", sorted(USERS))
@pytest.mark.parametrize("version", WITH_SASL)
def test_a_wrong_password(
    secure_broker_of: SecureBrokerOf, certificates: Certificates, version: str, mechanism: str
) -> None:
    """The error comes at once and names broker, mechanism and user, but not the password."""
    broker = secure_broker_of(version)
    clock = SystemClock()
    began_ms = clock.now_ms()
    with pytest.raises(
        AuthenticationFailed, match=rf"127.0.0.1.*{mechanism} as '{USERS[mechanism]}' failed"
    ) as caught:
        request(broker, "SASL_PLAINTEXT", user(certificates, mechanism, password="wr0ng"))
    assert clock.now_ms() - began_ms < PROMPT_MS
    assert "wr0ng" not in str(caught.value)


@dataclass(frozen=True)
class Mistake:
    """A client with the wrong protocol for a listener."""

    listener: str
    protocol: SecurityProtocol
    error: type[Exception]
    reported: str


MISTAKES = [
    Mistake("SSL", "PLAINTEXT", AuthenticationFailed, "requires TLS .security_protocol"),
    Mistake("PLAINTEXT", "SSL", AuthenticationFailed, "does not use TLS.*security_protocol"),
    Mistake("SASL_PLAINTEXT", "SSL", AuthenticationFailed, "does not use TLS.*security_protocol"),
    Mistake("PLAINTEXT", "SASL_SSL", AuthenticationFailed, "does not use TLS.*security_protocol"),
    Mistake(
        "SASL_PLAINTEXT", "PLAINTEXT", AuthenticationFailed, "requires SASL .security_protocol"
    ),
    Mistake("SASL_SSL", "SSL", AuthenticationFailed, "requires SASL .security_protocol"),
    Mistake("PLAINTEXT", "SASL_PLAINTEXT", AuthenticationFailed, "does not use SASL"),
    Mistake("SSL", "SASL_PLAINTEXT", AuthenticationFailed, "requires TLS .security_protocol"),
]


@pytest.mark.parametrize(
    "mistake", MISTAKES, ids=lambda case: f"{case.protocol}-to-{case.listener}"
)
@pytest.mark.parametrize("version", ALL)
def test_the_wrong_port(
    secure_broker_of: SecureBrokerOf,
    certificates: Certificates,
    version: str,
    mistake: Mistake,
) -> None:
    """The error promptly says what the port requires, and which setting is wrong."""
    broker = secure_broker_of(version)
    if "SASL" in mistake.listener + mistake.protocol and version not in WITH_SASL:
        return
    security = {
        "PLAINTEXT": PLAINTEXT,
        "SSL": tls(certificates),
        "SASL_PLAINTEXT": user(certificates, "PLAIN"),
        "SASL_SSL": user(certificates, "PLAIN", "SASL_SSL"),
    }[mistake.protocol]
    clock = SystemClock()
    began_ms = clock.now_ms()
    with pytest.raises(mistake.error, match=mistake.reported):
        request(broker, mistake.listener, security)
    assert clock.now_ms() - began_ms < PROMPT_MS


def test_a_port_that_requires_a_client_certificate(
    secure_broker_of: SecureBrokerOf, certificates: Certificates
) -> None:
    """With the certificate we are authenticated; without one the error names the broker."""
    broker = secure_broker_of("3.9.1")
    context = context_of(
        TlsSettings(
            cafile=certificates.authority,
            certfile=certificates.client,
            keyfile=certificates.client_key,
            password=KEY_PASSWORD,
        )
    )
    request(broker, "MUTUAL", SecuritySettings(protocol="SSL", ssl_context=context))
    with pytest.raises((AuthenticationFailed, ConnectFailed, ConnectionLost)) as caught:
        request(broker, "MUTUAL", tls(certificates))
    assert "127.0.0.1" in str(caught.value)


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_tokens(
    secure_broker_of: SecureBrokerOf, certificates: Certificates, listener: SecurityProtocol
) -> None:
    """They come from a callback, which is called once for each connection."""
    broker, clock, given = secure_broker_of("3.9.1"), SystemClock(), []

    def token() -> str:
        given.append(unsigned_token("app", clock.wall_ms()))
        return given[-1]

    security = SecuritySettings(
        protocol=listener,
        ssl_context=context_of(TlsSettings(cafile=certificates.authority)),
        sasl_mechanism="OAUTHBEARER",
        token_source=token,
    )
    request(broker, listener, security)
    request(broker, listener, security)
    assert len(given) == 2


def test_an_expired_token(secure_broker_of: SecureBrokerOf) -> None:
    """The error is one clear line, at once, without the token."""
    broker, clock = secure_broker_of("3.9.1"), SystemClock()
    old = unsigned_token("app", clock.wall_ms() - 600_000)
    security = SecuritySettings(
        protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER", token_source=lambda: old
    )
    began_ms = clock.now_ms()
    with pytest.raises(AuthenticationFailed, match=r"127.0.0.1.*OAUTHBEARER failed: ") as caught:
        request(broker, "SASL_PLAINTEXT", security)
    assert clock.now_ms() - began_ms < PROMPT_MS
    assert old not in str(caught.value)


def test_a_new_token_is_requested_before_a_session_expires(
    secure_broker_of: SecureBrokerOf,
) -> None:
    """A session lasts as long as its token (KIP-368); it is renewed on the open connection."""
    broker, clock, given = secure_broker_of("3.9.1"), SystemClock(), []

    def token() -> str:
        given.append(unsigned_token("app", clock.wall_ms(), lifetime_s=4))
        return given[-1]

    security = SecuritySettings(
        protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER", token_source=token
    )
    connection = dialer(security).dial(broker.at("SASL_PLAINTEXT"))
    try:
        over_ms = clock.now_ms() + 6_000
        while clock.now_ms() < over_ms:
            assert connection.call(REQUEST, timeout_ms=LONG_MS).brokers
            wait_ms(100)
    finally:
        connection.close()
    assert len(given) >= 2


def test_a_consumer_with_tokens_of_an_endpoint(
    secure_broker_of: SecureBrokerOf,
) -> None:
    """Settings alone configure the client-credentials grant (KIP-768)."""
    broker, clock = secure_broker_of("3.9.1"), SystemClock()
    topic = fresh_name("tokens")
    broker.sandbox.create_topic(topic)
    write(broker.sandbox, TopicPartition(topic, 0), [b"one"])
    with TokenEndpoint() as endpoint:
        endpoint.grant = lambda: unsigned_token("app", clock.wall_ms())
        with KafkaConsumer(
            topic,
            bootstrap_servers=f"127.0.0.1:{broker.ports['SASL_PLAINTEXT']}",
            auto_offset_reset="earliest",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauthbearer_token_endpoint_url=endpoint.url,
            sasl_oauthbearer_client_credentials_client_id="app",
            sasl_oauthbearer_client_credentials_client_secret="secret",
            consumer_timeout_ms=LONG_MS,
        ) as consumer:
            assert next(iter(consumer)).value == b"one"


def test_an_authentication_that_expires(
    secure_broker_of: SecureBrokerOf, certificates: Certificates
) -> None:
    """It is renewed in time on its connection (KIP-368)."""
    broker = secure_broker_of("3.9.1")
    connection = dialer(user(certificates, "SCRAM-SHA-512", "SASL_SSL")).dial(broker.at("SASL_SSL"))
    clock = SystemClock()
    over_ms = clock.now_ms() + int(1.5 * LIFETIME_MS)
    while clock.now_ms() < over_ms:
        assert connection.call(REQUEST, timeout_ms=LONG_MS).brokers
        wait_ms(100)
    # It is renewed even if no request was sent when it expired.
    wait_ms(LIFETIME_MS + 200)
    assert connection.call(REQUEST, timeout_ms=LONG_MS).brokers
    connection.close()
