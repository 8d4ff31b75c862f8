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
"""The limit for what ends at once, or at a time-out of a second or two, on the busiest machine.

It tells that from a hang, and from the next longer time-out (20 s and more). Durations are only
measured by tests that are marked ``alone``, or with a simulated clock.
"""

log = logging.getLogger(__name__)


def wait_until(probe: Callable[[], T], *, timeout_s: float = 30, what: str) -> T:
    """Call ``probe`` until it returns something true, and return that.

    Calls are up to a quarter of a second apart, so a condition must not hold for a moment only.

    On a time-out the stacks of all threads are logged.

    Raises:
        AssertionError: the time is over; names ``what`` and the last result.
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
        # Probes are a tenth of the cost of tests with servers, so longer waits probe less often.
        pause.wait(min(0.25, 0.04 + waited_s / 10))


def _what_threads_do() -> str:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "".join(
        f"{names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame)[-3:])}"
        for ident, frame in sys._current_frames().items()
    )
