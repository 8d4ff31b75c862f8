"""How long a call goes on trying."""

from zkconsumer.clock import Clock
from zkconsumer.cluster.stop_flag import StopFlag


class Patience:
    """The time of one call. Thread: one.

    Args:
        clock: that it is measured by.
        stop: ends it at once.
        limit_ms: for all tries together.
        backoff_ms: between two of them.
    """

    def __init__(self, clock: Clock, stop: StopFlag, *, limit_ms: int, backoff_ms: int) -> None:
        self._clock = clock
        self._stop = stop
        self._deadline_ms = clock.now_ms() + limit_ms
        self._backoff_ms = backoff_ms

    @property
    def left_ms(self) -> int:
        """What is left of it; 0 when it is over."""
        if self._stop.is_set:
            return 0
        return max(0, self._deadline_ms - self._clock.now_ms())

    def pause(self) -> bool:
        """Wait until the next try; False where there is to be none."""
        left_ms = self.left_ms
        if left_ms <= self._backoff_ms:
            return False
        return not self._stop.wait(self._backoff_ms)
