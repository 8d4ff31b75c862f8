"""Ctrl-C, SIGTERM and SIGHUP as one exception, once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopAsked(BaseException):
    """A signal asked us to end: not an ``Exception``, so that nothing on its way swallows it."""


@contextmanager
def stop_signals() -> Iterator[None]:
    """Raise ``StopAsked`` at the first of these signals; ignore more of them: we are leaving.

    Thread: main only.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def stop(_number: int, _frame: FrameType | None) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise StopAsked

    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:
            # What was started with nohup stays deaf to hang-ups.
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
