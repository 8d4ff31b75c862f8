"""Offsets in Kafka with brokers that require TLS and SASL, through the offset channel."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.integration.net.conftest import SecureBrokerOf
from tests.support.certificates import Certificates
from tests.support.clusters import fresh_name
from tests.support.offset_worlds import real_channel
from tests.support.secure_broker import PASSWORD, SCRAM_USER, SecureBroker
from tests.support.waiting import PROMPT_MS
from zkconsumer.clock import SystemClock
from zkconsumer.errors import AuthenticationFailed
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.net.security import SecuritySettings, TlsSettings
from zkconsumer.net.tls import context_of
from zkconsumer.offsets.kafka import KafkaOffsetStore
from zkconsumer.offsets.store import FetchedOffset

pytestmark = pytest.mark.sandbox

RELEASES = pytest.mark.parametrize("version", ["1.1.1", "2.8.2"])


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Give a stack that closes what a test opened."""
    with ExitStack() as opened:
        yield opened


def scram(certificates: Certificates, password: str = PASSWORD) -> SecuritySettings:
    """Return the settings of the brokers' user, over TLS."""
    return SecuritySettings(
        protocol="SASL_SSL",
        ssl_context=context_of(TlsSettings(cafile=certificates.authority)),
        sasl_mechanism="SCRAM-SHA-256",
        sasl_username=SCRAM_USER,
        sasl_password=password,
    )


def store_of(
    broker: SecureBroker, group: str, security: SecuritySettings, stack: ExitStack
) -> KafkaOffsetStore:
    """Create the offset store of a group, which uses only the listener of this protocol."""
    ports = [broker.at(security.protocol)]
    channel = real_channel(broker.sandbox, group, stack, security=security, ports=ports)
    return KafkaOffsetStore(channel)


@RELEASES
def test_offsets_over_tls_and_scram(
    secure_broker_of: SecureBrokerOf, certificates: Certificates, stack: ExitStack, version: str
) -> None:
    """Offsets written over one listener are read over it, over TLS alone, and in plaintext."""
    broker = secure_broker_of(version)
    topic, group = fresh_name("secured"), fresh_name("secured")
    broker.sandbox.create_topic(topic, 2)
    first, second = (TopicPartition(topic, number) for number in range(2))
    store = store_of(broker, group, scram(certificates), stack)
    assert store.fetch([first, second]) == dict.fromkeys((first, second), FetchedOffset(None))
    assert store.commit({first: OffsetAndMetadata(7, "nöte")}, retry=True) == {first: None}
    held = {first: FetchedOffset(7, metadata="nöte"), second: FetchedOffset(None)}
    assert store.fetch([first, second]) == held
    tls = SecuritySettings(
        protocol="SSL", ssl_context=context_of(TlsSettings(cafile=certificates.authority))
    )
    over_tls = store_of(broker, group, tls, stack)
    assert over_tls.fetch([first, second]) == held
    assert over_tls.commit({second: OffsetAndMetadata(8)}, retry=True) == {second: None}
    in_the_clear = KafkaOffsetStore(real_channel(broker.sandbox, group, stack))
    assert in_the_clear.fetch([first, second]) == held | {second: FetchedOffset(8)}
    assert store.fetch([second]) == {second: FetchedOffset(8)}


@RELEASES
def test_a_wrong_password_is_an_error_at_once(
    secure_broker_of: SecureBrokerOf, certificates: Certificates, stack: ExitStack, version: str
) -> None:
    """It is not retried until the timeout, and the error does not have the password."""
    security = scram(certificates, password="wr0ng")
    store = store_of(secure_broker_of(version), fresh_name("secured"), security, stack)
    clock = SystemClock()
    began_ms = clock.now_ms()
    with pytest.raises(AuthenticationFailed, match=r"SCRAM-SHA-256 as 'al,ice=1' failed") as caught:
        store.fetch([TopicPartition("any", 0)])
    assert clock.now_ms() - began_ms < PROMPT_MS
    assert "wr0ng" not in str(caught.value)
