"""Counts events and computes their rates as the original's meters do. Pure.

Source: Yammer Metrics 2.2 ``Meter`` and ``EWMA``, which Kafka 0.8 uses. There a thread ticks every
five seconds; here the ticks that are due are computed on access.
"""

from math import exp
from typing import NamedTuple

TICK_MS = 5_000
_ALPHAS = tuple(1 - exp(-TICK_MS / (minutes * 60_000)) for minutes in (1, 5, 15))


class Rates(NamedTuple):
    """The readings of a meter; rates are per second.

    Attributes:
        events: the number of events.
        mean: the rate since the meter was created.
        one_minute: the one-minute exponentially weighted moving average.
        five_minutes: the five-minute one.
        fifteen_minutes: the fifteen-minute one.
    """

    events: int = 0
    mean: float = 0.0
    one_minute: float = 0.0
    five_minutes: float = 0.0
    fifteen_minutes: float = 0.0


NO_RATES = Rates()


class Meter:
    """Counts events and their rates."""

    __slots__ = ("_averages", "_began_ms", "_count", "_pending", "_ticked_ms")

    def __init__(self, now_ms: int) -> None:
        self._began_ms = now_ms
        self._ticked_ms = now_ms
        self._count = 0
        self._pending = 0
        self._averages: tuple[float, ...] | None = None

    @property
    def count(self) -> int:
        """The number of events."""
        return self._count

    def mark(self, events: int, now_ms: int) -> None:
        """Record `events` occurrences."""
        self._tick(now_ms)
        self._count += events
        self._pending += events

    def read(self, now_ms: int) -> Rates:
        """Return the readings; averages are as of the last five-second tick, 0 before the first."""
        self._tick(now_ms)
        lived_ms = now_ms - self._began_ms
        mean = self._count * 1000 / lived_ms if lived_ms > 0 else 0.0
        return Rates(self._count, mean, *(self._averages or (0.0, 0.0, 0.0)))

    def _tick(self, now_ms: int) -> None:
        ticks = (now_ms - self._ticked_ms) // TICK_MS
        if ticks <= 0:
            return
        self._ticked_ms += ticks * TICK_MS
        rate = self._pending * 1000 / TICK_MS
        self._pending = 0
        before = self._averages or (rate, rate, rate)
        # All pending events belong to the first tick; the other ticks had no events.
        self._averages = tuple(
            (average + alpha * (rate - average)) * (1 - alpha) ** (ticks - 1)
            for average, alpha in zip(before, _ALPHAS, strict=True)
        )
