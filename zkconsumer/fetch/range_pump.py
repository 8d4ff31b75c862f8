"""Fetch a range in C, in a thread of its own, while its reader's caller processes records."""

import logging
from typing import Final

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.core.broker_delegation import BrokerDelegation
from zkconsumer.fetch.core.fetch_connection import FetchConnection
from zkconsumer.fetch.core.pumped_connection import PumpedConnection
from zkconsumer.scope import NAP_MS, ThreadScope, WakeEvent

log = logging.getLogger(__name__)

_STOP_MS: Final = 2_000
"""Maximum wait for the end of the thread, ms; only one that just connects can take longer."""


class RangePump:
    """Run the pump of a range's connection. Thread: its reader's; each run has another one.

    While a run lasts, the connection is the thread's; the reader takes chunks, and nothing else.

    Args:
        line: the connection.
        pumped: its pump.
        wakeup: notified of chunks that the reader waits for, and of the end of a run.
        name: the name of the thread.

    Attributes:
        is_running: whether a run has begun, and the reader has not called ``joined`` after it.
    """

    def __init__(
        self, line: FetchConnection, pumped: PumpedConnection, wakeup: WakeEvent, name: str
    ) -> None:
        self.is_running = False
        self._line = line
        self._pumped = pumped
        self._wakeup = wakeup
        self._scope = ThreadScope(name)
        self._has_ended = self._is_closed = self._has_no_thread = False

    def start(self) -> bool:
        """Begin a run if the partition is far behind; return whether one has begun."""
        if self._has_no_thread:
            return False
        self._pumped.clear_call()  # a hedged request calls the run that it belongs to
        delegation = self._pumped.begin()
        if delegation is None:
            return False
        self.is_running, self._has_ended = True, False
        try:
            self._scope.spawn("pump", lambda: self._run(delegation), stop=self._pumped.stop)
        except RuntimeError as error:
            log.info("%s: fetching without a pump: %s", self._scope.name, error)
            self._has_no_thread = True
            self.is_running = False
            self._pumped.give_back(delegation)
        return self.is_running

    def wait(self) -> None:
        """Wait for a chunk, or for the end of the run; return now and then without either."""
        self._wakeup.wait(NAP_MS)

    def joined(self) -> bool:
        """Return whether the run is over; then the connection is the reader's.

        Raises:
            ZkConsumerError: the thread died of an error of this program.
        """
        if not self._has_ended:
            return False
        self.is_running = False
        death = self._scope.first_error()
        if death is not None:
            raise ZkConsumerError(f"the fetching thread died: {death!r}") from death
        return True

    def close(self, *, is_done: bool) -> None:
        """End the run, and free the pump.

        Args:
            is_done: whether the range has been read: then the run ends by itself, and its
                connection can be used again.
        """
        self._is_closed = True
        if self.is_running and not self._has_ended and not (is_done and self._ends_soon()):
            self._line.stop()
        if not self._scope.close(_STOP_MS):
            self._pumped.close()

    def _ends_soon(self) -> bool:
        """Wait a little for the end of a run; return whether it came."""
        while not self._has_ended and self._wakeup.wait(NAP_MS):
            pass
        return self._has_ended

    def _run(self, delegation: BrokerDelegation) -> None:
        try:
            self._pumped.run(delegation)
        finally:
            self._has_ended = True
            self._wakeup.notify()
            if self._is_closed:
                self._pumped.close()
