"""Waiting for a server: ask until the response is there, up to a deadline."""

import threading
from collections.abc import Callable
from typing import TypeVar

from zkconsumer.clock import SystemClock
from zkconsumer.errors import SandboxError

T = TypeVar("T")

_SHORTEST_S, _LONGEST_S = 0.03, 0.15
_SHARE = 0.05
"""Of the time waited so far, that a pause may take: each question costs a starting server, too."""


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
    began_ms = clock.now_ms()
    pause = threading.Event()
    while True:
        response = request()
        if response is not None and response is not False:
            return response
        waited_ms = clock.now_ms() - began_ms
        if waited_ms >= timeout_ms:
            raise SandboxError(complaint())
        pause.wait(min(_LONGEST_S, _SHORTEST_S + waited_ms / 1_000 * _SHARE))
