"""The deadline for one part of a snapshot."""

from zkconsumer.clock import Clock


class Deadline:
    """A point in time. Thread: any."""

    def __init__(self, clock: Clock, limit_ms: int) -> None:
        self._clock = clock
        self.limit_ms = limit_ms
        self._at_ms = clock.now_ms() + limit_ms

    @property
    def left_ms(self) -> int:
        """Return the remaining time; 0 when it is over."""
        return max(0, self._at_ms - self._clock.now_ms())

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.left_ms == 0
