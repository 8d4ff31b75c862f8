"""Wakes a waiting poll: for events of other threads, and for ``wakeup()``.

Source: Kafka ``ConsumerNetworkClient.wakeup``.
"""

from zkconsumer.errors import Woken
from zkconsumer.scope import WakeEvent, naps


class Wakeup:
    """Wakes the caller's thread. It takes no lock, so signal handlers may use it, too."""

    __slots__ = ("_signalled", "_wakeup", "_woken")

    def __init__(self) -> None:
        self._wakeup = WakeEvent()
        self._signalled = False
        self._woken = False

    def signal(self) -> None:
        """Wake the caller, since there may be something to do. Thread: any."""
        if not self._signalled:
            self._signalled = True
            self._wakeup.notify()

    def wake(self) -> None:
        """Make the poll under way, or the next one, raise ``Woken``. Thread: any."""
        self._woken = True
        self._wakeup.notify()

    def check(self) -> None:
        """Check that ``wake`` was not called since the last check.

        Raises:
            Woken: it was called, once or more.
        """
        if self._woken:
            self._woken = False
            raise Woken("wakeup() was called")

    def wait(self, timeout_ms: int) -> None:
        """Wait for a signal, or until the time-out; a signal since the last wait counts, too."""
        for piece_ms in naps(timeout_ms):
            self._wakeup.wait(piece_ms)
            if self._signalled or self._woken:
                break
        self._wakeup.clear()
        # Last: a later signal ends the next wait; the caller handles an earlier one now.
        self._signalled = False
