"""What wakes the caller's thread out of a poll: news of other threads, and ``wakeup()``.

Source: Kafka ``ConsumerNetworkClient.wakeup``.
"""

from zkconsumer.errors import Woken
from zkconsumer.scope import Mailbox, naps


class Wakeup:
    """One bell for one caller. Ringing takes no lock, so a signal handler may, too."""

    __slots__ = ("_mailbox", "_rung", "_woken")

    def __init__(self) -> None:
        self._mailbox: Mailbox[None] = Mailbox()
        self._rung = False
        self._woken = False

    def signal(self) -> None:
        """There may be something to do. Thread: any."""
        if not self._rung:
            self._rung = True
            self._mailbox.put(None)

    def signal_always(self) -> None:
        """The same, for a signal handler that interrupted a wait and took longer than that had.

        CPython up to 3.12 (``SimpleQueue.get``) goes on waiting without an end then, but for an
        item: there must be one, whatever was rung and taken before.
        """
        self._rung = True
        self._mailbox.put(None)

    def wake(self) -> None:
        """End the wait under way, or the next one, with ``Woken``. Thread: any."""
        self._woken = True
        self._mailbox.put(None)

    def check(self) -> None:
        """Go on where nobody called ``wake``.

        Raises:
            Woken: somebody did; each call is heard once.
        """
        if self._woken:
            self._woken = False
            raise Woken("wakeup() was called")

    def wait(self, timeout_ms: int) -> None:
        """Until it rings, or did since the last wait; at most so long. Look around afterwards."""
        for nap_ms in naps(timeout_ms):
            self._mailbox.get(nap_ms)
            if self._rung or self._woken:
                break
        self._mailbox.drain()
        # Last: a ring from here on counts for the next wait, one before it is seen by who looks.
        self._rung = False
