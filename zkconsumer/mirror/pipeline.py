"""Writes batches in a thread of its own, while the next ones are read.

What is put is written in order. What comes while a batch is written makes up the next one, so that
a slow target gets large batches. How much is in hand is bounded; whoever reads waits for room.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from zkconsumer.errors import without_frames
from zkconsumer.mirror.batch import MirrorBatch
from zkconsumer.scope import ThreadScope

log = logging.getLogger(__name__)

MOST_BYTES: Final = 32 << 20
"""Of keys and values in hand, and what one poll gives beyond that."""

_JOIN_MS: Final = 120_000
_NAP_S: Final = 0.5


class WritePipeline:
    """Thread: one puts, another one writes.

    Args:
        write: writes a batch; False where it was given up since everything is to end.
        on_done: told of each batch that was written, or as far as that went; on the writer's
            thread.
        most: how many messages may be in hand.
        most_bytes: how many bytes of them.
    """

    def __init__(
        self,
        write: Callable[[MirrorBatch], bool],
        on_done: Callable[[MirrorBatch], object],
        *,
        most: int,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._write = write
        self._on_done = on_done
        self._most = most
        self._most_bytes = most_bytes
        self._changed = threading.Condition()
        self._waiting: list[MirrorBatch] = []
        self._count = 0
        self._size_bytes = 0
        self._is_ending = False
        self._has_ended = False
        self._error: BaseException | None = None

    @property
    def is_idle(self) -> bool:
        """Whether all that was put is done with, and writing goes on."""
        with self._changed:
            return not self._count and not self._has_ended

    @property
    def room(self) -> int:
        """How many messages may be put now; 0 or less: none."""
        with self._changed:
            return self._most - self._count if self._size_bytes < self._most_bytes else 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write for as long as the context lasts; at its end all that is in hand is written.

        Raises:
            Exception: what writing died of.
        """
        scope = ThreadScope(threading.current_thread().name)
        scope.spawn("writer", self._run, stop=self._end)
        try:
            yield
        finally:
            late = scope.close(_JOIN_MS)
            if late:
                log.error("still writing: %s", ", ".join(late))
        self.check()

    def check(self) -> None:
        """Raise what writing died of, if it did."""
        error = self._error
        if error is not None:
            raise without_frames(error)

    def put(self, batch: MirrorBatch) -> None:
        """Have a batch written behind those that were put before."""
        with self._changed:
            if self._has_ended:
                return
            self._waiting.append(batch)
            self._count += batch.count
            self._size_bytes += batch.size_bytes
            self._changed.notify_all()

    def wait_for_room(self, timeout_ms: int) -> bool:
        """Wait until something may be put; False: not in that time, or writing has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or self.room > 0, timeout_ms / 1000)
            return not self._has_ended and self.room > 0

    def flush(self) -> None:
        """Wait until nothing is in hand, or writing has ended."""
        with self._changed:
            # In naps: a wait without end would swallow a signal.
            while not self._changed.wait_for(lambda: self._has_ended or not self._count, _NAP_S):
                pass

    def _end(self) -> None:
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            while (batch := self._next()) is not None:
                if not self._write_one(batch):
                    break
        except BaseException as error:  # noqa: BLE001 - the thread's top: its owner hears it
            self._error = error
        finally:
            with self._changed:
                self._has_ended = True
                self._waiting.clear()
                self._count = self._size_bytes = 0
                self._changed.notify_all()

    def _next(self) -> MirrorBatch | None:
        """Return all that waits, as one batch; None: it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_ending)
            if not self._waiting:
                return None
            found, self._waiting = self._waiting, []
        batch = found[0]
        for other in found[1:]:
            batch.extend(other)
        return batch

    def _write_one(self, batch: MirrorBatch) -> bool:
        try:
            return self._write(batch)
        finally:
            try:
                self._on_done(batch)
            finally:
                with self._changed:
                    self._count -= batch.count
                    self._size_bytes -= batch.size_bytes
                    self._changed.notify_all()
