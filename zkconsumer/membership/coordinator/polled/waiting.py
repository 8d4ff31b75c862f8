"""How calls of the caller's thread wait for the member's threads."""

from collections.abc import Callable

from zkconsumer.clock import Clock
from zkconsumer.errors import GroupFailed
from zkconsumer.scope import WakeEvent

_MAX_SLEEP_MS = 500
"""Longest sleep of the caller's thread in one piece: signal handlers run in between."""


class CallerWaits:
    """Waits for results, until their time is over, a close ends, or a thread has died.

    Attributes:
        closing_by_ms: the deadline of a close under way, which bounds all others; None: none.
        is_closed: whether the member was closed.
        death: set when a thread of the member died, which is a bug; every ``poll`` reports it.
    """

    def __init__(self, clock: Clock, responses: WakeEvent) -> None:
        self._clock = clock
        self._responses = responses
        self.closing_by_ms: int | None = None
        self.is_closed = False
        self.death: GroupFailed | None = None

    def deadline(self, timeout_ms: int) -> int:
        """Return the deadline of a call that may take ``timeout_ms``."""
        deadline_ms = self._clock.now_ms() + timeout_ms
        return deadline_ms if self.closing_by_ms is None else min(deadline_ms, self.closing_by_ms)

    def wait(
        self, done: Callable[[], bool], deadline_ms: int, received: WakeEvent | None = None
    ) -> None:
        """Wait for a result; return without it where it can't come any more.

        Args:
            done: returns whether it is there.
            deadline_ms: when to give up.
            received: wakes this wait; None: the responses that wake the caller's thread.
        """
        received = self._responses if received is None else received
        while not done():
            left_ms = deadline_ms - self._clock.now_ms()
            if left_ms <= 0 or self.death is not None or self.is_closed:
                return
            received.wait(min(left_ms, _MAX_SLEEP_MS))
