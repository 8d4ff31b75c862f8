"""Runs a "signal handler" at a chosen line or instruction, so that tests can try every place."""

import dis
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

_NAMES: Final = dis.opname


class Interrupted(BaseException):
    """Raised by a signal handler, in place of ``KeyboardInterrupt``, which would end pytest."""


class HandlerRaised(Exception):
    """Raised by a signal handler of the caller; ``except Exception`` catches it."""


def interrupt() -> None:
    """Raise ``Interrupted``: a signal handler."""
    raise Interrupted


def raise_in_handler() -> None:
    """Raise ``HandlerRaised``: a signal handler."""
    raise HandlerRaised


def interrupt_at_line(
    number: int, handler: Callable[[], object], run: Callable[[], object]
) -> bool:
    """Call ``handler`` before the n-th line that ``run`` executes in this thread.

    Returns:
        Whether ``run`` executed that many lines.
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
        _run_apart(run)
    finally:
        sys.settrace(before)
    return done


def _run_apart(run: Callable[[], object]) -> None:
    """Call ``run`` with an exception state of its own.

    If a trace function raises at the end of an ``except`` block, CPython keeps that block's
    exception as the handled one (no handler covers the instruction), and it would become the
    context of each later exception.
    """

    def only() -> Iterator[object]:
        yield run()

    next(only())


def interrupt_at_check(
    number: int, handler: Callable[[], object], run: Callable[[], object]
) -> bool:
    """Call ``handler`` at the n-th place in ``run`` where CPython would run a signal handler.

    These are, in the package's own code: entries of functions, resumptions of generators, ends of
    loop iterations, and returns of callables that are no Python functions. What ``handler`` raises
    is raised at that place, and so by ``run``.

    Returns:
        Whether there was such a place; if ``handler`` raises, there was.
    """
    watch = _Watch(number, handler)
    before = sys.gettrace(), sys.getprofile()
    # CPython 3.12 only traces instructions if a frame requested that before tracing began.
    sys._getframe().f_trace_opcodes = True
    sys.setprofile(watch.on_return)
    sys.settrace(watch.enter)  # type: ignore[arg-type]
    try:
        _run_apart(run)
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return watch.done


class _Watch:
    """A trace function for every instruction of the package's code."""

    def __init__(self, number: int, handler: Callable[[], object]) -> None:
        self.done = False
        self._left = number
        self._handler = handler
        self._entered: FrameType | None = None
        self._calling: FrameType | None = None
        self._called_python = False

    def enter(self, frame: FrameType, _event: str, _arg: object) -> object:
        """Handle the start or resumption of a frame: its caller called a Python function."""
        if frame.f_back is self._calling:
            self._called_python = True
        if self.done or not frame.f_globals["__name__"].startswith("zkconsumer."):
            return None
        # In this order: CPython 3.13 ignores the second one if the first is not set.
        frame.f_trace = self._step
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        # A generator that is closed also enters, but not at RESUME: at an exception handler.
        self._entered = frame if _name_at(frame) == "RESUME" else None
        return self._step

    def on_return(self, frame: FrameType, event: str, _arg: object) -> None:
        """Handle the return of a built-in function, even if it called Python functions."""
        if event == "c_return":
            self._calling = frame
            self._called_python = False

    def _step(self, frame: FrameType, event: str, _arg: object) -> object:
        if event == "opcode" and not self.done:
            name = _name_at(frame)
            has_entered = self._entered is frame
            was_built_in = self._calling is frame and not self._called_python
            if has_entered or was_built_in or name.startswith("JUMP_BACKWARD"):
                self._count_place()
            is_call = name.startswith("CALL") and not name.startswith("CALL_INTRINSIC")
            self._calling = frame if is_call else None
            self._called_python = False
        self._entered = None
        return self._step

    def _count_place(self) -> None:
        if self._left == 0:
            self.done = True
            sys.settrace(None)
            sys.setprofile(None)
            self._handler()
        self._left -= 1


def _name_at(frame: FrameType) -> str:
    return _NAMES[frame.f_code.co_code[frame.f_lasti]]
