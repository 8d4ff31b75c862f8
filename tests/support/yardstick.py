"""What work costs, in times of a fixed piece of Python: a slow machine is slow at both."""

import gc
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_ENTRIES = 100_000


def cost_of(work: Callable[[], T], clock: Callable[[], float]) -> tuple[T, float]:
    """Do it between two pieces; gives its result, and its time in times of the longer piece's.

    Args:
        work: what to do.
        clock: ``time.process_time``, which nobody else's work can lengthen, or another one.
    """
    before_s = piece_s(clock)
    began_s = clock()
    result = work()
    took_s = clock() - began_s
    return result, took_s / max(before_s, piece_s(clock))


def piece_s(clock: Callable[[], float]) -> float:
    """Make many small objects, as a snapshot is made of; gives how long that took, in seconds."""
    was_enabled = gc.isenabled()
    gc.disable()  # that would look at whatever else there is
    try:
        began_s = clock()
        entries = {f"key-{number}": (number, str(number)) for number in range(_ENTRIES)}
        assert sum(number for number, _ in entries.values()) == _ENTRIES * (_ENTRIES - 1) // 2
        return clock() - began_s
    finally:
        if was_enabled:
            gc.enable()
