"""A producer for tests: each call writes one message set to one partition.

Without batching and background threads, tests know exactly what was written.

Source: the protocol of Kafka 0.8.2.2 ``ProducerRequest``.
"""

from collections.abc import Callable, Sequence

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import (
    BrokerError,
    RemoteProtocolError,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.net.transport import Connector
from zkconsumer.produce.exchange import is_retriable, outcomes_of, produce_request
from zkconsumer.produce.outgoing import Outgoing, build_set, least_version
from zkconsumer.produce.routes import Routes
from zkconsumer.produce.settings import BatchSettings
from zkconsumer.records.codecs import Codec
from zkconsumer.scope import wait_ms
from zkconsumer.wire.messages.produce import ProduceRequest


class Producer:
    """Writes message sets to partitions of brokers since 0.8.0. Thread: one at a time.

    Args:
        brokers: the bootstrap brokers.
        connector: connects to them, if there is no ``dialer``.
        dialer: opens connections, with TLS and SASL; the caller must close it.
        settings: see ``BatchSettings``.
        wait: sleeps for a number of milliseconds.
        clock: the clock for records without a timestamp.
    """

    def __init__(
        self,
        brokers: Sequence[Broker],
        *,
        connector: Connector | None = None,
        dialer: BrokerDialer | None = None,
        settings: BatchSettings | None = None,
        wait: Callable[[int], object] = wait_ms,
        clock: Clock | None = None,
    ) -> None:
        settings = settings or BatchSettings()
        client = ClientSettings(client_id="zkconsumer-producer", timeout_ms=settings.timeout_ms)
        self._routes = Routes(
            brokers,
            dialer=dialer or dialer_of(client, connector=connector),
            timeout_ms=settings.timeout_ms,
        )
        self._settings = settings
        self._wait = wait
        self._clock = clock or SystemClock()

    def send(
        self, tp: TopicPartition, records: Sequence[Outgoing], *, codec: Codec = Codec.NONE
    ) -> int:
        """Write records as one set; their offsets are ignored, the broker assigns new ones.

        Returns:
            The offset of the first one.

        Raises:
            LocalProtocolError: the records, or the topic's name, can't be encoded.
            UnsupportedCodec: the library for the codec is not installed.
            UnsupportedVersion: the broker does not support that codec.
            AuthenticationFailed: the broker refuses our credentials, or we don't trust it.
            BrokerError: the broker refused the set, for good or until the retries were used up.
            TransportError: no response until the retries were used up.
        """
        for _ in range(self._settings.retries):
            try:
                return self._send_once(tp, records, codec)
            except ZkConsumerError as error:
                if not is_retriable(error):
                    raise
            self._routes.forget(tp)
            self._wait(self._settings.backoff_ms)
        return self._send_once(tp, records, codec)

    def close(self) -> None:
        """Close all connections. Idempotent."""
        self._routes.stop()

    def _send_once(self, tp: TopicPartition, records: Sequence[Outgoing], codec: Codec) -> int:
        leader = self._routes.leaders_of([tp])[tp]
        if isinstance(leader, BrokerError):
            raise leader
        connection = self._routes.connection_to(leader)
        version = connection.version_of(ProduceRequest, at_least=least_version(codec))
        now_ms = self._clock.wall_ms()
        data = build_set(records, version=version, codec=codec, now_ms=now_ms)
        try:
            return self._exchange(connection, tp, data, least_version(codec))
        except (TransportError, RemoteProtocolError):
            self._routes.hang_up(leader)
            raise

    def _exchange(
        self, connection: NegotiatedConnection, tp: TopicPartition, data: bytes, least: int
    ) -> int:
        timeout_ms = self._settings.timeout_ms
        request = produce_request({tp: data}, acks=self._settings.acks, timeout_ms=timeout_ms)
        response = connection.call(request, timeout_ms=2 * timeout_ms, at_least=least)
        outcome = outcomes_of(connection.broker, {tp: data}, response)[tp]
        if isinstance(outcome, ZkConsumerError):
            raise outcome
        return outcome
