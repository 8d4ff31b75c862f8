"""Measures the traffic of a consumer's connections; names are those of kafka-python.

Threads report events without waiting, neither for each other nor for a reader, even if a signal
handler interrupts one of them. A thread queues its event, and counts all queued events unless
another thread is doing so.
"""

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TypeVarTuple, Unpack

from zkconsumer.clock import Clock
from zkconsumer.consumer.measuring.windows import Windowed, WindowTerms
from zkconsumer.fetch.core.shared_state import ResponseCounts
from zkconsumer.model import Broker
from zkconsumer.net.traffic import Traffic
from zkconsumer.wire.api import ApiKey

Ts = TypeVarTuple("Ts")


class _Exchanges:
    """Counts requests and responses, of one broker or of all."""

    def __init__(self, terms: WindowTerms) -> None:
        self.request_bytes = Windowed(terms)
        self.response_bytes = Windowed(terms)
        self.latency_ms = Windowed(terms)
        self.throttle_ms = Windowed(terms)

    def numbers(self, now_ms: int) -> dict[str, float]:
        return {
            "outgoing-byte-rate": self.request_bytes.rate(now_ms),
            "request-rate": self.request_bytes.count_rate(now_ms),
            "request-size-avg": self.request_bytes.average(now_ms),
            "request-size-max": self.request_bytes.highest(now_ms),
            "incoming-byte-rate": self.response_bytes.rate(now_ms),
            "response-rate": self.response_bytes.count_rate(now_ms),
            "request-latency-avg": self.latency_ms.average(now_ms),
            "request-latency-max": self.latency_ms.highest(now_ms),
            "throttle-time-avg": self.throttle_ms.average(now_ms),
            "throttle-time-max": self.throttle_ms.highest(now_ms),
        }


