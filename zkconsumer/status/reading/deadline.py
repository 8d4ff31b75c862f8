"""The time that one part of a snapshot may take."""

from zkconsumer.clock import Clock


class Deadline:
    """A point in time. Thread: any.

    Args:
        clock: that it is measured by.
        limit_ms: how far away it is.
    """

    def __init__(self, clock: Clock, limit_ms: int) -> None:
        self._clock = clock
        self.limit_ms = limit_ms
        self._at_ms = clock.now_ms() + limit_ms

    @property
    def left_ms(self) -> int:
        """What is left; 0 when it is over."""
        return max(0, self._at_ms - self._clock.now_ms())

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self.left_ms == 0
