"""Writes batches on a separate thread while the next batches are read.

Batches are written in order. Batches put during a write are merged into the next one, so that a
slow target gets large batches. The amount pending is limited; the reader waits for capacity.
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

MAX_PENDING_BYTES: Final = 32 << 20
"""The limit of pending keys and values in bytes; one poll may exceed it."""

_JOIN_MS: Final = 120_000
_NAP_S: Final = 0.5


class WritePipeline:
    """A bounded queue of batches and its writer. Thread: one puts batches, another writes them.

    Args:
        write: writes a batch; returns False if it was abandoned at the end.
        on_done: called after each batch, also after a partial write, on the writer's thread.
        most: the maximum number of messages pending.
        max_bytes: the maximum size of their keys and values in bytes.
    """

    def __init__(
        self,
        write: Callable[[MirrorBatch], bool],
        on_done: Callable[[MirrorBatch], object],
        *,
        most: int,
        max_bytes: int = MAX_PENDING_BYTES,
    ) -> None:
        self._write = write
        self._on_done = on_done
        self._most = most
        self._max_bytes = max_bytes
        self._changed = threading.Condition()
        self._waiting: list[MirrorBatch] = []
        self._count = 0
        self._size_bytes = 0
        self._is_ending = False
        self._has_ended = False
        self._error: BaseException | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is pending, and the writer runs."""
        with self._changed:
            return not self._count and not self._has_ended

    @property
    def free_count(self) -> int:
        """The number of messages that may be put now; 0 or less: none."""
        with self._changed:
            return self._most - self._count if self._size_bytes < self._max_bytes else 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write for as long as the context lasts; at its end everything pending is written.

        Raises:
            Exception: the writer's error.
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
        """Raise the writer's error, if any."""
        error = self._error
        if error is not None:
            raise without_frames(error)

    def put(self, batch: MirrorBatch) -> None:
        """Append a batch."""
        with self._changed:
            if self._has_ended:
                return
            self._waiting.append(batch)
            self._count += batch.count
            self._size_bytes += batch.size_bytes
            self._changed.notify_all()

    def wait_for_capacity(self, timeout_ms: int) -> bool:
        """Wait for capacity; return False after the time-out, or if writing has ended."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._has_ended or self.free_count > 0, timeout_ms / 1000
            )
            return not self._has_ended and self.free_count > 0

    def flush(self) -> None:
        """Wait until nothing is pending, or writing has ended."""
        with self._changed:
            # With time-outs: an endless wait would keep signal handlers from running.
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
        except BaseException as error:  # noqa: BLE001 - the thread's top: reported to its owner
            self._error = error
        finally:
            with self._changed:
                self._has_ended = True
                self._waiting.clear()
                self._count = self._size_bytes = 0
                self._changed.notify_all()

    def _next(self) -> MirrorBatch | None:
        """Return all pending messages as one batch; None at the end."""
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
