"""A group's consumer from end to end, over listeners with TLS and SASL."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import pytest

from tests.integration.net.conftest import SecureBrokerOf
from tests.support.certificates import Certificates
from tests.support.clusters import fresh_name
from tests.support.real_topics import keyed_lines
from tests.support.secure_broker import PASSWORD, SCRAM_USER, SecureBroker
from tests.support.traffic import write
from tests.support.waiting import PROMPT_MS
from tests.support.written_records import StoredFields, check_what_is_there, write_in_each_codec
from zkconsumer import KafkaConsumer
from zkconsumer.clock import SystemClock
from zkconsumer.errors import AuthenticationFailed, SaslAuthenticationFailedError, WriteFailed
from zkconsumer.model import Record, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import SecuritySettings, TlsSettings
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.tls import context_of
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.records.codecs import Codec

pytestmark = pytest.mark.sandbox

LONG_MS = 30_000
REQUEST_MS = 5_000
COUNT = 500


@contextlib.contextmanager
def consumer(
    broker: SecureBroker, certificates: Certificates, topic: str, *, password: str = PASSWORD
) -> Iterator[KafkaConsumer]:
    """Open a member of a group of its own."""
    at = broker.at("SASL_SSL")
    made = KafkaConsumer(
        topic,
        bootstrap_servers=f"{at.host}:{at.port}",
        group_id=fresh_name("group"),
        auto_offset_reset="earliest",
        security_protocol="SASL_SSL",
        ssl_cafile=str(certificates.authority),
        sasl_mechanism="SCRAM-SHA-256",
        sasl_plain_username=SCRAM_USER,
        sasl_plain_password=password,
    )
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("version", ["0.10.2.2", "3.9.1"])
def test_a_group_over_sasl_and_tls(
    secure_broker_of: SecureBrokerOf, certificates: Certificates, version: str
) -> None:
    """Leaders and coordinators are connected to at the same listener."""
    broker = secure_broker_of(version)
    topic = fresh_name("secure")
    broker.sandbox.create_topic(topic)
    lines = [value.encode() for _, value in keyed_lines(COUNT)]
    write(broker.sandbox, TopicPartition(topic, 0), lines, codec=Codec.GZIP)
    clock = SystemClock()
    read: list[bytes] = []
    with consumer(broker, certificates, topic) as member:
        deadline_ms = clock.now_ms() + LONG_MS
        while len(read) < COUNT and clock.now_ms() < deadline_ms:
            for records in member.poll(timeout_ms=500).values():
                read += [record.value for record in records]
        member.commit()
    assert read == lines


@pytest.mark.parametrize("version", ["0.10.2.2", "3.9.1"])
def test_a_consumer_with_a_wrong_password(
    secure_broker_of: SecureBrokerOf, certificates: Certificates, version: str
) -> None:
    """The constructor raises the reason at once."""
    broker = secure_broker_of(version)
    clock = SystemClock()
    began_ms = clock.now_ms()
    with (
        pytest.raises(SaslAuthenticationFailedError, match="SCRAM-SHA-256 as") as raised,
        consumer(broker, certificates, "any", password="wr0ng"),
    ):
        pass
    assert isinstance(raised.value, AuthenticationFailed)
    assert clock.now_ms() - began_ms < PROMPT_MS


@pytest.mark.parametrize("version", ["0.10.2.2", "3.9.1"])
def test_writing_over_sasl_and_tls(
    secure_broker_of: SecureBrokerOf, certificates: Certificates, version: str
) -> None:
    """Records arrive, and a wrong password is an error at once."""
    broker = secure_broker_of(version)
    topic = fresh_name("secure")
    broker.sandbox.create_topic(topic)
    tp = TopicPartition(topic, 0)
    stored_fields = StoredFields.TIMESTAMPS if version == "0.10.2.2" else StoredFields.HEADERS
    at = [broker.at("SASL_SSL")]
    with dialer(certificates, PASSWORD) as good:
        sent = write_in_each_codec(at, tp, stored_fields, [Codec.NONE, Codec.GZIP], dialer=good)
    with consumer(broker, certificates, topic) as member:
        member.unsubscribe()
        check_what_is_there(member, tp, sent, stored_fields)
    clock = SystemClock()
    began_ms = clock.now_ms()
    with (
        dialer(certificates, "wr0ng") as bad,
        contextlib.closing(BatchProducer(at, dialer=bad)) as producer,
    ):
        with pytest.raises(WriteFailed, match="SCRAM-SHA-256 as") as caught:
            producer.write({tp: [Record(0, None, b"v")]})
        assert not caught.value.may_pass
    assert clock.now_ms() - began_ms < PROMPT_MS


@dataclass(frozen=True)
class ListenerRefusal:
    """A consumer that can never be authenticated at a listener, and its error."""

    listener: str
    protocol: Literal["PLAINTEXT", "SSL"]
    trusted: str
    reported: str


REFUSALS = {
    "plain-to-tls": ListenerRefusal("SSL", "PLAINTEXT", "", "responds in TLS.*security_protocol"),
    "tls-to-plain": ListenerRefusal(
        "PLAINTEXT", "SSL", "authority", "does not use TLS.*security_protocol"
    ),
    "unknown-authority": ListenerRefusal("SSL", "SSL", "stranger", "is not trusted.*ssl_cafile"),
    "no-certificate": ListenerRefusal(
        "MUTUAL", "SSL", "authority", "refuses this client.*ssl_certfile"
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("version", ["0.9.0.1", "3.9.1"])
def test_a_refusal_is_raised_promptly(
    secure_broker_of: SecureBrokerOf,
    certificates: Certificates,
    version: str,
    case: str,
) -> None:
    """Each poll and each lookup raises it, with the broker and the setting to change."""
    broker = secure_broker_of(version)
    refusal = REFUSALS[case]
    if refusal.listener not in {"PLAINTEXT", *broker.ports}:
        return
    at = broker.at(refusal.listener)
    trusted = str(getattr(certificates, refusal.trusted)) if refusal.trusted else None
    clock = SystemClock()
    with contextlib.closing(
        KafkaConsumer(
            "any",
            bootstrap_servers=f"{at.host}:{at.port}",
            group_id=fresh_name("group"),
            security_protocol=refusal.protocol,
            ssl_cafile=trusted,
            request_timeout_ms=LONG_MS,
            bootstrap_timeout_ms=0,
        )
    ) as refused:
        calls = (lambda: refused.poll(timeout_ms=LONG_MS), refused.topics)
        for call in (*calls, *calls):
            began_ms = clock.now_ms()
            with pytest.raises(
                AuthenticationFailed, match=f"{at.host}:{at.port}.*{refusal.reported}"
            ):
                call()
            assert clock.now_ms() - began_ms < PROMPT_MS


def test_a_broker_that_restarts_is_not_taken_for_one_without_tls(
    secure_broker_of: SecureBrokerOf, certificates: Certificates
) -> None:
    """Polls continue whatever happens to connections, and records come when it is back."""
    broker = secure_broker_of("3.9.1")
    sandbox, topic = broker.sandbox, fresh_name("secure")
    sandbox.create_topic(topic)
    at = broker.at("SSL")

    def restart() -> None:
        sandbox.stop_broker(0)
        sandbox.start_broker(0)
        write(sandbox, TopicPartition(topic, 0), [b"value"] * COUNT)

    with (
        contextlib.closing(
            KafkaConsumer(
                topic,
                bootstrap_servers=f"{at.host}:{at.port}",
                group_id=fresh_name("group"),
                auto_offset_reset="earliest",
                security_protocol="SSL",
                ssl_cafile=str(certificates.authority),
                request_timeout_ms=REQUEST_MS,
            )
        ) as member,
        ThreadPoolExecutor(1) as pool,
    ):
        while not member.assignment():
            member.poll(100)
        restarted = pool.submit(restart)
        clock = SystemClock()
        deadline_ms = clock.now_ms() + 2 * LONG_MS
        count = 0
        while count < COUNT and clock.now_ms() < deadline_ms:
            count += sum(map(len, member.poll(100).values()))
        restarted.result()
    assert count == COUNT


@contextlib.contextmanager
def dialer(certificates: Certificates, password: str) -> Iterator[BrokerDialer]:
    """Open a dialer that authenticates with SCRAM."""
    security = SecuritySettings(
        protocol="SASL_SSL",
        ssl_context=context_of(TlsSettings(cafile=str(certificates.authority))),
        sasl_mechanism="SCRAM-SHA-256",
        sasl_username=SCRAM_USER,
        sasl_password=password,
    )
    made = BrokerDialer(
        TcpConnector(),
        client_id="test",
        security=security,
        connect_timeout_ms=REQUEST_MS,
        request_timeout_ms=REQUEST_MS,
    )
    yield made
    made.stop()
