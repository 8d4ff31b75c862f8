"""Measures a connector: receives its events, reads its streams and claims, returns the numbers.

It has no thread and blocks none: a reporting thread appends its event to a queue, and whichever
thread gets the lock counts. No reporting thread waits for the lock, and a reader waits only
briefly, so a signal handler may shut the connector down at any point.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from zkconsumer.clock import Clock
from zkconsumer.connector.measuring.event_counts import EventCounts
from zkconsumer.connector.measuring.numbers import (
    NO_FETCHES,
    BrokerNumbers,
    ConnectorNumbers,
    PartitionNumbers,
    QueueNumbers,
)
from zkconsumer.connector.measuring.rates import Meter
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import Broker
from zkconsumer.observe import Event, Fetched, MemberName
from zkconsumer.streams.stream_queue import StreamQueue

_COUNT_INTERVAL_MS = 1_000
"""Minimum interval between counts of messages, unless the numbers are read."""
_LOCK_TIMEOUT_S = 0.1
"""How long a reader waits for the lock: a signal handler may have interrupted its holder."""


@dataclass(frozen=True, slots=True)
class MeasuredStream:
    """One stream of a connector.

    Attributes:
        topic: the topic that it serves; None: the topics of a filter.
        thread: its number, as in its thread id.
        queue: where its chunks wait.
        delivered_counts: returns the number of messages handed over, by topic. Thread: any.
    """

    topic: str | None
    thread: int
    queue: StreamQueue
    delivered_counts: Callable[[], Mapping[str, int]]


class Measuring:
    """Measures one connector, as an ``Observer`` of it. Thread: any.

    Args:
        random: returns numbers in [0, 1), for samples.
    """

    def __init__(
        self,
        member: MemberName,
        *,
        client_id: str,
        clock: Clock,
        random: Callable[[], float],
    ) -> None:
        now_ms = clock.now_ms()
        self._member = member
        self._client_id = client_id
        self._clock = clock
        self._received: deque[tuple[int, Event]] = deque()
        self._counting = threading.Lock()
        self._counts = EventCounts(now_ms, random)
        self._streams: list[MeasuredStream] = []
        self._messages = Meter(now_ms)
        self._messages_of: dict[str, Meter] = {}
        self._last_read_ms = now_ms
        self._claims: Callable[[], Sequence[PartitionClaim]] = tuple
        self._fetchers: Callable[[], Sequence[Broker]] = tuple

    def watch(
        self,
        claims: Callable[[], Sequence[PartitionClaim]],
        fetchers: Callable[[], Sequence[Broker]],
    ) -> None:
        """Set the sources of claims and brokers, before the connector runs.

        Args:
            claims: returns the claims that are being read.
            fetchers: returns the brokers that are being fetched from.
        """
        self._claims = claims
        self._fetchers = fetchers

    def add_stream(self, stream: MeasuredStream) -> None:
        """Add a stream to those that are measured."""
        self._streams.append(stream)

    def observe(self, member: MemberName, event: Event) -> None:
        """See ``Observer``."""
        del member
        self._received.append((self._clock.now_ms(), event))
        if self._counting.acquire(blocking=False):
            try:
                self._count(counts_messages=isinstance(event, Fetched))
            finally:
                self._counting.release()

    def read(self) -> ConnectorNumbers:
        """Return the current numbers."""
        # Without the lock the values may be a little older, or of two moments: better than a wait.
        has_lock = self._counting.acquire(timeout=_LOCK_TIMEOUT_S)
        try:
            if has_lock:
                self._last_read_ms -= _COUNT_INTERVAL_MS
                self._count(counts_messages=True)
            return self._numbers()
        finally:
            if has_lock:
                self._counting.release()

    def _count(self, *, counts_messages: bool) -> None:
        """Count the queued events, and messages if that is due. Call with the lock held."""
        while self._received:
            at_ms, event = self._received.popleft()
            self._counts.take(event, at_ms)
        now_ms = self._clock.now_ms()
        if counts_messages and now_ms - self._last_read_ms >= _COUNT_INTERVAL_MS:
            self._last_read_ms = now_ms
            self._count_messages(now_ms)

    def _count_messages(self, now_ms: int) -> None:
        totals: dict[str, int] = {}
        for measured in list(self._streams):
            for topic, count in measured.delivered_counts().items():
                totals[topic] = totals.get(topic, 0) + count
        for topic, total in totals.items():
            meter = self._messages_of.get(topic)
            if meter is None:
                meter = self._messages_of[topic] = Meter(now_ms)
            # While a stream takes a chunk, its total rises and then falls again: ignore the fall.
            more = max(0, total - meter.count)
            meter.mark(more, now_ms)
            self._messages.mark(more, now_ms)

    def _numbers(self) -> ConnectorNumbers:
        counts, now_ms = self._counts, self._clock.now_ms()
        claims = list(self._claims())
        brokers = {broker.id: broker for broker in self._fetchers()}
        fetched_from = self._fetched_from(brokers, now_ms)
        return ConnectorNumbers(
            group_id=self._member.group_id,
            client_id=self._client_id,
            consumer_id=self._member.consumer_id,
            messages=self._messages.read(now_ms),
            messages_of={
                topic: meter.read(now_ms) for topic, meter in list(self._messages_of.items())
            },
            fetched=counts.fetched.read(now_ms),
            fetched_from=fetched_from,
            least_fetch_rate=min(
                (fetched_from[broker].fetches.one_minute for broker in brokers.values()),
                default=0.0,
            ),
            rebalances=counts.rebalances.read(now_ms),
            rebalance_ms=counts.rebalance_ms.read(),
            rebalances_within=counts.rebalances_within,
            failed_tries=counts.failed_tries,
            zookeeper_commits=counts.zookeeper_commits.read(now_ms),
            kafka_commits=counts.kafka_commits.read(now_ms),
            failed_commits=dict(counts.failed_commits),
            lost=counts.lost,
            poisoned=counts.poisoned,
            orphans=counts.orphans,
            paused=counts.paused,
            partitions={claim.topic_partition: _partition(claim) for claim in claims},
            queues=tuple(self._queues(claims)),
        )

    def _fetched_from(
        self, brokers: Mapping[int, Broker], now_ms: int
    ) -> dict[Broker, BrokerNumbers]:
        """Return the numbers of each broker fetched from now, even before its first response."""
        return {
            broker: counts.read(now_ms)
            if (counts := self._counts.fetched_from.get(number)) is not None
            else NO_FETCHES
            for number, broker in sorted(brokers.items())
        }

    def _queues(self, claims: Sequence[PartitionClaim]) -> Iterator[QueueNumbers]:
        for measured in list(self._streams):
            named = measured.topic
            yield QueueNumbers(
                topic=named or "",
                topics=_read_through(measured.queue, claims) if named is None else (named,),
                thread=measured.thread,
                chunks=measured.queue.chunk_count(),
                size_bytes=measured.queue.used_bytes(),
            )


def _read_through(queue: StreamQueue, claims: Sequence[PartitionClaim]) -> tuple[str, ...]:
    return tuple(sorted({claim.topic_partition.topic for claim in claims if claim.sink is queue}))


def _partition(claim: PartitionClaim) -> PartitionNumbers:
    high_watermark, delivered = claim.high_watermark, claim.delivered_offset
    return PartitionNumbers(
        read_offset=claim.consumed_offset if delivered is None else delivered,
        committed_offset=claim.committed_offset,
        high_watermark=None if high_watermark < 0 else high_watermark,
    )
