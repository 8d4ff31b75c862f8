"""Time as an argument: the only module that reads the machine's clocks."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Runs while the machine is suspended, since servers run on and expire sessions meanwhile."""

system_s: Final[Callable[[], float]] = partial(time.clock_gettime, _CLOCK)
"""``SystemClock.now_ms``, in seconds."""


class Clock(Protocol):
    """The time source of a thread; a pure core has none and is passed ``now_ms`` instead."""

    def now_ms(self) -> int:
        """Return monotonic milliseconds from an arbitrary start: for deadlines."""
        ...

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch: for times that others read."""
        ...


class SystemClock:
    """The machine's clock; it runs while the machine is suspended."""

    def now_ms(self) -> int:
        """See ``Clock``."""
        return time.clock_gettime_ns(_CLOCK) // 1_000_000

    def wall_ms(self) -> int:
        """See ``Clock``."""
        return time.time_ns() // 1_000_000


def seconds_of(clock: Clock) -> Callable[[], float]:
    """Return the fastest function that reads a clock in seconds, for loops over records.

    The machine's own clock is read without a Python call and without an argument, in a third of the
    time. It counts from another start, so only differences are meaningful; and it stops while the
    machine is suspended.
    """
    return time.monotonic if type(clock) is SystemClock else lambda: clock.now_ms() / 1000
