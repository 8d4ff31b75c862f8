"""Wakes the caller's thread in a poll: for events of other threads, and for ``wakeup()``.

Source: Kafka ``ConsumerNetworkClient.wakeup``.
"""

from zkconsumer.errors import Woken
from zkconsumer.scope import WakeEvent, naps


class Wakeup:
    """The wake-up of one caller. Signalling takes no lock, so a signal handler may do it, too."""

    __slots__ = ("_signalled", "_wakeup", "_woken")

    def __init__(self) -> None:
        self._wakeup = WakeEvent()
        self._signalled = False
        self._woken = False

    def signal(self) -> None:
        """Wake the caller: there may be something to do. Thread: any."""
        if not self._signalled:
            self._signalled = True
            self._wakeup.notify()

    def wake(self) -> None:
        """End the wait under way, or the next one, with ``Woken``. Thread: any."""
        self._woken = True
        self._wakeup.notify()

    def check(self) -> None:
        """Check that ``wake`` was not called.

        Raises:
            Woken: it was called; each call raises once.
        """
        if self._woken:
            self._woken = False
            raise Woken("wakeup() was called")

    def wait(self, timeout_ms: int) -> None:
        """Wait until the time-out, or for a signal; one since the last wait counts, too."""
        for piece_ms in naps(timeout_ms):
            self._wakeup.wait(piece_ms)
            if self._signalled or self._woken:
                break
        self._wakeup.clear()
        # Last: a later signal counts for the next wait, an earlier one is seen by the caller now.
        self._signalled = False
