"""Streams of a ZooKeeper group, over listeners with TLS and SASL that ZooKeeper names."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.net.conftest import SecureBrokerOf
from tests.support.certificates import Certificates
from tests.support.clusters import fresh_name
from tests.support.members import Member, settings_for
from tests.support.real_topics import keyed_lines
from tests.support.secure_broker import (
    LIFETIME_MS,
    PASSWORD,
    PLAIN_USER,
    SCRAM_USER,
    SecureBroker,
)
from tests.support.traffic import write
from tests.support.waiting import PROMPT_MS, wait_until
from zkconsumer import ZookeeperConsumerConnector
from zkconsumer.clock import SystemClock
from zkconsumer.connector import connector, fetch_wiring
from zkconsumer.errors import AuthenticationFailed
from zkconsumer.model import TopicPartition
from zkconsumer.net.security import SecurityProtocol, SecuritySettings, TlsSettings
from zkconsumer.net.tcp import TcpConnector, TcpTransport
from zkconsumer.net.tls import context_of
from zkconsumer.records.codecs import Codec
from zkconsumer.records.engine import ENGINE, Engine

pytestmark = [pytest.mark.sandbox, pytest.mark.long]

COUNT = 300


@dataclass(frozen=True)
class SecuredListener:
    """A broker, one of its listeners, and a mechanism.

    Attributes:
        pumped: whether the pump can fetch over such a connection.
    """

    version: str
    protocol: SecurityProtocol
    mechanism: str | None = None
    pumped: bool = False

    def security(self, certificates: Certificates, password: str = PASSWORD) -> SecuritySettings:
        """Return a client's settings for this listener."""
        uses_sasl = self.mechanism is not None
        user = PLAIN_USER if self.mechanism == "PLAIN" else SCRAM_USER
        return SecuritySettings(
            protocol=self.protocol,
            ssl_context=context_of(TlsSettings(cafile=certificates.authority)),
            sasl_mechanism=self.mechanism,
            sasl_username=user if uses_sasl else None,
            sasl_password=password if uses_sasl else None,
        )


LISTENERS = {
    "tls-0.9": SecuredListener("0.9.0.1", "SSL"),
    "tls-and-scram-1.1": SecuredListener("1.1.1", "SASL_SSL", "SCRAM-SHA-256"),
    "tls-and-scram-that-ends-2.8": SecuredListener("2.8.2", "SASL_SSL", "SCRAM-SHA-512"),
    "scram-2.8": SecuredListener("2.8.2", "SASL_PLAINTEXT", "SCRAM-SHA-256", pumped=True),
}


