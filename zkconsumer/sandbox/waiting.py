"""Waits for a server: repeats a request until it succeeds, up to a deadline."""

import threading
from collections.abc import Callable
from typing import TypeVar

from zkconsumer.clock import SystemClock
from zkconsumer.errors import SandboxError

T = TypeVar("T")

_SHORTEST_S, _LONGEST_S = 0.03, 0.15
_SHARE = 0.05
"""A pause grows by this share of the time waited so far: requests slow a starting server down."""


def await_result(
    request: Callable[[], T | None],
    *,
    timeout_ms: int,
    complaint: Callable[[], str],
) -> T:
    """Repeat a request until the response is neither None nor False; return it.

    Args:
        request: sends one request to a server; must not block for long.
        timeout_ms: the time limit.
        complaint: the message on time-out.

    Raises:
        SandboxError: the time ran out; the message is the complaint.
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
