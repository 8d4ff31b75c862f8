"""Reads a part of a snapshot on a thread of its own, so that it can be abandoned."""

from collections.abc import Callable
from typing import Generic, TypeVar

from zkconsumer.errors import ZkConsumerError
from zkconsumer.scope import Mailbox, ThreadScope
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.round_clock import RoundClock
from zkconsumer.status.reading.values import Unanswered

T = TypeVar("T")


class Part(Generic[T]):
    """Reads one part of a snapshot, whose calls may be limited only by a client's long time-out.

    A late result is used the next time, unless the local clock was set back since it was
    requested, so that its times are in the future. Thread: one.

    Args:
        name: the part's name, in plain words.
        scope: owns the thread.
        clock: for the times in results.
        requested: the server to name in the error when there is no result in time.
    """

    def __init__(
        self, name: str, scope: ThreadScope, clock: RoundClock, requested: str = "ZooKeeper"
    ) -> None:
        self._name = name
        self._scope = scope
        self._clock = clock
        self._set_backs = 0
        self._requested = requested
        self._reported: Mailbox[T | Unanswered] = Mailbox()
        self._running = False

    def begin(self, read: Callable[[Deadline], T], limit_ms: int) -> Callable[[], T | Unanswered]:
        """Begin to read within a time limit; return the function that waits for the result."""
        deadline = Deadline(self._clock, limit_ms)
        self.start(lambda: read(deadline))
        return lambda: self.result(deadline)

    def start(self, read: Callable[[], T]) -> None:
        """Begin to read, unless the last read is still running."""
        if self._running:
            return
        self._running = True
        self._set_backs = self._clock.set_backs

        def run() -> None:
            try:
                self._reported.put(read())
            except ZkConsumerError as error:
                self._reported.put(Unanswered(str(error)))

        def died(error: BaseException) -> None:
            self._reported.put(Unanswered(f"{type(error).__name__}: {error}"))

        try:
            self._scope.spawn(self._name, run, stop=lambda: None, on_error=died)
        except RuntimeError as error:  # no thread can be started now
            died(error)

    def result(self, deadline: Deadline) -> T | Unanswered:
        """Wait for the result until the deadline; return it, or why there is none."""
        reported = self._reported.get(deadline.left_ms)
        if reported is None:
            return Unanswered(f"{self._requested} did not respond within {deadline.limit_ms} ms")
        self._running = False
        if self._set_backs != self._clock.set_backs:
            return Unanswered("the clock was set back while it was read")
        return reported
