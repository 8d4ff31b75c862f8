"""Lets one thread at a time into a consumer, of the process that made it, until it is closed.

Source: Kafka ``KafkaConsumer.acquireAndEnsureOpen``.
"""

import threading

from zkconsumer.errors import ConsumerClosed, IllegalState
from zkconsumer.forking import ForkGuard


class OneCaller:
    """A context for every public call; a listener may call again from inside of one.

    Args:
        guard: knows the process.

    Attributes:
        closed: nobody comes in any more.
    """

    __slots__ = ("_depth", "_guard", "_lock", "closed")

    def __init__(self, guard: ForkGuard) -> None:
        self._guard = guard
        self._lock = threading.RLock()
        self._depth = 0
        self.closed = False

    @property
    def is_inside(self) -> bool:
        """Whether a call is under way in this thread: this is asked by a listener, then."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return self._depth > 0
        finally:
            self._lock.release()

    @property
    def is_forked(self) -> bool:
        """Whether this is a child of the process that made it."""
        return self._guard.forked

    def __enter__(self) -> None:
        """Come in.

        Raises:
            ConsumerForked: this is a forked child.
            ConsumerClosed: the consumer was closed.
            IllegalState: another thread is inside.
        """
        self._guard.check()
        if not self._lock.acquire(blocking=False):
            raise IllegalState(
                "another thread is in a call of this consumer: it has one caller at a time; only "
                "wakeup() may come from elsewhere"
            )
        if self.closed:
            self._lock.release()
            raise ConsumerClosed(f"{self._guard.owner} was closed")
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        self._lock.release()