class Measures(Traffic):
    """Counts the traffic and the fetches of a consumer. Thread: any."""

    def __init__(self, terms: WindowTerms, clock: Clock) -> None:
        self._terms = terms
        self._clock = clock
        # No thread waits for it. Reentrant: a signal handler may interrupt its holder.
        self._lock = threading.RLock()
        self._inbox: deque[Callable[[], None]] = deque()
        self._all = _Exchanges(terms)
        self._nodes: dict[int, _Exchanges] = {}
        self._opened = Windowed(terms)
        self._closed = Windowed(terms)
        self._open = 0
        self._of_api: dict[ApiKey, Windowed] = {}
        self._fetched_bytes = Windowed(terms)
        self._fetched_records = Windowed(terms)
        self._fetch_ms = Windowed(terms)

    # --- reports. Thread: any -------------------------------------------------------------

    def on_opened(self, broker: Broker) -> None:
        """See ``Traffic``."""
        del broker
        self._notify(self._count_opened)

    def on_closed(self, broker: Broker) -> None:
        """See ``Traffic``."""
        del broker
        self._notify(self._count_closed)

    def on_sent(self, broker: Broker, size_bytes: int) -> None:
        """See ``Traffic``."""
        self._notify(self._count_sent, broker.id, size_bytes)

    def on_response(
        self, broker: Broker, api: ApiKey, size_bytes: int, took_ms: int, throttle_ms: int
    ) -> None:
        """See ``Traffic``."""
        self._notify(self._count_response, broker.id, api, (size_bytes, took_ms, throttle_ms))

    def fetched(self, counts: ResponseCounts) -> None:
        """Count a Fetch response, with all its partitions."""
        self._notify(self._count_fetch, counts.size_bytes, counts.records, counts.duration_ms)

    # --- readings. Thread: any ------------------------------------------------------------

    def consumer(self) -> dict[str, float]:
        """Return the metrics of all connections together."""
        self._take_in()
        now_ms = self._clock.now_ms()
        whole = self._all
        return {
            "connection-count": self._open,
            "connection-creation-rate": self._opened.count_rate(now_ms),
            "connection-close-rate": self._closed.count_rate(now_ms),
            "network-io-rate": whole.request_bytes.count_rate(now_ms)
            + whole.response_bytes.count_rate(now_ms),
            **whole.numbers(now_ms),
        }

    def nodes(self) -> dict[str, dict[str, float]]:
        """Return the metrics of each broker, by the broker's part of the metric group's name."""
        self._take_in()
        now_ms = self._clock.now_ms()
        return {
            _name_of(number): node.numbers(now_ms) for number, node in self._nodes.copy().items()
        }

    def coordinator(self) -> dict[str, float]:
        """Return the metrics of requests to the group's coordinator."""
        self._take_in()
        now_ms = self._clock.now_ms()
        beats, joins = self._api(ApiKey.HEARTBEAT), self._api(ApiKey.JOIN_GROUP)
        syncs, commits = self._api(ApiKey.SYNC_GROUP), self._api(ApiKey.OFFSET_COMMIT)
        return {
            "heartbeat-rate": beats.count_rate(now_ms),
            "heartbeat-response-time-max": beats.highest(now_ms),
            "join-rate": joins.count_rate(now_ms),
            "join-time-avg": joins.average(now_ms),
            "join-time-max": joins.highest(now_ms),
            "sync-rate": syncs.count_rate(now_ms),
            "sync-time-avg": syncs.average(now_ms),
            "sync-time-max": syncs.highest(now_ms),
            "commit-rate": commits.count_rate(now_ms),
            "commit-latency-avg": commits.average(now_ms),
            "commit-latency-max": commits.highest(now_ms),
        }

    def fetching(self) -> dict[str, float]:
        """Return the metrics of fetches."""
        self._take_in()
        now_ms = self._clock.now_ms()
        return {
            "fetch-rate": self._fetch_ms.count_rate(now_ms),
            "fetch-latency-avg": self._fetch_ms.average(now_ms),
            "fetch-latency-max": self._fetch_ms.highest(now_ms),
            "fetch-size-avg": self._fetched_bytes.average(now_ms),
            "fetch-size-max": self._fetched_bytes.highest(now_ms),
            "bytes-consumed-rate": self._fetched_bytes.rate(now_ms),
            "records-per-request-avg": self._fetched_records.average(now_ms),
            "records-consumed-rate": self._fetched_records.rate(now_ms),
        }

    # --- helpers --------------------------------------------------------------------------

    def _notify(self, count: Callable[[int, Unpack[Ts]], None], *facts: *Ts) -> None:
        self._inbox.append(partial(count, self._clock.now_ms(), *facts))
        self._take_in()

    def _take_in(self) -> None:
        """Count the queued events, unless another thread is doing so."""
        if self._lock.acquire(blocking=False):
            try:
                while self._inbox:
                    self._inbox.popleft()()
            finally:
                self._lock.release()

    def _count_opened(self, now_ms: int) -> None:
        self._open += 1
        self._opened.take(1, now_ms)

    def _count_closed(self, now_ms: int) -> None:
        self._open -= 1
        self._closed.take(1, now_ms)

    def _count_sent(self, now_ms: int, number: int, size_bytes: int) -> None:
        for counts in (self._all, self._node(number)):
            counts.request_bytes.take(size_bytes, now_ms)

    def _count_response(
        self, now_ms: int, number: int, api: ApiKey, facts: tuple[int, int, int]
    ) -> None:
        size_bytes, took_ms, throttle_ms = facts
        for counts in (self._all, self._node(number)):
            counts.response_bytes.take(size_bytes, now_ms)
            counts.latency_ms.take(took_ms, now_ms)
            counts.throttle_ms.take(throttle_ms, now_ms)
        self._of_api.setdefault(api, Windowed(self._terms)).take(took_ms, now_ms)

    def _count_fetch(self, now_ms: int, size_bytes: int, records: int, took_ms: int) -> None:
        self._fetched_bytes.take(size_bytes, now_ms)
        self._fetched_records.take(records, now_ms)
        self._fetch_ms.take(took_ms, now_ms)

    def _node(self, number: int) -> _Exchanges:
        return self._nodes.setdefault(number, _Exchanges(self._terms))

    def _api(self, api: ApiKey) -> Windowed:
        return self._of_api.get(api) or Windowed(self._terms)


def _name_of(number: int) -> str:
    """Return the broker's part of a metric group's name; a bootstrap broker has a negative id."""
    return f"node-bootstrap-{-1 - number}" if number < 0 else f"node-{number}"
