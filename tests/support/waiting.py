"""The only way tests wait: for a condition, up to a deadline."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(probe: Callable[[], T], *, timeout_s: float = 30, what: str) -> T:
    """Ask ``probe`` until it gives something true, and return that.

    Raises:
        AssertionError: naming ``what`` and the last answer, when the time is over.
    """
    deadline = time.perf_counter() + timeout_s
    pause = threading.Event()
    while True:
        answer = probe()
        if answer:
            return answer
        if time.perf_counter() > deadline:
            raise AssertionError(f"waited {timeout_s} s for {what}; last answer: {answer!r}")
        pause.wait(0.05)
