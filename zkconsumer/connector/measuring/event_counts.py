"""Counts the events of a connector. Pure: events and the time go in, numbers come out."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sized

from zkconsumer.connector.measuring.numbers import REBALANCE_BOUNDS_MS, BrokerNumbers
from zkconsumer.connector.measuring.rates import Meter
from zkconsumer.connector.measuring.spread import Spread
from zkconsumer.observe import (
    CommitFailed,
    Committed,
    DeliveryPaused,
    DeliveryResumed,
    Event,
    Fetched,
    Left,
    MessagePoisoned,
    OrphansSeen,
    PartitionsLost,
    RebalanceFinished,
    RebalanceGivenUp,
    RebalanceStarted,
    RebalanceTryFailed,
)


class FetchCounts:
    """Counts the fetches from one broker, or from all of them.

    Args:
        random: returns numbers in [0, 1), for samples.
    """

    def __init__(self, now_ms: int, random: Callable[[], float]) -> None:
        self._fetches = Meter(now_ms)
        self._size_bytes = Meter(now_ms)
        self._took_ms = Spread(random)
        self._response_bytes = Spread(random)

    def take(self, fetched: Fetched, now_ms: int) -> None:
        """Count one response, or several responses as equal shares of their sum."""
        times = fetched.fetches
        self._fetches.mark(times, now_ms)
        self._size_bytes.mark(fetched.size_bytes, now_ms)
        if times:
            self._took_ms.add(fetched.duration_ms / times, now_ms, times)
            self._response_bytes.add(fetched.size_bytes / times, now_ms, times)

    def read(self, now_ms: int) -> BrokerNumbers:
        """Return the numbers at `now_ms`."""
        return BrokerNumbers(
            fetches=self._fetches.read(now_ms),
            size_bytes=self._size_bytes.read(now_ms),
            took_ms=self._took_ms.read(),
            response_bytes=self._response_bytes.read(),
        )


class EventCounts:
    """Counts the events that a connector reports.

    Args:
        random: returns numbers in [0, 1), for samples.

    Attributes: those of ``ConnectorNumbers``; ``fetched_from`` is by broker id.
    """

    def __init__(self, now_ms: int, random: Callable[[], float]) -> None:
        self._random = random
        self._rebalancing_since_ms: int | None = None
        self.fetched = FetchCounts(now_ms, random)
        self.fetched_from: dict[int, FetchCounts] = {}
        self.rebalances = Meter(now_ms)
        self.rebalance_ms = Spread(random)
        self._took = Counter[int]()
        self.failed_tries = 0
        self.zookeeper_commits = Meter(now_ms)
        self.kafka_commits = Meter(now_ms)
        self.failed_commits = Counter[str]()
        self.lost = 0
        self.poisoned = 0
        self.orphans = 0
        self.paused = False

    @property
    def rebalances_within(self) -> tuple[int, ...]:
        """See ``ConnectorNumbers``."""
        return tuple(
            sum(count for bucket, count in list(self._took.items()) if bucket <= index)
            for index in range(len(REBALANCE_BOUNDS_MS))
        )

    def take(self, event: Event, now_ms: int) -> None:
        """Count an event."""
        match event:
            case Fetched():
                self._take_fetched(event, now_ms)
            case Committed(storage=storage, offsets=offsets):
                self._take_commit(storage, offsets, now_ms)
            case CommitFailed(storage, reasons):
                self.failed_commits[storage] += len(reasons)
                if storage == "kafka":
                    self.kafka_commits.mark(len(reasons), now_ms)
            case RebalanceStarted() if self._rebalancing_since_ms is None:
                self._rebalancing_since_ms = now_ms
            case RebalanceFinished(duration_ms=duration_ms):
                self._take_rebalance(duration_ms, now_ms)
            case RebalanceTryFailed():
                self.failed_tries += 1
            case RebalanceGivenUp():
                since_ms = self._rebalancing_since_ms
                self._take_rebalance(0 if since_ms is None else now_ms - since_ms, now_ms)
            case _:
                self._take_rare(event)

    def _take_rare(self, event: Event) -> None:
        match event:
            case PartitionsLost(partitions=partitions):
                self.lost += len(partitions)
            case MessagePoisoned():
                self.poisoned += 1
            case OrphansSeen(partitions):
                self.orphans = len(partitions)
            case DeliveryPaused():
                self.paused = True
            case DeliveryResumed():
                self.paused = False
            case Left():
                self._rebalancing_since_ms = None
                self.orphans = 0
            case _:
                pass

    def _take_fetched(self, event: Fetched, now_ms: int) -> None:
        self.fetched.take(event, now_ms)
        if event.broker_id not in self.fetched_from:
            self.fetched_from[event.broker_id] = FetchCounts(now_ms, self._random)
        self.fetched_from[event.broker_id].take(event, now_ms)

    def _take_commit(self, storage: str, offsets: Sized, now_ms: int) -> None:
        meter = self.kafka_commits if storage == "kafka" else self.zookeeper_commits
        meter.mark(len(offsets), now_ms)

    def _take_rebalance(self, duration_ms: int, now_ms: int) -> None:
        self._rebalancing_since_ms = None
        self.rebalances.mark(1, now_ms)
        self.rebalance_ms.add(duration_ms, now_ms)
        self._took[bisect_left(REBALANCE_BOUNDS_MS, duration_ms)] += 1
