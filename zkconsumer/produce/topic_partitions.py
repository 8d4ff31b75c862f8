"""Chooses the partitions of records, by the metadata of their topics.

The thread that calls ``send`` looks a topic up if it is new, or its metadata is old.
"""

import random
from contextlib import suppress
from dataclasses import dataclass
from operator import index

from zkconsumer.clock import Clock
from zkconsumer.cluster.call_deadline import CallDeadline, StopFlag
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    BrokerError,
    IllegalArgumentError,
    KafkaTimeoutError,
    TransportError,
)
from zkconsumer.printable import shown
from zkconsumer.produce.partitioner import Chooser, chooser_of, murmur_hash
from zkconsumer.produce.producer_config import Partitioner

_BACKOFF_MS = 50


@dataclass(frozen=True, slots=True)
class _Topic:
    """The last known metadata of a topic."""

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
        is_new = (
            known is not None and partition is not None and partition not in known.chooser.numbers
        )
        if (
            known is not None
            and not is_new
            and self._clock.now_ms() - known.seen_ms < self._max_age_ms
        ):
            return known.chooser.numbers
        deadline = CallDeadline(
            self._clock, self._stop, limit_ms=timeout_ms, backoff_ms=_BACKOFF_MS
        )
        try:
            chooser = self._described(topic, deadline)
        except TransportError:
            if known is None or is_new:
                raise
            # Later calls don't wait either: the writer notices when brokers are unreachable.
            chooser = known.chooser
        self._topics[topic] = _Topic(chooser, self._clock.now_ms())
        return chooser.numbers

    def choose(
        self, topic: str, partition: int | None, key: bytes | None, partitioner: Partitioner | None
    ) -> int:
        """Return the partition for a record; its topic must have been looked up.

        Raises:
            IllegalArgumentError: the topic has no such partition.
        """
        known = self._topics[topic].chooser
        if partition is None:
            if partitioner is None:
                return known.choose(key)
            partition = partitioner(key, list(known.numbers), list(known.available))
        with suppress(TypeError):
            # 1.0 equals 1, but can't be encoded.
            if (number := index(partition)) in known.partitions:
                return number
        raise IllegalArgumentError(
            f"topic {topic} has no partition {shown(partition)}: it has {len(known.numbers)}"
        )

    def _described(self, topic: str, deadline: CallDeadline) -> Chooser:
        while True:
            view = self._client.view(
                [topic], timeout_ms=max(1, deadline.left_ms), allow_auto_create=self._creating
            )
            code = view.errors.get(topic, int(ErrorCode.NONE))
            if topic in view.partitions:
                start = random.randrange(1 << 16)  # noqa: S311 - only spreads records
                return chooser_of(view, topic, hash_of=murmur_hash, start=start)
            if code != ErrorCode.NONE and not ErrorCode.of(code).retriable:
                raise BrokerError(code, "Metadata", f"topic {topic}: {error_name(code)}")
            if not deadline.pause():
                raise KafkaTimeoutError(
                    f"topic {topic} does not exist: {error_name(code)}; brokers create it on "
                    "demand only with auto.create.topics.enable"
                )
