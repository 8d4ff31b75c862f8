"""The caller's thread, as a member's threads see it: how to wake it, and which error to raise."""

from collections.abc import Callable
from threading import RLock

from zkconsumer.clock import Clock
from zkconsumer.errors import GroupFailed, ZkConsumerError, without_frames
from zkconsumer.scope import WakeEvent

_MAX_SLEEP_MS = 500
"""Longest single sleep of the caller's thread: signal handlers run in between."""


class Caller:
    """Wakes the caller, holds the error that ``poll`` raises, and waits for results.

    A wait ends at its deadline, when the member is closed, or when one of its threads has died.

    Args:
        wake: wakes the caller in ``poll``. Thread: any.

    Attributes:
        responses: wakes the caller while it waits for a commit, or to leave.
        quiet_until_ms: until when the core need not be notified of polls, unless something happens.
        closing_by_ms: the deadline of a close in progress, which limits all others; None: none.
        is_closed: whether the member was closed.
        failure: the error that ``poll`` has to raise; None: none.
        death: set when a thread of the member died, which is a bug; every ``poll`` reports it.
    """

    def __init__(self, clock: Clock, wake: Callable[[], None]) -> None:
        self.wake = wake
        self.responses = WakeEvent()
        self.quiet_until_ms = 0
        self.closing_by_ms: int | None = None
        self.is_closed = False
        self.failure: ZkConsumerError | None = None
        self.death: GroupFailed | None = None
        self._clock = clock
        self._lock = RLock()

    def fail(self, error: ZkConsumerError, *, replaces: bool = False) -> None:
        """Make ``poll`` raise an error; a pending error stays unless ``replaces``."""
        with self._lock:
            if replaces or self.failure is None:
                self.failure = without_frames(error)
        self.wake()

    def take_failure(self) -> ZkConsumerError | None:
        """Return the error that ``poll`` has to raise; a final error stays pending."""
        if self.death is not None:
            return self.death
        if self.failure is None:
            return None
        with self._lock:
            failure = self.failure
            if not (isinstance(failure, GroupFailed) and failure.final):
                self.failure = None
            return failure

    def deadline(self, timeout_ms: int) -> int:
        """Return the deadline of a call that may take ``timeout_ms``."""
        deadline_ms = self._clock.now_ms() + timeout_ms
        return deadline_ms if self.closing_by_ms is None else min(deadline_ms, self.closing_by_ms)

    def wait(
        self, done: Callable[[], bool], deadline_ms: int, received: WakeEvent | None = None
    ) -> None:
        """Wait for a result; return without it if it can no longer come.

        Args:
            done: returns whether the result has come.
            deadline_ms: when to give up.
            received: wakes this wait; None: ``responses``, which wakes the caller's thread.
        """
        received = self.responses if received is None else received
        while not done():
            left_ms = deadline_ms - self._clock.now_ms()
            if left_ms <= 0 or self.death is not None or self.is_closed:
                return
            received.wait(min(left_ms, _MAX_SLEEP_MS))
