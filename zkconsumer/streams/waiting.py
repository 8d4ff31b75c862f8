"""Waits in a stream's thread for what the stream needs next."""

from typing import Final, Generic, NamedTuple, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.errors import ConsumerTimeout, ZkConsumerError
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.reader import BlockingTask, ChunkReader, Need

K = TypeVar("K")
V = TypeVar("V")
_MAX_SLEEP_MS: Final = 500
"""Maximum sleep, ms, to notice changes that send no signal: a fork, a lost claim."""


class WaitLimit(NamedTuple):
    """The limits of one call's wait.

    Attributes:
        idle_since_ms: the time since which the caller has had no message.
        end_ms: when to raise ``ConsumerTimeout``; None: never.
        due_ms: when to hand a batch over as it is; None for single messages.
    """

    idle_since_ms: int
    end_ms: int | None
    due_ms: int | None


class Waiting(Generic[K, V]):
    """Waits in a stream's thread until the stream can continue, or a limit is reached.

    Args:
        reader: the stream's reader.
        queue: the stream's queue.
        clock: the time.
        timeout_ms: ``consumer.timeout.ms``; -1: no limit.
    """

    def __init__(
        self, reader: ChunkReader[K, V], queue: StreamQueue, clock: Clock, timeout_ms: int
    ) -> None:
        self._reader = reader
        self._queue = queue
        self._clock = clock
        self._timeout_ms = timeout_ms

    def begin(self, idle_since_ms: int | None = None, due_in_ms: int | None = None) -> WaitLimit:
        """Return the limits of a wait that begins now.

        ``idle_since_ms`` is the time since which the caller has had no message (None: now),
        ``due_in_ms`` how long a batch may take.
        """
        now_ms = self._clock.now_ms()
        idle_since_ms = now_ms if idle_since_ms is None else idle_since_ms
        end_ms = idle_since_ms + self._timeout_ms if self._timeout_ms >= 0 else None
        return WaitLimit(idle_since_ms, end_ms, None if due_in_ms is None else now_ms + due_in_ms)

    def run(self, task: BlockingTask) -> None:
        """Run a task in this thread and settle it.

        Raises:
            ZkConsumerError: the task failed.
        """
        try:
            go_on = task.run()
        except ZkConsumerError as error:
            self._reader.settle_error(task, error)
            raise
        self._reader.settle(task, go_on=go_on)

    def is_due(self, deadline: WaitLimit) -> bool:
        """Return whether a batch must be handed over as it is."""
        return deadline.due_ms is not None and self._clock.now_ms() >= deadline.due_ms

    def rest(self, need: Need, deadline: WaitLimit, *, has_some: bool = False) -> None:
        """Wait until the need may be met, a batch is due, or the longest sleep is over.

        Raises:
            ConsumerTimeout: no message arrived in time, and the caller has none.
        """
        end_ms = None if has_some else deadline.end_ms
        ends_ms = [due_ms for due_ms in (end_ms, deadline.due_ms) if due_ms is not None]
        now_ms = self._clock.now_ms()
        sleep_ms = max(0, min([_MAX_SLEEP_MS, *(limit_ms - now_ms for limit_ms in ends_ms)]))
        if need is Need.TRUST:
            self._queue.pause(sleep_ms)
        elif self._queue.head(sleep_ms) is not None:
            return
        if end_ms is not None and self._clock.now_ms() >= end_ms:
            raise ConsumerTimeout(f"no message within {self._timeout_ms} ms")
