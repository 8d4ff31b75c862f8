"""Limits how long a stream may hand out messages: a time, checked for each message.

A flag set by another thread comes too late if all threads were stopped together (SIGSTOP, a
suspended machine): the reading thread may be the first to resume. So the lease is a time, and the
code that hands out a message compares it with a fresh reading of the clock itself.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from zkconsumer.clock import Clock, SystemClock, seconds_of
from zkconsumer.records.engine import ENGINE, Engine


class PureLease:
    """The lease in Python; at first it has no end.

    Its clock does not count the time in which the machine is suspended. The gate's does, and is
    read before each chunk: such a clock takes twice as long to read.

    Args:
        clock: the clock of its end.

    Attributes:
        now_s: returns the time.
        until_s: the time from which nothing may be handed out. Written by one thread, read by any.
    """

    __slots__ = ("_clock", "now_s", "until_s")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.now_s: Callable[[], float] = seconds_of(clock)
        self.until_s = math.inf

    def end_at(self, until_ms: int | None) -> None:
        """Set the end in this lease's clock; None: never."""
        if until_ms is None:
            self.until_s = math.inf
        elif type(self._clock) is SystemClock:
            # ``now_s`` and ``clock`` count from different starts.
            self.until_s = self.now_s() + (until_ms - self._clock.now_ms()) / 1000
        else:
            self.until_s = until_ms / 1000


# One type for mypy: both have the same fields.
if TYPE_CHECKING or ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

    Lease = _core.Lease
else:
    Lease = PureLease

__all__ = ["Lease", "PureLease"]
