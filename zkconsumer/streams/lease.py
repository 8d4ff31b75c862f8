"""Until when a stream may hand messages out: looked at for every message, with a fresh clock.

A flag that another thread raises comes too late where all threads were stopped together (SIGSTOP,
a suspended machine): the one that reads may be the first to go on. So it is a time, and whoever
hands something out compares it with the clock himself.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from zkconsumer.clock import Clock, SystemClock, seconds_of
from zkconsumer.records.engine import ENGINE, Engine


class PureLease:
    """The one in Python; without an end at first.

    By the machine's clock it does not see that the machine was suspended, which the gate sees in
    front of each chunk: the clock that counts such a time takes twice as long to read.

    Args:
        clock: by which it runs.

    Attributes:
        now_s: gives the time.
        until_s: from this time on nothing may be handed out. Written by one thread, read by any.
    """

    __slots__ = ("_clock", "now_s", "until_s")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.now_s: Callable[[], float] = seconds_of(clock)
        self.until_s = math.inf

    def end_at(self, until_ms: int | None) -> None:
        """Have it end at this time of its clock; None: never."""
        if until_ms is None:
            self.until_s = math.inf
        elif type(self._clock) is SystemClock:
            # What it is read by has another start.
            self.until_s = self.now_s() + (until_ms - self._clock.now_ms()) / 1000
        else:
            self.until_s = until_ms / 1000


# For mypy the two are one: they have the same fields.
if TYPE_CHECKING or ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

    Lease = _core.Lease
else:
    Lease = PureLease

__all__ = ["Lease", "PureLease"]
