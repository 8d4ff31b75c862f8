"""A flag that ends waits: other threads can cut pauses between tries short."""

from zkconsumer.scope import WakeEvent, naps


class StopFlag:
    """Set once. Thread: any, and signal handlers at any point."""

    def __init__(self) -> None:
        self._set = False
        # Each use of it is a single call, so that a signal handler meets no lock.
        self._waiting: set[WakeEvent] = set()

    @property
    def is_set(self) -> bool:
        """Whether waits must end."""
        return self._set

    def set(self) -> None:
        """End every wait, now and later. Idempotent."""
        self._set = True
        for wakeup in self._waiting.copy():
            wakeup.notify()

    def wait(self, duration_ms: int) -> bool:
        """Wait for this duration, or until the flag is set; return whether it is."""
        wakeup = WakeEvent()
        self._waiting.add(wakeup)
        try:
            for piece_ms in naps(duration_ms):
                if self._set:
                    return True
                wakeup.wait(piece_ms)
            return self._set
        finally:
            self._waiting.discard(wakeup)
