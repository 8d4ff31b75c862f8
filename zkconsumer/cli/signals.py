"""Ctrl-C, SIGTERM and SIGHUP as one exception, once, and not between a line and its account."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_GRACE_S = 0.2
"""How long a line that is being written may take to be written and counted, once we shall stop."""


class StopRequested(BaseException):
    """A signal asked us to end: not an ``Exception``, so that nothing on its way swallows it."""


class StopSignals:
    """Raises ``StopRequested`` out of a signal handler; more signals are ignored: we are leaving.

    A line that has left the process and is not counted yet must not be interrupted there: it would
    be printed and not committed. So while something is in hand, stopping waits a little for it;
    what is still in hand after that is a write that nobody reads, and is interrupted.

    Attributes:
        pending: tells what must not be interrupted, by a value of its own; None for nothing.
        wake: called in place of the raise where nothing is in hand, if there is one: it makes
            what waits there end by itself.
    """

    def __init__(self) -> None:
        self.pending: Callable[[], object] = lambda: None
        self.wake: Callable[[], None] | None = None
        self._waited_for: object = None

    def leave(self) -> None:
        """From now on nothing interrupts: what follows is the way out, and bounded in time."""
        for number in (*_NUMBERS, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        if self._waited_for is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        """The handler of the stop signals, and of the alarm that ends the grace."""
        for number in _NUMBERS:
            signal.signal(number, signal.SIG_IGN)
        held = self.pending()
        if held is None and self.wake is not None:
            self.wake()
            return
        if held is None or held == self._waited_for:
            raise StopRequested
        self._waited_for = held
        signal.setitimer(signal.ITIMER_REAL, _GRACE_S)


_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stop_signals() -> Iterator[StopSignals]:
    """Raise ``StopRequested`` at the first of these signals. Thread: main only."""
    stop = StopSignals()
    before = {number: signal.getsignal(number) for number in (*_NUMBERS, signal.SIGALRM)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN or number == signal.SIGALRM:
            # What was started with nohup stays deaf to hang-ups.
            signal.signal(number, stop.handle)
    try:
        yield stop
    finally:
        stop.leave()
        for number, handler in before.items():
            signal.signal(number, handler)
