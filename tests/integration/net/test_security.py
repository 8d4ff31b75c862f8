"""TLS and SASL with real brokers: who gets in, and what the others are told, and how soon."""

from dataclasses import dataclass

import pytest

from tests.integration.net.conftest import SecureBrokerOf
from tests.support.certificates import KEY_PASSWORD, Certificates
from tests.support.secure_broker import (
    LIFETIME_MS,
    PASSWORD,
    PLAIN_USER,
    SCRAM_USER,
    SecureBroker,
)
from zkconsumer.clock import SystemClock
from zkconsumer.errors import AuthenticationFailed, ConnectFailed, ConnectionLost
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import PLAINTEXT, SecurityProtocol, SecuritySettings
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.tls import context_of
from zkconsumer.scope import wait_ms
from zkconsumer.wire.messages.metadata import MetadataRequest

pytestmark = pytest.mark.sandbox

LONG_MS = 20_000
PROMPT_MS = 5_000
ALL = ["0.9.0.1", "0.10.2.2", "3.9.1"]
WITH_SASL = ["0.10.2.2", "3.9.1"]
QUESTION = MetadataRequest(topics=())
USERS = {"PLAIN": PLAIN_USER, "SCRAM-SHA-256": SCRAM_USER, "SCRAM-SHA-512": SCRAM_USER}


def dialer(security: SecuritySettings) -> BrokerDialer:
    """A way to brokers."""
    return BrokerDialer(
        TcpConnector(),
        client_id="test",
        security=security,
        connect_timeout_ms=LONG_MS,
        request_timeout_ms=LONG_MS,
    )


def ask(broker: SecureBroker, listener: str, security: SecuritySettings) -> None:
    """Get in, and ask something that only those may who are in."""
    connection = dialer(security).dial(broker.at(listener))
    try:
        assert connection.call(QUESTION, timeout_ms=LONG_MS).brokers
    finally:
        connection.close()


def tls(certificates: Certificates) -> SecuritySettings:
    """Trust the brokers' authority."""
    return SecuritySettings(protocol="SSL", ssl_context=context_of(cafile=certificates.authority))


def user(
    certificates: Certificates,
    mechanism: str,
    protocol: SecurityProtocol = "SASL_PLAINTEXT",
    *,
    password: str = PASSWORD,
) -> SecuritySettings:
    """The user that the brokers know, by that mechanism."""
    return SecuritySettings(
        protocol=protocol,
        ssl_context=context_of(cafile=certificates.authority),
        sasl_mechanism=mechanism,
        sasl_username=USERS[mechanism],
        sasl_password=password,
    )


@pytest.mark.parametrize("version", ALL)
def test_tls(secure_broker_of: SecureBrokerOf, certificates: Certificates, version: str) -> None:
    """All that have it; a broker says which authority its certificate must have."""
    broker = secure_broker_of(version)
    ask(broker, "SSL", tls(certificates))
    with pytest.raises(AuthenticationFailed, match=r"127.0.0.1.*not to be trusted.*ssl_cafile"):
        ask(
            broker,
            "SSL",
            SecuritySettings(protocol="SSL", ssl_context=context_of(cafile=certificates.stranger)),
        )


@pytest.mark.parametrize("mechanism", sorted(USERS))
@pytest.mark.parametrize("version", WITH_SASL)
def test_sasl(
    secure_broker_of: SecureBrokerOf, certificates: Certificates, version: str, mechanism: str
) -> None:
    """Every mechanism, bare and in TLS, with bare tokens (0.10) and in requests (1.0)."""
    broker = secure_broker_of(version)
    ask(broker, "SASL_PLAINTEXT", user(certificates, mechanism))
    ask(broker, "SASL_SSL", user(certificates, mechanism, "SASL_SSL"))


