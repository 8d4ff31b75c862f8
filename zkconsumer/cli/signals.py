"""Raises Ctrl-C, SIGTERM and SIGHUP as one exception, once, and not within a line of output."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_GRACE_S = 0.2
"""How long a signal waits for the pending line to be written and counted."""


class StopRequested(BaseException):
    """A signal requests the end; not an ``Exception``, so that nothing catches it by mistake."""


class StopSignals:
    """Raises ``StopRequested`` in a signal handler; further signals are ignored.

    Between the writing and the counting of a line nothing may be raised, or the line would be
    printed but not committed. So while a line is pending, a signal waits a little; if the line is
    still pending then, its reader must be blocking the write, which is interrupted.

    Attributes:
        pending: returns a value that identifies the pending line; None: there is none.
        wake: called instead of raising if no line is pending; makes a waiting call return.
    """

    def __init__(self) -> None:
        self.pending: Callable[[], object] = lambda: None
        self.wake: Callable[[], None] | None = None
        self._waited_for: object = None

    def leave(self) -> None:
        """Ignore signals from now on, since the remaining work is limited in time."""
        for number in (*_NUMBERS, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        if self._waited_for is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a stop signal, or the alarm after the wait for a pending line."""
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
    """Raise ``StopRequested`` at the first stop signal within the block. Thread: main only."""
    stop = StopSignals()
    before = {number: signal.getsignal(number) for number in (*_NUMBERS, signal.SIGALRM)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN or number == signal.SIGALRM:
            # A command under nohup keeps ignoring SIGHUP.
            signal.signal(number, stop.handle)
    try:
        yield stop
    finally:
        stop.leave()
        for number, handler in before.items():
            signal.signal(number, handler)
