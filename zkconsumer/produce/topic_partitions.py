"""Chooses the partitions of records, by the metadata of their topics.

The thread that calls ``send`` looks a topic up if it is new, or its metadata is old.
"""

import random
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import index

from zkconsumer.clock import Clock
from zkconsumer.cluster.call_deadline import CallDeadline, StopFlag
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    BrokerError,
    IllegalArgumentError,
    KafkaTimeoutError,
    TransportError,
)
from zkconsumer.model import TopicPartition
from zkconsumer.printable import shown
from zkconsumer.produce.partitioner import Chooser, murmur_hash
from zkconsumer.produce.producer_config import Partitioner

_BACKOFF_MS = 50


@dataclass(frozen=True, slots=True)
class _Topic:
    """The last known metadata of a topic."""

    partitions: tuple[int, ...]
    available: tuple[int, ...]
    chooser: Chooser
    seen_ms: int


class PartitionLookup:
    """Looks up the partitions of topics, and chooses among them.

    Thread: any; several threads may call a partitioner at a time.
    """

    def __init__(
        self,
        client: ClusterClient,
        clock: Clock,
        stop: StopFlag,
        *,
        max_age_ms: int,
        creating: bool,
    ) -> None:
        self._client = client
        self._clock = clock
        self._stop = stop
        self._max_age_ms = max_age_ms
        self._creating = creating
        self._topics: dict[str, _Topic] = {}

    def look_up(
        self, topic: str, *, timeout_ms: int, partition: int | None = None
    ) -> tuple[int, ...]:
        """Return the partition ids of a topic, ascending; look them up if that is due.

        Args:
            topic: its name.
            timeout_ms: the time limit of the lookup.
            partition: a requested partition: if it is unknown, it may be new, so the topic is
                looked up once.

        Raises:
            KafkaTimeoutError: the topic does not exist, or no broker responds.
            BrokerError: the name is illegal, or we are not authorized.
            ZkConsumerError: as ``ClusterClient.view``.
        """
        known = self._topics.get(topic)
        is_new = known is not None and partition is not None and partition not in known.partitions
        if (
            known is not None
            and not is_new
            and self._clock.now_ms() - known.seen_ms < self._max_age_ms
        ):
            return known.partitions
        deadline = CallDeadline(
            self._clock, self._stop, limit_ms=timeout_ms, backoff_ms=_BACKOFF_MS
        )
        try:
            return self._described(topic, deadline).partitions
        except TransportError:
            if known is None or is_new:
                raise
            # Later calls don't wait either: the writer notices when brokers are unreachable.
            self._topics[topic] = replace(known, seen_ms=self._clock.now_ms())
            return known.partitions

    def choose(
        self, topic: str, partition: int | None, key: bytes | None, partitioner: Partitioner | None
    ) -> int:
        """Return the partition for a record; its topic must have been looked up.

        Raises:
            IllegalArgumentError: the topic has no such partition.
        """
        known = self._topics[topic]
        if partition is None:
            if partitioner is None:
                return known.chooser.choose(key)
            partition = partitioner(key, list(known.partitions), list(known.available))
        with suppress(TypeError):
            # 1.0 equals 1, but can't be encoded.
            if (number := index(partition)) in known.chooser.partitions:
                return number
        raise IllegalArgumentError(
            f"topic {topic} has no partition {shown(partition)}: it has {len(known.partitions)}"
        )

    def _described(self, topic: str, deadline: CallDeadline) -> _Topic:
        while True:
            view = self._client.view(
                [topic], timeout_ms=max(1, deadline.left_ms), allow_auto_create=self._creating
            )
            code = view.errors.get(topic, int(ErrorCode.NONE))
            if topic in view.partitions:
                found = self._topics[topic] = self._topic_of(topic, view)
                return found
            if code != ErrorCode.NONE and not ErrorCode.of(code).retriable:
                raise BrokerError(code, "Metadata", f"topic {topic}: {error_name(code)}")
            if not deadline.pause():
                raise KafkaTimeoutError(
                    f"topic {topic} does not exist: {error_name(code)}; brokers create it on "
                    "demand only with auto.create.topics.enable"
                )

    def _topic_of(self, topic: str, view: ClusterView) -> _Topic:
        partitions = view.partitions[topic]
        available = tuple(n for n in partitions if TopicPartition(topic, n) in view.leaders)
        return _Topic(
            partitions,
            available,
            Chooser(
                partitions,
                available=available,
                hash_of=murmur_hash,
                start=random.randrange(1 << 16),  # noqa: S311 - only spreads records
            ),
            self._clock.now_ms(),
        )