@pytest.mark.parametrize("mechanism", sorted(USERS))
@pytest.mark.parametrize("version", WITH_SASL)
def test_a_wrong_password(
    secure_broker_of: SecureBrokerOf, certificates: Certificates, version: str, mechanism: str
) -> None:
    """Said at once, naming broker, mechanism and user, and not the password."""
    broker = secure_broker_of(version)
    clock = SystemClock()
    began_ms = clock.now_ms()
    with pytest.raises(
        AuthenticationFailed, match=rf"127.0.0.1.*{mechanism} as '{USERS[mechanism]}' failed"
    ) as caught:
        ask(broker, "SASL_PLAINTEXT", user(certificates, mechanism, password="wr0ng"))
    assert clock.now_ms() - began_ms < PROMPT_MS
    assert "wr0ng" not in str(caught.value)


@dataclass(frozen=True)
class Mistake:
    """A client that takes a port for another one."""

    listener: str
    protocol: SecurityProtocol
    error: type[Exception]
    told: str


MISTAKES = [
    Mistake("SSL", "PLAINTEXT", AuthenticationFailed, "wants that .security_protocol"),
    Mistake("PLAINTEXT", "SSL", ConnectFailed, "without TLS .*security_protocol"),
    Mistake("SASL_PLAINTEXT", "PLAINTEXT", AuthenticationFailed, "wants SASL .security_protocol"),
    Mistake("SASL_SSL", "SSL", AuthenticationFailed, "wants SASL .security_protocol"),
    Mistake("PLAINTEXT", "SASL_PLAINTEXT", AuthenticationFailed, "without SASL"),
    Mistake("SSL", "SASL_PLAINTEXT", AuthenticationFailed, "wants that .security_protocol"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: f"{one.protocol}-to-{one.listener}")
@pytest.mark.parametrize("version", ALL)
def test_the_wrong_port(
    secure_broker_of: SecureBrokerOf,
    certificates: Certificates,
    version: str,
    mistake: Mistake,
) -> None:
    """One clear error, soon: what the port speaks, and which setting says so."""
    broker = secure_broker_of(version)
    if "SASL" in mistake.listener + mistake.protocol and version not in WITH_SASL:
        return
    security = {
        "PLAINTEXT": PLAINTEXT,
        "SSL": tls(certificates),
        "SASL_PLAINTEXT": user(certificates, "PLAIN"),
    }[mistake.protocol]
    clock = SystemClock()
    began_ms = clock.now_ms()
    with pytest.raises(mistake.error, match=mistake.told):
        ask(broker, mistake.listener, security)
    assert clock.now_ms() - began_ms < PROMPT_MS


def test_a_port_that_wants_a_certificate(
    secure_broker_of: SecureBrokerOf, certificates: Certificates
) -> None:
    """Ours is shown; without one we are refused, in words."""
    broker = secure_broker_of("3.9.1")
    context = context_of(
        cafile=certificates.authority,
        certfile=certificates.client,
        keyfile=certificates.client_key,
        password=KEY_PASSWORD,
    )
    ask(broker, "MUTUAL", SecuritySettings(protocol="SSL", ssl_context=context))
    with pytest.raises((AuthenticationFailed, ConnectFailed, ConnectionLost)) as caught:
        ask(broker, "MUTUAL", tls(certificates))
    assert "127.0.0.1" in str(caught.value)


def test_an_authentication_that_ends(
    secure_broker_of: SecureBrokerOf, certificates: Certificates
) -> None:
    """It is renewed in time, on the connection that it is for (KIP-368)."""
    broker = secure_broker_of("3.9.1")
    connection = dialer(user(certificates, "SCRAM-SHA-512", "SASL_SSL")).dial(broker.at("SASL_SSL"))
    clock = SystemClock()
    over_ms = clock.now_ms() + int(1.5 * LIFETIME_MS)
    while clock.now_ms() < over_ms:
        assert connection.call(QUESTION, timeout_ms=LONG_MS).brokers
        wait_ms(100)
    # And where nothing was asked while it ended.
    wait_ms(LIFETIME_MS + 200)
    assert connection.call(QUESTION, timeout_ms=LONG_MS).brokers
    connection.close()
