"""Where the engine's threads meet: one lock around one board, and what follows from each change.

Nobody waits for anything while he holds the lock, and nothing is unpacked under it.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from zkconsumer.clock import Clock
from zkconsumer.fetch.core.effects import Effects
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.settings import PollFetchSettings
from zkconsumer.repeats import Repeats

R = TypeVar("R")
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Counters:
    """What ``EngineStats`` counts; written under the desk's lock."""

    fetches: int = 0
    failed_fetches: int = 0
    fetched_bytes: int = 0
    fetched_records: int = 0
    fetch_time_ms: int = 0
    throttle_time_ms: int = 0
    collected_records: int = 0
    collected_bytes: int = 0
    in_flight: int = 0


Follow = Callable[[Effects], None]
"""Acts on what a change leads to: wakes whom it concerns. Thread: any, without the lock."""


class SharedFetchState:
    """Thread: any.

    Args:
        settings: how to fetch.
        clock: the time.
        follow: acts on effects.

    Attributes:
        counters: see there.
        repeats: what goes wrong is told by this.
        fetched: hears what each answer brought: bytes, records, and how long it took in ms.
            Thread: a fetcher's; it may not wait.
    """

    def __init__(self, settings: PollFetchSettings, clock: Clock, follow: Follow) -> None:
        self.fetched: Callable[[int, int, int], None] = lambda *_: None
        self.counters = Counters()
        self.repeats = Repeats(log, clock)
        self._clock = clock
        self._follow = follow
        self._states = PartitionStates(settings)
        # Reentrant: a signal handler of the caller's thread may call while it is held there.
        self._lock = threading.RLock()

    def change(self, do: Callable[[PartitionStates, int], R]) -> R:
        """Run something on the board, at the present time, and act on what follows."""
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
            for note in effects.notes:
                self.repeats.happened(note, note)
            self._follow(effects)
        except BaseException:
            # A signal handler's: nobody may wait for ever to be woken. The next change does it.
            with self._lock:
                self._states.effects.add(effects)
            raise

    def look(self, at: Callable[[PartitionStates], R]) -> R:
        """Look at the board, without changing it."""
        with self._lock:
            return at(self._states)

    def count(self, add: Callable[[Counters], None]) -> None:
        """Add to the counters."""
        with self._lock:
            add(self.counters)
