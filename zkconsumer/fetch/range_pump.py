"""Fetch a range in C, in a thread of its own, while its reader's caller processes records."""

import logging
import os
from typing import Final

from zkconsumer.errors import ConsumerForked, ZkConsumerError, without_frames
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
        is_running: whether a run has begun whose end ``take_end`` has not returned.
    """

    def __init__(
        self, line: FetchConnection, pumped: PumpedConnection, wakeup: WakeEvent, name: str
    ) -> None:
        self.is_running = False
        self._line = line
        self._pumped = pumped
        self._wakeup = wakeup
        self._scope = ThreadScope(name)
        self._process_id = os.getpid()
        self._has_ended = self._is_closed = self._has_no_thread = False
        self._death: BaseException | None = None

    def start(self) -> bool:
        """Begin a run if the partition is far behind; return whether one has begun."""
        if self._has_no_thread:
            return False
        self._pumped.clear_call()  # a call for a former run's hedged request must not end this one
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
        """Wait for a chunk, or for the end of the run; return now and then without either.

        Raises:
            ConsumerForked: this is a forked child, which has no such thread.
        """
        if os.getpid() != self._process_id:
            raise ConsumerForked(
                f"{self._scope.name}: its parent process reads it; start a reading in the child"
            )
        self._wakeup.wait(NAP_MS)

    def take_end(self) -> bool:
        """Return whether the run is over; once True, the connection is the reader's.

        Raises:
            ZkConsumerError: the thread died of an error of this program, or without memory.
        """
        if not self._has_ended:
            return False
        self.is_running = False
        if self._death is not None:
            raise ZkConsumerError(
                f"{self._scope.name}: the fetching thread died: {self._death!r}; read it again"
            ) from self._death
        return True

    def stop(self) -> None:
        """End the run at once; its connection can't be used again. Thread: any."""
        self._line.stop()
        self._pumped.stop()

    def close(self, *, is_done: bool) -> None:
        """End the run, and free the pump; in a forked child, leave both to the parent.

        Args:
            is_done: whether the range has been read: then the run ends by itself, and its
                connection can be used again.
        """
        if os.getpid() != self._process_id:
            return
        self._is_closed = True
        try:
            if self.is_running and not self._has_ended and not (is_done and self._ends_soon()):
                self.stop()
            if not self._scope.close(_STOP_MS):
                self._pumped.close()
        except BaseException:
            self.stop()  # a signal handler raised: no thread may wait for its reader for ever
            raise

    def _ends_soon(self) -> bool:
        """Wait a little for the end of a run; return whether it came."""
        while not self._has_ended and self._wakeup.wait(NAP_MS):
            pass
        return self._has_ended

    def _run(self, delegation: BrokerDelegation) -> None:
        try:
            self._pumped.run(delegation)
        except BaseException as error:
            self._death = without_frames(error)
            self._line.stop()  # a response may be outstanding
            raise
        finally:
            # Before the end is seen: after that the pump may be in another run.
            if self._is_closed:
                self._pumped.close()
            self._has_ended = True
            self._wakeup.notify()
