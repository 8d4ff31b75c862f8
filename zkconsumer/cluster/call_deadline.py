"""The time limit of a call with several tries, and the flag that ends it sooner."""

from zkconsumer.backoff import Backoff
from zkconsumer.clock import Clock
from zkconsumer.cluster.refresh_pace import MOST_RETRY_MS
from zkconsumer.scope import WakeEvent, naps


class StopFlag:
    """A flag that is set once, and ends waits. Thread: any, and signal handlers at any point.

    Attributes:
        is_set: whether waits must end.
    """

    def __init__(self) -> None:
        self.is_set = False
        # Each use of it is a single call, so that a signal handler meets no lock.
        self._waiting: set[WakeEvent] = set()

    def set(self) -> None:
        """End every wait, now and later. Idempotent."""
        self.is_set = True
        for wakeup in self._waiting.copy():
            wakeup.notify()

    def wait(self, duration_ms: int) -> bool:
        """Wait for this duration, or until the flag is set; return whether it is."""
        wakeup = WakeEvent()
        self._waiting.add(wakeup)
        try:
            for piece_ms in naps(duration_ms):
                if self.is_set:
                    return True
                wakeup.wait(piece_ms)
            return self.is_set
        finally:
            self._waiting.discard(wakeup)


class CallDeadline:
    """The time limit of one call. Thread: one.

    Args:
        clock: the clock.
        stop: ends the call at once.
        limit_ms: the limit of all tries together.
        backoff_ms: the pause between the first two tries; it doubles, up to a second (KIP-580).
    """

    def __init__(self, clock: Clock, stop: StopFlag, *, limit_ms: int, backoff_ms: int) -> None:
        self._clock = clock
        self._stop = stop
        self._deadline_ms = clock.now_ms() + limit_ms
        self._backoff = Backoff(backoff_ms, max(backoff_ms, MOST_RETRY_MS))
        self._pauses = 0

    @property
    def left_ms(self) -> int:
        """The time left, ms; 0 when it is over, or after ``stop``."""
        if self._stop.is_set:
            return 0
        return max(0, self._deadline_ms - self._clock.now_ms())

    @property
    def why_over(self) -> str:
        """Why no time is left, for the error of a call that sent no request."""
        if self._stop.is_set:
            return "this client was stopped"
        return "the time was over before a request was sent"

    def pause(self) -> bool:
        """Wait until the next try; return False if there is no time for one, or on ``stop``."""
        pause_ms = self._backoff.delay_ms(self._pauses, 0)
        self._pauses += 1
        if self.left_ms <= pause_ms:
            return False
        return not self._stop.wait(pause_ms)
