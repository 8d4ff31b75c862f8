"""A clock whose wall time never goes back while a snapshot is read."""

from zkconsumer.clock import Clock
from zkconsumer.status.set_back import was_set_back


class RoundClock:
    """A ``Clock`` that follows the local one from round to round, and runs evenly in between.

    Thread: any; ``follow``: one.

    Args:
        clock: the local clock.

    Attributes:
        ahead_ms: how far its wall time is ahead of its monotonic time.
        set_backs: how often the local clock was set back.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.ahead_ms = clock.wall_ms() - clock.now_ms()
        self.set_backs = 0

    def now_ms(self) -> int:
        """See ``Clock``."""
        return self._clock.now_ms()

    def wall_ms(self) -> int:
        """See ``Clock``."""
        return self._clock.now_ms() + self.ahead_ms

    def follow(self) -> int:
        """Follow the local clock; return by how much it was set back since the last time, or 0."""
        ahead_ms, before_ms = self._clock.wall_ms() - self._clock.now_ms(), self.ahead_ms
        if was_set_back(before_ms, ahead_ms):
            self.ahead_ms = ahead_ms
            self.set_backs += 1
            return before_ms - ahead_ms
        self.ahead_ms = max(before_ms, ahead_ms)
        return 0
