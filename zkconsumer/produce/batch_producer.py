"""Writes records to many partitions at a time, with several requests in flight to all brokers.

It is synchronous: ``write`` returns when every record is acknowledged, or raises. Order within a
partition is kept across retries: a plain producer has one set of a partition in flight, an
idempotent one several, which brokers accept only in order.

Source: Kafka 0.8.2.2 ``DefaultEventHandler`` (sets by leader, retries after new metadata); Kafka
3.9 ``Sender``, ``TransactionManager`` (KIP-98).
"""

from collections.abc import Callable, Mapping, Sequence

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import TransportError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.transport import Connector
from zkconsumer.produce.identity import ProducerIdentity
from zkconsumer.produce.outgoing import Outgoing
from zkconsumer.produce.outgoing_sets import OutgoingRecords
from zkconsumer.produce.pending import WrittenSet
from zkconsumer.produce.routes import Routes
from zkconsumer.produce.settings import ACKS_ALL, BatchSettings
from zkconsumer.produce.writing import RecordSource, Writing
from zkconsumer.scope import wait_ms

__all__ = ["BatchProducer", "BatchSettings"]


class BatchProducer:
    """Writes records to partitions, and reports which of them were acknowledged.

    Brokers of any version since 0.8.0 are supported; the format depends on the version. Records
    without a timestamp get the time of writing, if brokers store timestamps (from 0.10 on).
    Acknowledged records may be duplicated: a broker may have written a set whose response was lost.

    Thread: one at a time, except ``stop`` and ``end_tries``.

    Args:
        connector: connects to brokers; not used with a ``dialer``.
        dialer: opens connections, which the caller closes; None: without TLS and SASL.
        settings: see ``BatchSettings``.
        wait: sleeps for a number of milliseconds.
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
        self._settings = settings or BatchSettings()
        timeout_ms = self._settings.timeout_ms
        client = ClientSettings(client_id="zkconsumer-producer", timeout_ms=timeout_ms)
        self._routes = Routes(
            brokers,
            dialer=dialer or dialer_of(client, connector=connector),
            timeout_ms=timeout_ms,
            creating=False,
        )
        self._wait = wait
        self._clock = clock or SystemClock()
        self._stopped = False
        self._is_last_try = False
        self._identity = ProducerIdentity(
            is_wanted=self._settings.idempotent and self._settings.acks == ACKS_ALL
        )

    def whole_cluster(self) -> ClusterView:
        """Read all topics and their partitions from brokers; create no topic.

        The request is retried, as often as a set is, if no broker responds, or the one that does
        has just started and knows no topics or brokers yet. (In a cluster without topics all
        brokers of 0.8 respond like that, so the last response is returned.)

        Raises:
            TransportError: no broker responds.
            AuthenticationFailed: a broker refuses our credentials, or we don't trust it.
            UnsupportedVersion, ProtocolError, BrokerError: no broker returns a usable response.
        """
        for _ in range(self._settings.retries):
            try:
                view = self._routes.whole_cluster()
            except TransportError:
                if self._stopped:
                    raise
            else:
                if view.brokers:
                    return view
            self._wait(self._settings.backoff_ms)
        return self._routes.whole_cluster()

    def write(
        self, records: Mapping[TopicPartition, Sequence[Outgoing] | OutgoingRecords]
    ) -> tuple[WrittenSet, ...]:
        """Write records; their offsets are ignored, the brokers assign new ones.

        Returns:
            The written sets, of each partition in order.

        Raises:
            WriteFailed: some records were refused for good, or not acknowledged before the retries
                were used up or ``stop`` was called; the error lists written and failed ones.
        """
        return self._writing(records, None).run()

    def write_from(self, source: RecordSource) -> None:
        """Write the records of a source until it has no more; notify it of the results.

        Records that arrive while others are in flight are sent with the next request, so a
        partition that has to wait for its leader, or fails, does not hold up the others.
        """
        self._writing({}, source).run()

    def _writing(
        self,
        records: Mapping[TopicPartition, Sequence[Outgoing] | OutgoingRecords],
        source: RecordSource | None,
    ) -> Writing:
        return Writing(
            records,
            self._settings,
            self._routes,
            self._identity,
            wait=self._wait,
            clock=self._clock,
            is_stopped=lambda: self._stopped or self._is_last_try,
            source=source,
        )

    def end_tries(self) -> None:
        """Retry nothing from now on; wait only for requests in flight. Thread: any."""
        self._is_last_try = True

    def stop(self) -> None:
        """Interrupt requests in flight, and write nothing more. Idempotent. Thread: any.

        A waiting ``write`` raises ``WriteFailed``; the sets in flight may still be written.
        """
        self._stopped = True
        self._routes.stop()

    def close(self) -> None:
        """Close all connections. Idempotent."""
        self.stop()
