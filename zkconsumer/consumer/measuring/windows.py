"""Computes number, average, maximum and rate of recent values. Pure.

Source: Kafka ``SampledStat`` and ``Rate``, as in kafka-python: time is cut into windows, of which
    the last few count; so a rate follows recent events, and an outlier is forgotten.
"""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple


class WindowTerms(NamedTuple):
    """The number and length of the windows.

    Attributes:
        samples: the number of windows that count, including the open one; at least 1.
        window_ms: the length of each in ms; at least 1.
    """

    samples: int = 2
    window_ms: int = 30_000


@dataclass(slots=True)
class _Sample:
    """The values of one window."""

    since_ms: int
    count: int = 0
    total: float = 0.0
    highest: float = 0.0


class Windowed:
    """Summarises the values of recent windows. Thread: one at a time."""

    def __init__(self, terms: WindowTerms) -> None:
        self._terms = terms
        self._samples: deque[_Sample] = deque(maxlen=terms.samples)

    def take(self, value: float, now_ms: int) -> None:
        """Add a value; ``now_ms`` may go back by less than a window."""
        samples = self._samples
        if not samples or now_ms - samples[-1].since_ms >= self._terms.window_ms:
            samples.append(_Sample(now_ms))
        sample = samples[-1]
        sample.count += 1
        sample.total += value
        sample.highest = max(sample.highest, value) if sample.count > 1 else value

    def average(self, now_ms: int) -> float:
        """Return the average; 0 without values."""
        left = self._left(now_ms)
        count = sum(sample.count for sample in left)
        return sum(sample.total for sample in left) / count if count else 0.0

    def highest(self, now_ms: int) -> float:
        """Return the largest value; 0 without values."""
        return max((sample.highest for sample in self._left(now_ms)), default=0.0)

    def rate(self, now_ms: int) -> float:
        """Return the sum of the values per second."""
        return self._each_second(sum(sample.total for sample in self._left(now_ms)), now_ms)

    def count_rate(self, now_ms: int) -> float:
        """Return the number of values per second."""
        return self._each_second(sum(sample.count for sample in self._left(now_ms)), now_ms)

    def _left(self, now_ms: int) -> list[_Sample]:
        """Return the windows that are recent enough to count, without changing anything."""
        oldest_ms = now_ms - self._terms.samples * self._terms.window_ms
        return [sample for sample in tuple(self._samples) if sample.since_ms > oldest_ms]

    def _each_second(self, total: float, now_ms: int) -> float:
        """Divide by the time; missing windows count in full, or first rates would be too high."""
        left = self._left(now_ms)
        if not left:
            return 0.0
        elapsed_ms = max(0, now_ms - left[0].since_ms)
        missing = self._terms.samples - 1 - elapsed_ms // self._terms.window_ms
        elapsed_ms += max(0, missing) * self._terms.window_ms
        return total * 1000 / max(1, elapsed_ms)
