"""The target cluster of a mirror: its topics, and the producer that writes to it."""

import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.errors import ConfigError, MirrorError, ZkConsumerError
from zkconsumer.mirror.settings import MirrorSettings, TargetSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.produce.topics import ensure_topic

_TRIES = 5
"""The number of the producer's own retries between two log lines."""

_OUTAGE_MS = 120_000
"""The minimum duration of an idempotent producer's retries, longer than any election. After it the
producer gives up and drops its id, so sets without a response would be written a second time."""

_RESPONSE_TIMEOUTS = 3
"""The number of time-outs that a metadata request may take."""

MAX_AGE_MS = 300_000
"""The age at which a topic's partitions are looked up again: the default of Java's
``metadata.max.age.ms``."""


@dataclass(frozen=True, slots=True)
class _Topic:
    """The last known partitions of a topic.

    Attributes:
        partitions: their numbers, ascending.
        wanted: the number of partitions that the source had.
        seen_ms: when they were looked up.
    """

    partitions: tuple[int, ...]
    wanted: int
    seen_ms: int


class Target:
    """Looks up or creates topics of the target, and has the producer that writes to it.

    Thread: one looks up partitions, another writes with ``producer``; ``stop``: any.

    Args:
        wait: sleeps for a number of milliseconds, or less if the mirror ends.
        clock: the time source for the age of metadata; None: the system's.
    """

    def __init__(
        self,
        settings: MirrorSettings,
        wait: Callable[[int], object],
        *,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._closing = ExitStack()
        target = settings.target
        client = target.client
        self._dialer = dialer = dialer_of(client)
        self._closing.callback(dialer.stop)
        self.producer = BatchProducer(
            client.bootstrap,
            dialer=dialer,
            settings=replace(target.batches, retries=_tries(target)),
            wait=wait,
        )
        self._closing.callback(self.producer.close)
        self._client = ClusterClient(
            dialer,
            client.bootstrap,
            request_timeout_ms=client.timeout_ms,
            retry_backoff_ms=target.batches.backoff_ms,
            shuffle=random.shuffle,
        )
        self._closing.callback(self._client.stop)
        self._topics: dict[str, _Topic] = {}

    def partitions(self, topic: str, wanted: int) -> Sequence[int]:
        """Return the partitions of a topic; create it if it is missing and creation is enabled.

        Partitions that are added later are noticed after ``MAX_AGE_MS``, or once the source has
        more than the target.

        Args:
            topic: its name in the target.
            wanted: the number of partitions of the source.

        Raises:
            MirrorError: the topic does not exist, or can't be created.
            TransportError, BrokerError: the target does not respond, or responds with an error.
        """
        known = self._topics.get(topic)
        if known is None or max(len(known.partitions), known.wanted) < wanted:
            found = self._read_partitions(topic) or self._make(topic, wanted)
        elif self._clock.now_ms() - known.seen_ms >= MAX_AGE_MS:
            found = self._refresh_partitions(topic, known)
        else:
            return known.partitions
        self._topics[topic] = _Topic(found, wanted, self._clock.now_ms())
        return found

    def stop(self) -> None:
        """Interrupt requests in flight. Thread: any."""
        self.producer.stop()
        self._client.stop()

    def close(self) -> None:
        """Close all connections. Idempotent."""
        self._closing.close()

    def _read_partitions(self, topic: str) -> tuple[int, ...]:
        return self._client.view([topic], timeout_ms=self._limit_ms).partitions.get(topic, ())

    def _refresh_partitions(self, topic: str, known: _Topic) -> tuple[int, ...]:
        """Return the partitions of a topic if it has more than are known; else the known ones.

        A broker that has just started may report fewer, and so does one after the topic was
        created again.
        """
        try:
            found = self._read_partitions(topic)
        except ZkConsumerError:
            return known.partitions  # the writer notices what is wrong with the target
        return found if len(found) > len(known.partitions) else known.partitions

    def _make(self, topic: str, wanted: int) -> tuple[int, ...]:
        if not self._settings.create_topics:
            raise MirrorError(
                f"the target has no topic {topic}: create it there (the source's has {wanted} "
                "partitions), or give --create-topics"
            )
        try:
            return ensure_topic(
                self._client,
                self._dialer,
                topic,
                wanted,
                timeout_ms=self._limit_ms,
                replication_factor=self._settings.replication,
            )
        except ConfigError as error:
            # Other topics may be mirrored already: it is not a failure to start.
            raise MirrorError(f"topic {topic} can't be created in the target: {error}") from error

    @property
    def _limit_ms(self) -> int:
        return _RESPONSE_TIMEOUTS * self._settings.target.client.timeout_ms


def _tries(target: TargetSettings) -> int:
    """Return the number of the producer's attempts before a failure is logged."""
    most = _TRIES
    if target.batches.idempotent:
        most = max(_TRIES, _OUTAGE_MS // max(1, target.batches.backoff_ms))
    return most if target.retries is None else min(most, target.retries)
