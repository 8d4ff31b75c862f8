"""Stops a drain through a flag, which signals may set."""

import signal
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import FrameType

from zkconsumer.scope import WakeEvent, naps

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class DrainStopFlag:
    """A flag that requests a stop. See ``StopRequest``. Thread: any, and any signal handler."""

    def __init__(self) -> None:
        self._is_requested = False
        self._wakeup = WakeEvent()

    def request(self) -> None:
        """Request that the drain stop before the next batch."""
        self._is_requested = True
        self._wakeup.notify()

    def requested(self) -> bool:
        """See ``StopRequest``."""
        return self._is_requested

    def wait(self, timeout_ms: int) -> None:
        """See ``StopRequest``."""
        for nap_ms in naps(timeout_ms):
            if self._is_requested:
                return
            self._wakeup.wait(nap_ms)


def ignored_signals() -> frozenset[signal.Signals]:
    """Return the stop signals that this process ignores, as set by its parent.

    A shell without job control ignores SIGINT in its background processes.
    """
    return frozenset(number for number in _NUMBERS if signal.getsignal(number) is signal.SIG_IGN)


@contextmanager
def stop_signals(stop: DrainStopFlag, ignored: Collection[signal.Signals]) -> Iterator[None]:
    """Stop the drain after its batch at the first Ctrl-C or SIGTERM, and at once at the second.

    Enter the context after Spark has started, since Spark handles Ctrl-C itself. Thread: main only.

    Args:
        stop: receives the request.
        ignored: the result of ``ignored_signals`` before the start of Spark; these stay ignored.
    """

    def request(_number: int, _frame: FrameType | None) -> None:
        if stop.requested():
            raise KeyboardInterrupt
        stop.request()
        sys.stderr.write("stopping after this batch; repeat to stop at once\n")

    before = {
        number: signal.signal(number, signal.SIG_IGN if number in ignored else request)
        for number in _NUMBERS
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
