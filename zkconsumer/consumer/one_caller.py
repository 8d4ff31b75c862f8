"""Lets one thread at a time into a consumer, of the process that made it, until it is closed.

Source: Kafka ``KafkaConsumer.acquireAndEnsureOpen``.
"""

from _thread import RLock as _RLock
from typing import Self

from zkconsumer.errors import ConsumerClosed, IllegalState
from zkconsumer.forking import ForkGuard


class OneCaller(_RLock):  # type: ignore[misc]  # final for mypy alone
    """A context for every public call; a listener may call again from inside of one.

    It *is* the lock, whose own ``__exit__`` nothing can interrupt: what a signal handler raises at
    the end of a call must not leave a consumer that nobody can close any more.

    Args:
        guard: knows the process.

    Attributes:
        closed: nobody comes in any more.
    """

    __slots__ = ("_guard", "closed")

    def __new__(cls, _guard: ForkGuard) -> Self:
        """Make it; a lock takes no arguments."""
        return super().__new__(cls)

    def __init__(self, guard: ForkGuard) -> None:
        self._guard = guard
        self.closed = False

    @property
    def is_inside(self) -> bool:
        """Whether a call is under way in this thread: this is asked by a listener, then."""
        owned: bool = self._is_owned()  # type: ignore[attr-defined]
        return owned

    @property
    def is_forked(self) -> bool:
        """Whether this is a child of the process that made it."""
        return self._guard.forked

    def __enter__(self) -> bool:  # type: ignore[override]
        """Come in.

        Raises:
            ConsumerForked: this is a forked child.
            ConsumerClosed: the consumer was closed.
            IllegalState: another thread is inside.
        """
        self._guard.check()
        was_inside = self.is_inside
        try:
            self._come_in()
        except BaseException:
            if self.is_inside and not was_inside:
                self.release()
            raise
        return True

    def _come_in(self) -> None:
        if not self.acquire(blocking=False):
            raise IllegalState(
                "another thread is in a call of this consumer: it has one caller at a time; only "
                "wakeup() may come from elsewhere"
            )
        self._check_open()

    def look_in(self) -> None:
        """Without coming in: for what any thread may ask.

        Raises:
            ConsumerForked: this is a forked child.
            ConsumerClosed: the consumer was closed.
        """
        self._guard.check()
        self._check_open()

    def _check_open(self) -> None:
        if self.closed:
            raise ConsumerClosed(f"{self._guard.owner} was closed")
