"""Time as an argument: the one place that asks the machine what time it is."""

import time
from typing import Protocol


class Clock(Protocol):
    """Where a thread gets its times from; a core never sees one, it is handed ``now_ms``."""

    def now_ms(self) -> int:
        """Milliseconds that only go forward, from an arbitrary start: for deadlines."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since the epoch: for what others read."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """See ``Clock``."""
        return time.monotonic_ns() // 1_000_000

    def wall_ms(self) -> int:
        """See ``Clock``."""
        return time.time_ns() // 1_000_000
