"""Records the history, in one thread with one connection.

It never delays the reader of the cluster: if states arrive faster than they can be written, only
the latest is. Errors are shown as the ``problem``; the recorder survives them.
"""

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.scope import ThreadScope, WakeEvent
from zkconsumer.status.timeline import Rebalance
from zkconsumer.web.history.database import (
    identity_of,
    is_damage,
    open_for_writing,
    set_aside,
    size_of,
)
from zkconsumer.web.history.upkeep import UPKEEP_MS, Retention, maintain
from zkconsumer.web.history.writing import RebalanceId, SampleWriter
from zkconsumer.web.state import ClusterState

log = logging.getLogger(__name__)

SAMPLE_MS: Final = 4_000
"""A little less than the interval between two reads."""
_PART_OF_TIME: Final = 5
"""The pause after each write, as a multiple of the time that the write took."""
_REBALANCES_WAITING: Final = 10_000
_CLOSE_MS: Final = 5_000


class Recorder:
    """Writes states to the history. Thread: any.

    Args:
        path: the file, also an attribute; call ``database.check_file`` first.
        retention: how much to keep, and for how long; None: the defaults.
        sample_ms: the minimum interval between two samples of a group.
        clock: for intervals and time stamps.
    """

    def __init__(
        self,
        path: Path,
        retention: Retention | None = None,
        *,
        sample_ms: int = SAMPLE_MS,
        clock: Clock | None = None,
    ) -> None:
        self.path = self._opened = path
        self._retention = retention or Retention()
        self._clock = clock or SystemClock()
        self._scope = ThreadScope("history", clock=self._clock)
        self._wakeup = WakeEvent()
        self._lock = threading.Lock()
        self._state: ClusterState | None = None
        self._rebalances: dict[RebalanceId, Rebalance] = {}
        self._stop = threading.Event()
        self._problem: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._upkeep_at_ms = self._clock.now_ms()
        self._writer = SampleWriter(sample_ms)

    @property
    def problem(self) -> str | None:
        """Why nothing is recorded now; None if all is well."""
        return self._problem

    def start(self) -> None:
        """Start the thread; afterwards the file can be read."""
        with contextlib.suppress(sqlite3.Error):  # the thread meets the error again, and reports it
            open_for_writing(self.path).close()
        self._scope.spawn("recorder", self._run, stop=self._request_stop, on_error=self._died)

    def take(self, state: ClusterState, rebalances: tuple[Rebalance, ...]) -> None:
        """Queue a new state and its rebalances to be recorded. Never waits for the file."""
        with self._lock:
            self._state = state
            for rebalance in rebalances:
                self._rebalances[rebalance.key, rebalance.began_ms] = rebalance
            while len(self._rebalances) > _REBALANCES_WAITING:
                del self._rebalances[next(iter(self._rebalances))]
        self._wakeup.notify()

    def move(self, path: Path) -> None:
        """Continue in another file, without copying what was recorded before."""
        self.path = path

    def close(self, timeout_ms: int = _CLOSE_MS) -> list[str]:
        """Write the last state, and stop; return the threads that still run. Idempotent."""
        return self._scope.close(timeout_ms)

    def _run(self) -> None:
        try:
            while True:
                stopping = self._stop.is_set()
                began_ms = self._clock.now_ms()
                self._attempt(self._write)
                if stopping:
                    return
                if self._clock.now_ms() >= self._upkeep_at_ms:
                    self._upkeep_at_ms = self._clock.now_ms() + UPKEEP_MS
                    self._attempt(self._maintain)
                self._rest(self._clock.now_ms() - began_ms)
        finally:
            self._disconnect()

    def _rest(self, took_ms: int) -> None:
        end_ms = self._clock.now_ms() + _PART_OF_TIME * took_ms
        self._wakeup.wait()
        while not self._stop.is_set() and (left_ms := end_ms - self._clock.now_ms()) > 0:
            self._wakeup.wait(left_ms)
        self._wakeup.clear()

    def _attempt(self, work: Callable[[sqlite3.Connection], None]) -> None:
        try:
            work(self._connected())
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
        else:
            if self._problem is not None:
                log.warning("the history is written again")
            self._problem = None

    def _connected(self) -> sqlite3.Connection:
        if self._opened != self.path:
            self._disconnect()
            self._opened = self.path
        if self._connection is not None and self._file != identity_of(self.path):
            log.warning("the history %s was removed or replaced: opening it again", self.path)
            self._disconnect()
        if self._connection is None:
            self._file = identity_of(self.path)
            self._connection = open_for_writing(self.path)
            self._file = self._file or identity_of(self.path)
            self._writer.forget()
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except sqlite3.Error as error:
                log.warning("the history could not be closed: %s", error)

    def _fail(self, error: Exception) -> None:
        # Use a new connection next time, which has no open transaction, and opens a repaired file.
        self._disconnect()
        if isinstance(error, sqlite3.Error) and is_damage(error) and self._set_aside(error):
            return
        text = f"the history {self.path} can't be written: {error}"
        if text != self._problem:
            log.warning("%s", text)
        self._problem = text

    def _set_aside(self, error: sqlite3.Error) -> bool:
        """Rename the damaged file; return whether a new one can take its place."""
        try:
            if self._file != identity_of(self.path):  # another program has replaced it
                self._wakeup.notify()
                return True
            aside = set_aside(self.path, self._clock.wall_ms())
        except OSError as failed:
            log.warning("the damaged history can't be renamed: %s", failed)
            return False
        log.warning(
            "the history %s is unusable (%s): renamed it to %s, and started a new one",
            self.path,
            error,
            aside,
        )
        self._wakeup.notify()
        return True

    def _write(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            state, rebalances = self._state, dict(self._rebalances)
        if state is None:
            return
        self._writer.write(connection, state, rebalances)
        if size_of(connection) > self._retention.max_bytes:
            self._upkeep_at_ms = self._clock.now_ms()
        with self._lock:
            for place, rebalance in rebalances.items():
                if self._rebalances.get(place) is rebalance:
                    del self._rebalances[place]

    def _maintain(self, connection: sqlite3.Connection) -> None:
        maintain(connection, self._retention, self._clock.wall_ms())

    def _request_stop(self) -> None:
        self._stop.set()
        self._wakeup.notify()

    def _died(self, error: BaseException) -> None:
        self._problem = f"the history is no longer written: {type(error).__name__}: {error}"