@pytest.fixture
def secured(monkeypatch: pytest.MonkeyPatch) -> Callable[[SecuritySettings], None]:
    """Give a function that makes all connectors of the test use its settings."""

    def secure(security: SecuritySettings) -> None:
        monkeypatch.setattr(connector, "security_in", lambda *_config, **_objects: security)

    return secure


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the ports that streams connect to, in order."""
    called: list[int] = []

    class RecordingConnector(TcpConnector):
        """Records the ports it connects to."""

        def connect(self, host: str, port: int, *, timeout_ms: int) -> TcpTransport:
            called.append(port)
            return super().connect(host, port, timeout_ms=timeout_ms)

        def sibling(self) -> TcpConnector:
            return RecordingConnector()

    monkeypatch.setattr(fetch_wiring, "TcpConnector", RecordingConnector)
    return called


@pytest.fixture
def pumped(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Record each connection that the pump fetches over."""
    found: list[bool] = []
    if ENGINE is Engine.PURE:
        return found
    from zkconsumer.fetch import native_loop  # noqa: PLC0415 - only where there is one

    pump_over = native_loop.NativeFetchLoop._pump_over

    def record_and_pump(self: native_loop.NativeFetchLoop, *args: object) -> None:
        found.append(True)
        pump_over(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(native_loop.NativeFetchLoop, "_pump_over", record_and_pump)
    return found


def topic_with(broker: SecureBroker, values: list[str]) -> TopicPartition:
    """Write values to a new topic, over the listener without security."""
    tp = TopicPartition(fresh_name("secure"), 0)
    broker.sandbox.create_topic(tp.topic)
    write(broker.sandbox, tp, [value.encode() for value in values], codec=Codec.GZIP)
    return tp


@pytest.mark.parametrize("listener", LISTENERS.values(), ids=LISTENERS)
def test_streams_read_over_a_secured_port(
    secure_broker_of: SecureBrokerOf,
    certificates: Certificates,
    secured: Callable[[SecuritySettings], None],
    ports: list[int],
    pumped: list[bool],
    listener: SecuredListener,
) -> None:
    """No other port is used, and the pump fetches wherever it can."""
    broker = secure_broker_of(listener.version)
    lines = [value for _, value in keyed_lines(COUNT)]
    tp = topic_with(broker, lines)
    secured(listener.security(certificates))
    with Member(broker.sandbox, fresh_name("group"), {tp.topic: 1}) as member:
        wait_until(lambda: len(member.got(tp)) == COUNT, what="all that was written")
        assert [(value or b"").decode() for value in member.values(tp)] == lines
    assert set(ports) == {broker.ports[listener.protocol]}
    assert bool(pumped) == (listener.pumped and ENGINE is not Engine.PURE)


def test_an_authentication_that_expires_is_renewed(
    secure_broker_of: SecureBrokerOf,
    certificates: Certificates,
    secured: Callable[[SecuritySettings], None],
    ports: list[int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is renewed on the open connection, so the broker need not close it."""
    listener = LISTENERS["tls-and-scram-that-ends-2.8"]
    broker = secure_broker_of(listener.version)
    tp = topic_with(broker, ["first"])
    secured(listener.security(certificates))
    clock = SystemClock()
    with (
        caplog.at_level(logging.INFO),
        Member(broker.sandbox, fresh_name("group"), {tp.topic: 1}) as member,
    ):
        wait_until(lambda: member.got(tp) == [0], what="the first message")
        connected, began_ms = len(ports), clock.now_ms()
        wait_until(lambda: clock.now_ms() - began_ms > 3 * LIFETIME_MS, what="three lifetimes")
        write(broker.sandbox, tp, [b"last"])
        wait_until(lambda: member.got(tp) == [0, 1], what="the last message")
        assert len(ports) == connected
    assert "looking up its leader again" not in caplog.text


REFUSALS = {
    "password-1.1": (LISTENERS["tls-and-scram-1.1"], "SCRAM-SHA-256 as 'al,ice=1' failed"),
    "password-2.8": (LISTENERS["scram-2.8"], "SCRAM-SHA-256 as 'al,ice=1' failed"),
    "unknown-authority-0.9": (LISTENERS["tls-0.9"], "its certificate is not trusted"),
}


@pytest.mark.parametrize(("listener", "reported"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_ends_the_streams_with_a_clear_error(
    secure_broker_of: SecureBrokerOf,
    certificates: Certificates,
    secured: Callable[[SecuritySettings], None],
    caplog: pytest.LogCaptureFixture,
    listener: SecuredListener,
    reported: str,
) -> None:
    """The streams raise instead of waiting; the log has no traceback."""
    broker = secure_broker_of(listener.version)
    tp = topic_with(broker, ["never seen"])
    if listener.mechanism is None:
        stranger = context_of(TlsSettings(cafile=certificates.stranger))
        secured(SecuritySettings(protocol="SSL", ssl_context=stranger))
    else:
        secured(listener.security(certificates, "wr0ng"))
    clock = SystemClock()
    began_ms = clock.now_ms()
    consumer = ZookeeperConsumerConnector(settings_for(broker.sandbox, fresh_name("group")))
    try:
        [stream] = consumer.create_message_streams({tp.topic: 1})[tp.topic]
        with pytest.raises(AuthenticationFailed, match=reported) as caught:
            next(iter(stream))
    finally:
        consumer.shutdown()
    assert "wr0ng" not in str(caught.value) + caplog.text
    assert clock.now_ms() - began_ms < PROMPT_MS
    assert reported in caplog.text
    assert "Traceback" not in caplog.text
