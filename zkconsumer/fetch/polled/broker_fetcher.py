"""The thread that fetches from one broker, with one request in flight while it unpacks.

It sends requests while the caller processes the records of earlier responses.
"""

from collections.abc import Callable

from zkconsumer.clock import Clock
from zkconsumer.fetch.core.fetch_connection import NO_WAIT, FetchConnection, Wait
from zkconsumer.fetch.core.pumped_connection import PumpedConnection
from zkconsumer.scope import WakeEvent

_IDLE_MS = 60_000
"""Maximum wait of a fetcher that has nothing to request, ms."""


class BrokerFetcher:
    """Fetch from one broker. Thread: its own, but for ``wake`` and ``stop``.

    Args:
        line: sends requests and receives responses.
        clock: for the waits between turns.
        retire: called after a long wait; returns whether to end: after True no wakeup comes.
        pump: fetches partitions that are far behind; None: there is none.
    """

    def __init__(
        self,
        line: FetchConnection,
        clock: Clock,
        retire: Callable[[], bool],
        pump: PumpedConnection | None = None,
    ) -> None:
        self.line = line
        self._pump = pump
        self._clock = clock
        self._retire = retire
        self._wakeup = WakeEvent()
        self._stopping = False

    def wake(self) -> None:
        """Check again for partitions to fetch. Thread: any."""
        self._wakeup.notify()
        if self._pump is not None:
            self._pump.call()

    def stop(self) -> None:
        """End soon. Thread: any."""
        self._stopping = True
        self.line.stop()
        if self._pump is not None:
            self._pump.stop()
        self._wakeup.notify()

    def run(self) -> None:
        """Fetch until ``stop``, or until no partition is left."""
        try:
            while not self._stopping:
                # Before the turn: wakeups from here on may be about news that the turn misses.
                self._wakeup.clear()
                if not self._waited(self.turn()):
                    return
        finally:
            self.line.close()
            if self._pump is not None:
                self._pump.close()

    def turn(self) -> Wait:
        """Fetch once, or for as long as partitions are far behind; return how long to wait."""
        if self._pump is not None:
            self._pump.clear_call()
            if self._pump.turn():
                return NO_WAIT
        return self.line.turn()

    def _waited(self, wait: Wait) -> bool:
        """Wait for the next turn; return False to end."""
        if wait.duration_ms is None:
            return self._wakeup.wait(_IDLE_MS) or not self._retire()
        until_ms = self._clock.now_ms() + wait.duration_ms
        while not self._stopping and (left_ms := until_ms - self._clock.now_ms()) > 0:
            if self._wakeup.wait(left_ms) and wait.can_wake:
                break
        return True
