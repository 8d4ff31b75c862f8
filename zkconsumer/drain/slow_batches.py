"""Reports batches that take minutes, so that a slow drain does not look stuck."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, TextIO

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan, Positions
from zkconsumer.drain.progress import duration
from zkconsumer.drain.protocols import ProgressListener
from zkconsumer.scope import ThreadScope, WakeEvent

FIRST_MS = 120_000
_CLOSE_MS = 5_000


class _Batch(NamedTuple):
    number: int
    offsets: int
    began_ms: int


class SlowBatches(ProgressListener):
    """Forwards all notifications, and writes a line for a slow batch.

    The line is written after ``first_ms``, and again whenever the elapsed time has doubled.

    Args:
        listener: receives all notifications.
        out: the stream to write lines to.
        first_ms: the time after which a batch is slow.
        clock: measures that time.
    """

    def __init__(
        self,
        listener: ProgressListener,
        out: TextIO,
        *,
        first_ms: int = FIRST_MS,
        clock: Clock | None = None,
    ) -> None:
        self._listener = listener
        self._out = out
        self._first_ms = first_ms
        self._clock = clock or SystemClock()
        # Replaced as a whole, by the drain's thread only.
        self._batch: _Batch | None = None
        self._reported: tuple[_Batch | None, int] = (None, 0)

    def on_snapshot(self, positions: Positions, until: Positions) -> None:
        """See ``ProgressListener``."""
        self._listener.on_snapshot(positions, until)

    def on_landing(self, plan: BatchPlan) -> None:
        """See ``ProgressListener``."""
        offsets = sum(wanted.count for wanted in plan.ranges)
        self._batch = _Batch(plan.number, offsets, self._clock.now_ms())
        self._listener.on_landing(plan)

    def on_landed(self, plan: BatchPlan, manifest: Manifest) -> None:
        """See ``ProgressListener``."""
        self._batch = None
        self._listener.on_landed(plan, manifest)

    def report(self) -> None:
        """Write the line if it is due. Thread: a single one other than the drain's."""
        batch = self._batch
        if batch is None:
            return
        reported, due_ms = self._reported
        if reported != batch:
            due_ms = self._first_ms
        age_ms = self._clock.now_ms() - batch.began_ms
        if age_ms < due_ms:
            return
        self._reported = (batch, 2 * age_ms)
        with suppress(OSError):
            self._out.write(
                f"batch {batch.number} ({batch.offsets:,} offsets) has been running for "
                f"{duration(age_ms / 1000)}\n"
            )
            self._out.flush()


@contextmanager
def reporting_slow_batches(
    listener: ProgressListener, out: TextIO, first_ms: int = FIRST_MS
) -> Iterator[SlowBatches]:
    """Report slow batches until the context ends.

    Args:
        listener: receives all notifications; see ``SlowBatches``, which is yielded.
        out: see ``SlowBatches``.
        first_ms: see ``SlowBatches``.
    """
    batches, wakeup = SlowBatches(listener, out, first_ms=first_ms), WakeEvent()

    def run() -> None:
        while not wakeup.wait(max(1, first_ms // 4)):
            batches.report()

    scope = ThreadScope("drain")
    scope.spawn("slow batches", run, stop=wakeup.notify)
    try:
        yield batches
    finally:
        scope.close(_CLOSE_MS)
