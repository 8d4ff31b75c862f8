"""Waiting for a server: ask until the response is there, up to a deadline."""

import threading
from collections.abc import Callable
from typing import TypeVar

from zkconsumer.clock import SystemClock
from zkconsumer.errors import SandboxError

T = TypeVar("T")

_PAUSE_S = 0.03


def await_result(
    request: Callable[[], T | None],
    *,
    timeout_ms: int,
    complaint: Callable[[], str],
) -> T:
    """Ask until the response is neither None nor False, and return it.

    Args:
        request: one question to a server; it must not block for long.
        timeout_ms: how long to go on asking.
        complaint: the message on time-out.

    Raises:
        SandboxError: with the complaint, when the time is over.
    """
    clock = SystemClock()
    deadline_ms = clock.now_ms() + timeout_ms
    pause = threading.Event()
    while True:
        response = request()
        if response is not None and response is not False:
            return response
        if clock.now_ms() >= deadline_ms:
            raise SandboxError(complaint())
        pause.wait(_PAUSE_S)
