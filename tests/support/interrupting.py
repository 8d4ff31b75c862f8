"""Runs a "signal handler" at a chosen line of what it interrupts: every place can be tried."""

import inspect
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


def interrupt_at_call(
    number: int, handler: Callable[[], object], run: Callable[[], object]
) -> bool:
    """Run ``handler`` at the n-th place in ``run`` at which CPython would run a signal handler.

    These are the entries of functions and the returns of built-in ones (and the ends of loops'
    rounds, which are left out). What ``handler`` raises comes out of that place, and so of ``run``.
    Generators and the standard library are left out: what is raised while they are cleaned up is
    swallowed.

    Returns:
        Whether there was such a place; where ``handler`` raises, that is to be told by that.
    """
    count = 0
    done = False

    def profile(frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count, done
        is_ours = frame.f_globals["__name__"].startswith("zkconsumer.")
        is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR
        if event in ("call", "c_return") and is_ours and not is_generator and not done:
            if count == number:
                done = True
                sys.setprofile(None)
                handler()
            count += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return done
