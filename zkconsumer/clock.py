"""Time as an argument: the one place that asks the machine what time it is."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Goes on while the machine is suspended: servers count on meanwhile, and end sessions."""

system_s: Final[Callable[[], float]] = partial(time.clock_gettime, _CLOCK)
"""``SystemClock.now_ms``, in seconds."""


class Clock(Protocol):
    """Where a thread gets its times from; a core never sees one, it is handed ``now_ms``."""

    def now_ms(self) -> int:
        """Milliseconds that only go forward, from an arbitrary start: for deadlines."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since the epoch: for what others read."""
        ...


class SystemClock:
    """The machine's clock; it goes on while the machine is suspended."""

    def now_ms(self) -> int:
        """See ``Clock``."""
        return time.clock_gettime_ns(_CLOCK) // 1_000_000

    def wall_ms(self) -> int:
        """See ``Clock``."""
        return time.time_ns() // 1_000_000


def seconds_of(clock: Clock) -> Callable[[], float]:
    """The quickest way to read a clock: seconds, for loops over records.

    The machine's own is read without a call of ours in between, and without an argument, which
    takes a third of the time. That has a start of its own, so it is of use for differences; and it
    stands still while the machine is suspended.
    """
    return time.monotonic if type(clock) is SystemClock else lambda: clock.now_ms() / 1000
