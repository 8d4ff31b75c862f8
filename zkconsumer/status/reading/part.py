"""Reads a part of a snapshot on a thread of its own, so that it can be abandoned."""

from collections.abc import Callable
from typing import Generic, TypeVar

from zkconsumer.errors import ZkConsumerError
from zkconsumer.scope import Mailbox, ThreadScope
from zkconsumer.status.reading.broker_round import Unanswered
from zkconsumer.status.reading.deadline import Deadline

T = TypeVar("T")


class Part(Generic[T]):
    """Reads one part of a snapshot, whose calls may be bounded only by a client's long time-out.

    A result that comes too late is used the next time. Thread: one.

    Args:
        name: the part's name, in plain words.
        scope: owns the thread.
        requested: the addressee to name when there is no result in time.
    """

    def __init__(self, name: str, scope: ThreadScope, requested: str = "ZooKeeper") -> None:
        self._name = name
        self._scope = scope
        self._requested = requested
        self._reported: Mailbox[T | Unanswered] = Mailbox()
        self._running = False

    def start(self, read: Callable[[], T]) -> None:
        """Begin to read, unless the last read still runs."""
        if self._running:
            return
        self._running = True

        def run() -> None:
            try:
                self._reported.put(read())
            except ZkConsumerError as error:
                self._reported.put(Unanswered(str(error)))

        def died(error: BaseException) -> None:
            self._reported.put(Unanswered(f"{type(error).__name__}: {error}"))

        self._scope.spawn(self._name, run, stop=lambda: None, on_error=died)

    def result(self, deadline: Deadline) -> T | Unanswered:
        """Return the result, or that there is none yet."""
        reported = self._reported.get(deadline.left_ms)
        if reported is None:
            return Unanswered(f"{self._requested} gave no answer within {deadline.limit_ms} ms")
        self._running = False
        return reported
