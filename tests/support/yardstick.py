"""Measures costs relative to a fixed piece of Python work, which makes them machine-independent."""

import gc
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_ENTRIES = 100_000


def cost_of(work: Callable[[], T], clock: Callable[[], float]) -> tuple[T, float]:
    """Call ``work`` between two fixed pieces; return its result, and its time relative to a piece.

    Args:
        work: the work to measure.
        clock: ``time.process_time``, which other processes do not affect, or another clock.
    """
    before_s = piece_s(clock)
    began_s = clock()
    result = work()
    took_s = clock() - began_s
    return result, took_s / max(before_s, piece_s(clock))


def piece_s(clock: Callable[[], float]) -> float:
    """Create many small objects, like those of a snapshot; return how long that took, s."""
    was_enabled = gc.isenabled()
    gc.disable()  # its time would depend on all other objects
    try:
        began_s = clock()
        entries = {f"key-{number}": (number, str(number)) for number in range(_ENTRIES)}
        assert sum(number for number, _ in entries.values()) == _ENTRIES * (_ENTRIES - 1) // 2
        return clock() - began_s
    finally:
        if was_enabled:
            gc.enable()
