"""Computes extremes, mean, deviation and percentiles of sizes or durations. Pure.

Source: Yammer Metrics 2.2 ``Histogram`` with its biased sample: percentiles cover about the last
five minutes, everything else covers all values. The sample is drawn by forward decay (Cormode,
Shkapenyuk, Srivastava, Xu: Forward decay, 2009), with the logarithms of the weights, which never
have to be rescaled.
"""

from collections.abc import Callable, Sequence
from heapq import heappush, heappushpop
from math import log, sqrt
from typing import NamedTuple

SAMPLE_SIZE = 1_028
_ALPHA = 0.015
_MOST_AT_ONCE = 16
"""The maximum number of draws for the sample when a value is added several times."""
QUANTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)


class SpreadView(NamedTuple):
    """The readings of a histogram; all zero without values.

    Attributes:
        values: the number of values.
        total: their sum.
        least: the smallest.
        most: the largest.
        mean: the mean of all.
        deviation: the standard deviation of all.
        quantiles: the values at ``QUANTILES``, from the sample.
    """

    values: int = 0
    total: float = 0.0
    least: float = 0.0
    most: float = 0.0
    mean: float = 0.0
    deviation: float = 0.0
    quantiles: tuple[float, ...] = (0.0,) * len(QUANTILES)


NO_SPREAD = SpreadView()


class Spread:
    """Takes values and returns their distribution.

    Args:
        random: returns numbers in [0, 1).
    """

    __slots__ = ("_count", "_least", "_mean", "_most", "_random", "_sample", "_squares")

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._count = 0
        self._least = 0.0
        self._most = 0.0
        self._mean = 0.0
        self._squares = 0.0
        self._sample: list[tuple[float, float]] = []

    def add(self, value: float, now_ms: int, times: int = 1) -> None:
        """Add a value, `times` times."""
        if times < 1:
            return
        self._least = value if not self._count else min(self._least, value)
        self._most = value if not self._count else max(self._most, value)
        before, self._count = self._count, self._count + times
        away = value - self._mean
        self._mean += away * times / self._count
        self._squares += away * away * times * before / self._count
        for _ in range(min(times, _MOST_AT_ONCE)):
            weight = _ALPHA * now_ms / 1000 - log(1 - self._random())
            if len(self._sample) < SAMPLE_SIZE:
                heappush(self._sample, (weight, value))
            else:
                heappushpop(self._sample, (weight, value))

    def read(self) -> SpreadView:
        """Return the readings."""
        if not self._count:
            return SpreadView()
        values = sorted(value for _, value in self._sample)
        return SpreadView(
            values=self._count,
            total=self._mean * self._count,
            least=self._least,
            most=self._most,
            mean=self._mean,
            deviation=sqrt(self._squares / (self._count - 1)) if self._count > 1 else 0.0,
            quantiles=tuple(_quantile(values, quantile) for quantile in QUANTILES),
        )


def _quantile(values: Sequence[float], quantile: float) -> float:
    """Interpolate between the two nearest values, as the original does."""
    rank = quantile * (len(values) + 1)
    if rank < 1:
        return values[0]
    if rank >= len(values):
        return values[-1]
    low, high = values[int(rank) - 1], values[int(rank)]
    return low + (rank - int(rank)) * (high - low)
