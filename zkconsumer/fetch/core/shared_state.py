"""State shared by the engine's threads: one lock around it, and the effects of each change.

No thread waits or unpacks while it holds the lock.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.fetch.core.effects import Effects
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.repeats import Repeats

R = TypeVar("R")
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Counters:
    """Counters of what was fetched so far; all but ``in_flight`` only grow.

    Attributes:
        fetches: responses received.
        failed_fetches: requests without a response.
        fetched_bytes: record sets' bytes, as received.
        fetched_records: records unpacked, including those dropped later.
        throttle_time_ms: the pauses that brokers requested (quotas).
        collected_records: handed to the caller.
        collected_bytes: keys and values of these.
        in_flight: requests that wait for a response.
    """

    fetches: int = 0
    failed_fetches: int = 0
    fetched_bytes: int = 0
    fetched_records: int = 0
    throttle_time_ms: int = 0
    collected_records: int = 0
    collected_bytes: int = 0
    in_flight: int = 0


class ResponseCounts(NamedTuple):
    """Counts of one response.

    Attributes:
        partitions: the partitions that it names.
        size_bytes: record sets' bytes, as received.
        records: the records unpacked on arrival.
        duration_ms: from request to response.
    """

    partitions: int
    size_bytes: int
    records: int
    duration_ms: int


Follow = Callable[[Effects], None]
"""Acts on effects: wakes the threads concerned. Thread: any, without the lock."""


class SharedFetchState:
    """Guard the state of all partitions by a lock. Thread: any.

    Args:
        states: the state of all partitions; nobody else changes it.
        clock: source of the time.
        follow: acts on effects.
        repeats: logs repeated failures; None: a new one is created.
        warns: whether notes and outages are logged here; else the reader logs them.

    Attributes:
        counters: the engine's counters.
        repeats: logs repeated failures.
        fetched: observes each response. Thread: a fetcher's; it must not wait.
    """

    def __init__(
        self,
        states: PartitionStates,
        clock: Clock,
        follow: Follow,
        *,
        repeats: Repeats | None = None,
        warns: bool = True,
    ) -> None:
        self.fetched: Callable[[ResponseCounts], None] = lambda _: None
        self.warns = warns
        self.counters = Counters()
        self.repeats = repeats or Repeats(log, clock)
        self._clock = clock
        self._follow = follow
        self._states = states
        # Reentrant: a signal handler of the caller's thread may call while it is held there.
        self._lock = threading.RLock()

    def change(self, do: Callable[[PartitionStates, int], R]) -> R:
        """Call ``do`` with the state and the time, under the lock; then act on the effects."""
        try:
            with self._lock:
                return do(self._states, self._clock.now_ms())
        finally:
            self._act()

    def _act(self) -> None:
        effects = Effects()
        try:
            with self._lock:
                effects = self._states.take_effects()
            for note in effects.notes if self.warns else ():
                self.repeats.happened(note, note)
            self._follow(effects)
        except BaseException:
            # A signal handler raised: no wakeup may be lost, so the next change acts on these.
            with self._lock:
                self._states.effects.add(effects)
            raise

    def read(self, do: Callable[[PartitionStates], R]) -> R:
        """Read from the state, without changing it."""
        with self._lock:
            return do(self._states)

    def count(self, more: Counters) -> None:
        """Add to the counters."""
        with self._lock:
            for name in Counters.__slots__:
                added = getattr(more, name)
                if added:
                    setattr(self.counters, name, getattr(self.counters, name) + added)
