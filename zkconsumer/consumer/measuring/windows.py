"""Values of the last while: how many, how much, the largest, and how fast. Pure.

Source: Kafka ``SampledStat`` and ``Rate``, as kafka-python has them: time is cut into windows, of
which the last few count; so a rate follows what happens now, and an outlier is forgotten.
"""

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowTerms:
    """How time is cut.

    Attributes:
        samples: how many windows count, the one that is open among them; at least 1.
        window_ms: how long each is; at least 1.
    """

    samples: int = 2
    window_ms: int = 30_000


@dataclass(slots=True)
class _Sample:
    """One window."""

    since_ms: int
    count: int = 0
    total: float = 0.0
    highest: float = 0.0


class Windowed:
    """One kind of value. One thread at a time.

    Args:
        terms: how time is cut.
    """

    def __init__(self, terms: WindowTerms) -> None:
        self._terms = terms
        self._samples: deque[_Sample] = deque(maxlen=terms.samples)

    def take(self, value: float, now_ms: int) -> None:
        """One more; times may not go back by more than a window."""
        samples = self._samples
        if not samples or now_ms - samples[-1].since_ms >= self._terms.window_ms:
            samples.append(_Sample(now_ms))
        sample = samples[-1]
        sample.count += 1
        sample.total += value
        sample.highest = max(sample.highest, value) if sample.count > 1 else value

    def average(self, now_ms: int) -> float:
        """Of the values; 0 where there are none."""
        left = self._left(now_ms)
        count = sum(sample.count for sample in left)
        return sum(sample.total for sample in left) / count if count else 0.0

    def highest(self, now_ms: int) -> float:
        """The largest value; 0 where there is none."""
        return max((sample.highest for sample in self._left(now_ms)), default=0.0)

    def rate(self, now_ms: int) -> float:
        """Their sum for each second."""
        return self._each_second(sum(sample.total for sample in self._left(now_ms)), now_ms)

    def count_rate(self, now_ms: int) -> float:
        """How many for each second."""
        return self._each_second(sum(sample.count for sample in self._left(now_ms)), now_ms)

    def _left(self, now_ms: int) -> list[_Sample]:
        """What is not too old; whoever reads changes nothing."""
        oldest_ms = now_ms - self._terms.samples * self._terms.window_ms
        return [sample for sample in tuple(self._samples) if sample.since_ms > oldest_ms]

    def _each_second(self, total: float, now_ms: int) -> float:
        """Windows that have not been yet count as whole ones: the first is not to look fast."""
        left = self._left(now_ms)
        if not left:
            return 0.0
        elapsed_ms = max(0, now_ms - left[0].since_ms)
        missing = self._terms.samples - 1 - elapsed_ms // self._terms.window_ms
        elapsed_ms += max(0, missing) * self._terms.window_ms
        return total * 1000 / max(1, elapsed_ms)
