"""Writes records to many partitions at a time: several requests under way, to all brokers at once.

It is synchronous: ``write`` comes back when every record is acknowledged, or raises. A record is
never given up silently. Order within a partition is kept whatever is tried again: a plain producer
has one set of a partition under way, an idempotent one a few, which brokers take in order only.

Source: Kafka 0.8.2.2 ``DefaultEventHandler`` (sets by leader, retries after new metadata); Kafka
3.9 ``Sender``, ``TransactionManager`` (KIP-98).
"""

from collections.abc import Callable, Mapping, Sequence

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import ConfigError, TransportError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.transport import Connector
from zkconsumer.produce.identity import ProducerIdentity
from zkconsumer.produce.outgoing import HeadedRecord, Outgoing
from zkconsumer.produce.outgoing_sets import OutgoingRecords
from zkconsumer.produce.pending import WrittenSet
from zkconsumer.produce.routes import Routes
from zkconsumer.produce.settings import ACKS_ALL, ACKS_NONE, BatchSettings
from zkconsumer.produce.writing import Writing
from zkconsumer.scope import wait_ms

__all__ = ["BatchProducer", "BatchSettings", "HeadedRecord", "WrittenSet"]


class BatchProducer:
    """Writes records to partitions, and knows of each whether it was acknowledged.

    Brokers of any version since 0.8.0 take them; the form follows from what the broker serves.
    Records without a timestamp get the time of writing, where brokers keep one (from 0.10 on).
    What was acknowledged may be there twice: a broker may have written a set whose answer got lost.

    Thread: one at a time, but for ``stop``.

    Args:
        brokers: whom to ask for leaders.
        connector: connects to them, if there is no ``dialer``.
        dialer: opens connections, with TLS and SASL where it is set up so; it stays the caller's.
        settings: see there.
        wait: waits for so many milliseconds.
        clock: for the time of writing.

    Raises:
        ConfigError: the settings ask for no acknowledgements.
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
        producer = self._settings.producer
        if producer.acks == ACKS_NONE:
            raise ConfigError("acks=0: a record that is lost would go unnoticed; use 1 or all")
        self._producer = producer
        self._routes = Routes(
            brokers,
            dialer=dialer or dialer_of(producer.client, connector=connector),
            timeout_ms=producer.timeout_ms,
            creating=False,
        )
        self._wait = wait
        self._clock = clock or SystemClock()
        self._stopped = False
        self._is_last_try = False
        self._identity = ProducerIdentity(
            is_wanted=self._settings.idempotent and producer.acks == ACKS_ALL
        )

    def whole_cluster(self) -> ClusterView:
        """Return every topic and its partitions, asked for again; creates no topic.

        Asked again, as often as a set is tried, while no broker answers or the one that does has
        only just started: it knows neither topics nor brokers then. (In a cluster without topics
        none of 0.8 does; so the response is given in the end.)

        Raises:
            TransportError: no broker answers.
            AuthenticationFailed: a broker and we don't agree on who we are.
            UnsupportedVersion, ProtocolError, BrokerError: no broker can be understood.
        """
        for _ in range(self._producer.retries):
            try:
                view = self._routes.whole_cluster()
            except TransportError:
                if self._stopped:
                    raise
            else:
                if view.brokers:
                    return view
            self._wait(self._producer.backoff_ms)
        return self._routes.whole_cluster()

    def write(
        self, records: Mapping[TopicPartition, Sequence[Outgoing] | OutgoingRecords]
    ) -> tuple[WrittenSet, ...]:
        """Write these records; their offsets are ignored, the brokers give new ones.

        Returns:
            What was written where; of each partition in order.

        Raises:
            WriteFailed: some records were not acknowledged, for good or until the tries were used
                up, or ``stop`` was called; the others were, and the error has both.
        """
        writing = Writing(
            records,
            self._settings,
            self._routes,
            self._identity,
            wait=self._wait,
            clock=self._clock,
            is_stopped=lambda: self._stopped or self._is_last_try,
        )
        return writing.run()

    def end_tries(self) -> None:
        """Let what is in flight have its response, and try nothing again. Thread: any."""
        self._is_last_try = True

    def stop(self) -> None:
        """Break off what is under way, and write nothing more. Idempotent. Thread: any.

        A ``write`` that waits raises ``WriteFailed``; what it had sent may be written all the same.
        """
        self._stopped = True
        self._routes.stop()

    def close(self) -> None:
        """Close all connections. Idempotent."""
        self.stop()
