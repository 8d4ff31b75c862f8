"""The thread that fetches from one broker: one request in flight, what came before unpacked here.

It asks for whatever may be asked while the caller works with what came before.
"""

from collections.abc import Callable

from zkconsumer.clock import Clock
from zkconsumer.fetch.core.fetch_connection import FetchConnection, Rest
from zkconsumer.scope import Mailbox

_WAKE = "look again"

_IDLE_MS = 60_000
"""A fetcher without anything to ask looks around so often."""


class BrokerFetcher:
    """Thread: its own, but for ``wake`` and ``stop``.

    Args:
        line: does the work.
        clock: for rests.
        retire: asked after a long rest; whether to end, and nobody will wake it any more.

    Attributes:
        line: the same.
    """

    def __init__(self, line: FetchConnection, clock: Clock, retire: Callable[[], bool]) -> None:
        self.line = line
        self._clock = clock
        self._retire = retire
        self._mailbox: Mailbox[str] = Mailbox()
        self._stopping = False

    def wake(self) -> None:
        """Look again for what may be asked. Thread: any."""
        self._mailbox.put(_WAKE)

    def stop(self) -> None:
        """End soon. Thread: any."""
        self._stopping = True
        self.line.stop()
        self._mailbox.put(_WAKE)

    def run(self) -> None:
        """Fetch until ``stop``, or until there is nothing to fetch any more."""
        try:
            while not self._stopping:
                # Before the turn: what comes from here on, the turn may not have seen.
                self._mailbox.drain()
                rest = self.line.turn()
                if not self._rested(rest):
                    return
        finally:
            self.line.close()

    def _rested(self, rest: Rest) -> bool:
        """Wait; False: to end."""
        if rest.duration_ms is None:
            return self._mailbox.get(_IDLE_MS) is not None or not self._retire()
        until_ms = self._clock.now_ms() + rest.duration_ms
        while not self._stopping and (left_ms := until_ms - self._clock.now_ms()) > 0:
            if self._mailbox.get(left_ms) is not None and rest.can_wake:
                break
        return True
