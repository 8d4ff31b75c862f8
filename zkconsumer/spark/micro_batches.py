"""Runs a stream's micro-batches on Spark versions without Python data sources.

As in Spark, a batch's end is recorded before reading, its completion after writing, and an
interrupted batch is repeated with the same number and the same messages. Delivery is exactly once
if ``write`` ignores numbers that it has already written.

Source: Spark 3.5 ``MicroBatchExecution``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zkconsumer.clock import Clock
from zkconsumer.spark.checkpoint import Checkpoint
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.stream_offsets import StreamOffsets
from zkconsumer.spark.stream_plan import StreamPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The timing and the end of a stream's batches.

    Attributes:
        available_now: whether to end once the messages available at the start are read.
        interval_ms: the minimum time between batches.
        stopped: returns whether to end; called before each batch, and while there is nothing to
            read.
    """

    available_now: bool
    interval_ms: int
    stopped: Callable[[], bool]


class MicroBatches:
    """Resumes a stream from its checkpoint, and runs its batches. Thread: one.

    Args:
        plan: the plan of the batches, on which ``begin`` was called.
        checkpoint: the records of earlier runs.
        write: writes a batch; called with its tasks and its number.
        clock: measures the interval.
    """

    def __init__(
        self,
        plan: StreamPlan,
        checkpoint: Checkpoint,
        write: Callable[[Sequence[ZkInputPartition], int], None],
        clock: Clock,
    ) -> None:
        self._plan = plan
        self._checkpoint = checkpoint
        self._write = write
        self._clock = clock

    def run(self, trigger: Trigger, wait: Callable[[int], None]) -> int:
        """Run batches until the trigger ends the stream.

        Args:
            trigger: the timing and the end of the batches.
            wait: waits for a maximum number of milliseconds.

        Returns:
            The number of batches written.

        Raises:
            ConfigError: the checkpoint belongs to another query, or another query is using it.
            ZkConsumerError: the cluster can't be read, or messages are gone.
        """
        self._checkpoint.begin()
        number, start, count = self._resume()
        if trigger.available_now:
            self._plan.prepare_available_now()
        while not trigger.stopped():
            began_ms = self._clock.now_ms()
            end = self._plan.latest(start, unlimited=False)
            if end is not start:
                self._checkpoint.plan(number, end, now_ms=self._clock.wall_ms())
                self._run(number, start, end)
                number, start, count = number + 1, end, count + 1
            elif trigger.available_now:
                break
            if not trigger.available_now:
                self._rest(began_ms + trigger.interval_ms, trigger, wait)
        return count

    def _resume(self) -> tuple[int, StreamOffsets, int]:
        """Finish an interrupted batch; return the next number and start, and how many ran."""
        last = self._checkpoint.last_planned()
        if last is None:
            return 0, self._plan.initial(), 0
        end = self._checkpoint.planned_end(last)
        if self._checkpoint.is_done(last):
            return last + 1, end, 0
        start = self._checkpoint.planned_end(last - 1) if last else self._plan.initial()
        self._run(last, start, end)
        return last + 1, end, 1

    def _run(self, number: int, start: StreamOffsets, end: StreamOffsets) -> None:
        self._write(self._plan.tasks(start, end), number)
        self._checkpoint.done(number)

    def _rest(self, until_ms: int, trigger: Trigger, wait: Callable[[int], None]) -> None:
        while (left_ms := until_ms - self._clock.now_ms()) > 0 and not trigger.stopped():
            wait(min(left_ms, _NAP_MS))


_NAP_MS = 500
