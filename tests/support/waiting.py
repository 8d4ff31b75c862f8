"""The only way tests wait: for a condition, up to a deadline."""

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

PROMPT_MS: Final = 15_000
"""What ends at once, or at a time-out of a second or two, has ended by then on the busiest machine.

A bound tells that from a hang, or from the next longer time-out (20 s and more). How long something
takes is measured by what is marked ``alone``, or on a clock of the test's own.
"""

log = logging.getLogger(__name__)


def wait_until(probe: Callable[[], T], *, timeout_s: float = 30, what: str) -> T:
    """Ask ``probe`` until it gives something true, and return that.

    It is asked up to a quarter of a second apart: what passes sooner is to leave a trace.

    Where it never does, what all threads were at is in the log of the failed test.

    Raises:
        AssertionError: naming ``what`` and the last answer, when the time is over.
    """
    began = time.perf_counter()
    pause = threading.Event()
    while True:
        response = probe()
        if response:
            return response
        waited_s = time.perf_counter() - began
        if waited_s > timeout_s:
            log.warning("gave up waiting for %s\n%s", what, _what_threads_do())
            raise AssertionError(f"waited {timeout_s} s for {what}; last answer: {response!r}")
        # Questions are a tenth of what tests on servers cost: who waits longer asks less often.
        pause.wait(min(0.25, 0.04 + waited_s / 10))


def _what_threads_do() -> str:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "".join(
        f"{names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame)[-3:])}"
        for ident, frame in sys._current_frames().items()
    )
