"""Runs a "signal handler" at a chosen line of what it interrupts: every place can be tried."""

import sys
from collections.abc import Callable
from types import FrameType


def interrupt_at_line(
    number: int, handler: Callable[[], object], run: Callable[[], object]
) -> bool:
    """Run ``handler`` in front of the n-th line that ``run`` executes in this thread.

    Returns:
        Whether there was such a line.
    """
    count = 0
    done = False

    def trace(_frame: FrameType, event: str, _arg: object) -> "object":
        nonlocal count, done
        if event == "line" and not done:
            if count == number:
                done = True
                sys.settrace(None)
                handler()
            count += 1
        return None if done else trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        run()
    finally:
        sys.settrace(before)
    return done
