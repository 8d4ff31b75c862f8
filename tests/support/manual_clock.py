"""A clock that stands still until a test advances it."""


class ManualClock:
    """A ``Clock`` that tests advance; each read also advances it by ``step_ms``."""

    def __init__(self, now_ms: int = 1_000, *, wall_ms: int = 1_400_000_000_000) -> None:
        self._now_ms = now_ms
        self._ahead_ms = wall_ms - now_ms
        self.step_ms = 0

    def now_ms(self) -> int:
        """See ``Clock``."""
        now_ms = self._now_ms
        self._now_ms += self.step_ms
        return now_ms

    def wall_ms(self) -> int:
        """See ``Clock``."""
        return self._now_ms + self._ahead_ms

    def set_back(self, delta_ms: int) -> None:
        """Set the wall clock back; monotonic time is not affected."""
        self._ahead_ms -= delta_ms

    def advance(self, delta_ms: int) -> None:
        """Advance the time."""
        self._now_ms += delta_ms
