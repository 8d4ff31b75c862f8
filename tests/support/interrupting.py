"""Runs a "signal handler" at a chosen line of what it interrupts: every place can be tried."""

import dis
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

_NAMES: Final = dis.opname


class Interrupted(BaseException):
    """What a signal handler raises, as ``KeyboardInterrupt``, which pytest takes for its own."""


class HandlerRaised(Exception):
    """What a caller's own signal handler raises, and an ``except Exception`` catches."""


def interrupt() -> None:
    """Raise ``Interrupted``: a signal handler."""
    raise Interrupted


def raise_in_handler() -> None:
    """Raise ``HandlerRaised``: a signal handler."""
    raise HandlerRaised


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
        _run_apart(run)
    finally:
        sys.settrace(before)
    return done


def _run_apart(run: Callable[[], object]) -> None:
    """Run it with a state of handled exceptions of its own.

    What a trace function raises at the end of an ``except`` leaves that exception as handled for
    good (CPython's: no handler covers the instruction), and each later one would show it as its
    context.
    """

    def only() -> Iterator[object]:
        yield run()

    next(only())


def interrupt_at_check(
    number: int, handler: Callable[[], object], run: Callable[[], object]
) -> bool:
    """Run ``handler`` at the n-th place in ``run`` at which CPython would run a signal handler.

    These are the entries of functions, the resumptions of generators, the ends of loops' rounds and
    the returns of whatever is called that is not a function of Python: in the package's own code.
    What ``handler`` raises comes out of that place, and so of ``run``.

    Returns:
        Whether there was such a place; where ``handler`` raises, that is to be told by that.
    """
    watch = _Watch(number, handler)
    before = sys.gettrace(), sys.getprofile()
    # CPython 3.12 tells of instructions only if some frame wanted that before tracing began.
    sys._getframe().f_trace_opcodes = True
    sys.setprofile(watch.hear_return)
    sys.settrace(watch.enter)  # type: ignore[arg-type]
    try:
        _run_apart(run)
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return watch.done


class _Watch:
    """Sees every instruction of the package's code."""

    def __init__(self, number: int, handler: Callable[[], object]) -> None:
        self.done = False
        self._left = number
        self._handler = handler
        self._entered: FrameType | None = None
        self._calling: FrameType | None = None
        self._called_python = False

    def enter(self, frame: FrameType, _event: str, _arg: object) -> object:
        """A frame begins, or goes on: what its caller called is a function of Python."""
        if frame.f_back is self._calling:
            self._called_python = True
        if self.done or not frame.f_globals["__name__"].startswith("zkconsumer."):
            return None
        # In this order: CPython 3.13 takes the second only where it finds the first.
        frame.f_trace = self._step
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        # A generator that is closed enters, too, but at its handler of exceptions if anywhere.
        self._entered = frame if _name_at(frame) == "RESUME" else None
        return self._step

    def hear_return(self, frame: FrameType, event: str, _arg: object) -> None:
        """A built-in function returned, whatever it called meanwhile."""
        if event == "c_return":
            self._calling = frame
            self._called_python = False

    def _step(self, frame: FrameType, event: str, _arg: object) -> object:
        if event == "opcode" and not self.done:
            name = _name_at(frame)
            has_entered = self._entered is frame
            was_built_in = self._calling is frame and not self._called_python
            if has_entered or was_built_in or name.startswith("JUMP_BACKWARD"):
                self._meet()
            is_call = name.startswith("CALL") and not name.startswith("CALL_INTRINSIC")
            self._calling = frame if is_call else None
            self._called_python = False
        self._entered = None
        return self._step

    def _meet(self) -> None:
        if self._left == 0:
            self.done = True
            sys.settrace(None)
            sys.setprofile(None)
            self._handler()
        self._left -= 1


def _name_at(frame: FrameType) -> str:
    return _NAMES[frame.f_code.co_code[frame.f_lasti]]
