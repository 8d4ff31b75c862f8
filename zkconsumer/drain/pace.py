"""Compute a drain's throughput and remaining time. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DrainPace:
    """Throughput of a run, between two batches.

    Attributes:
        landed: offsets that this run has landed.
        lag: offsets that it is still to land; None before it has looked at the cluster.
        elapsed_ms: since the run began.
    """

    landed: int
    lag: int | None
    elapsed_ms: int

    @property
    def per_second(self) -> float:
        """Offsets a second, on average; 0 before anything is landed."""
        return self.landed * 1000 / self.elapsed_ms if self.elapsed_ms > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds until the lag is gone at this pace; None if unknown."""
        if self.lag is None or self.per_second == 0:
            return None
        return self.lag / self.per_second

    def __str__(self) -> str:
        text = f"{self.landed:,} landed, {self.per_second:,.0f}/s"
        if self.lag is not None:
            text += f", lag {self.lag:,}"
        return text if self.left_s is None else f"{text}, {duration(self.left_s)} left"


def duration(seconds: float) -> str:
    """Format a duration: ``45 s``, ``12 min``, ``3 h 20 min``."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
