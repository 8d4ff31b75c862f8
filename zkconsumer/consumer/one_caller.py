"""Allows one thread at a time into a consumer, in the process that created it, until its close.

Source: Kafka ``KafkaConsumer.acquireAndEnsureOpen``.
"""

import threading
from _thread import RLock as _RLock
from typing import NamedTuple, Self

from zkconsumer.errors import ConsumerClosed, IllegalState
from zkconsumer.forking import ForkGuard
from zkconsumer.scope import WakeEvent


class DeferredClose(NamedTuple):
    """The arguments of a ``close``, which may be done at the end of another call.

    Attributes:
        commit: whether to commit the records handed out.
        deadline_ms: when it must be done.
    """

    commit: bool
    deadline_ms: int


class OtherThreadInside(IllegalState):
    """Another thread is in a call of the consumer."""


class ThreadCalls(threading.local):
    """The calls of the current thread.

    Attributes:
        depth: the number of nested calls of the consumer in this thread, including those without
            the lock. Changed only by ``+= 1`` right before a ``try`` and ``-= 1`` first in its
            ``finally``, where no signal handler can run in between.
        polls: whether this thread has polled.
    """

    depth = 0
    polls = False


class SingleCaller(_RLock):  # type: ignore[misc]  # final for mypy alone
    """The lock that every public call holds while it changes the consumer; calls may nest.

    It inherits the lock, whose ``__exit__`` can't be interrupted: a signal handler that raises at
    the end of a call must not leave a consumer that can't be closed.

    Attributes:
        closed: whether the consumer was closed, so that no call may enter.
        is_closing: whether ``close`` runs now, in the thread inside.
        request: a ``close`` that the thread inside does when its call ends; None: none.
        here: see ``ThreadCalls``.
        polled: whether any thread has polled.
        out: notified at the end of a call that a ``close`` waits for.
    """

    __slots__ = ("_guard", "closed", "here", "is_closing", "out", "polled", "request")

    def __new__(cls, _guard: ForkGuard) -> Self:
        """Create the lock, whose constructor takes no arguments."""
        return super().__new__(cls)

    def __init__(self, guard: ForkGuard) -> None:
        self._guard = guard
        self.closed = False
        self.is_closing = False
        self.request: DeferredClose | None = None
        self.here = ThreadCalls()
        self.polled = False
        self.out = WakeEvent()

    @property
    def owner(self) -> str:
        """The consumer's name, for error messages."""
        return self._guard.owner

    @property
    def is_inside(self) -> bool:
        """Whether the current thread holds the lock."""
        owned: bool = self._is_owned()  # type: ignore[attr-defined]
        return owned

    @property
    def is_anothers(self) -> bool:
        """Whether another thread has polled, and the current one never has."""
        return self.polled and not self.here.polls

    @property
    def is_ending(self) -> bool:
        """Whether waiting calls must end, since the consumer was closed or is to be."""
        return self.closed or self.request is not None

    @property
    def is_forked(self) -> bool:
        """Whether this is a forked child of the process that created the consumer."""
        return self._guard.forked

    def __enter__(self) -> bool:  # type: ignore[override]
        """Take the lock, or enter a nested call.

        Raises:
            ConsumerForked: this is a forked child.
            ConsumerClosed: the consumer was closed, or another thread is closing it.
            OtherThreadInside: another thread is in a call of the consumer.
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
            if self.is_closing:
                raise ConsumerClosed(f"{self.owner} is being closed by another thread")
            raise OtherThreadInside(
                "another thread is in a call of this consumer: poll, iteration, seek, subscribe, "
                "assign, commit and requests to the cluster allow one caller at a time; "
                "assignment, subscription, position, highwater, paused, pause, resume, "
                "group_metadata, metrics, wakeup and close may come from any thread"
            )
        self.check_open()

    def check_process(self) -> None:
        """Check that this is the process that created the consumer.

        Raises:
            ConsumerForked: this is a forked child.
        """
        self._guard.check()

    def check_access(self) -> None:
        """Check access for a call that any thread may make, without the lock.

        Raises:
            ConsumerForked: this is a forked child.
            ConsumerClosed: another thread is closing the consumer.
        """
        self._guard.check()
        if self.is_closing and not self.is_inside:
            raise ConsumerClosed(f"{self.owner} is being closed by another thread")

    def check_open(self) -> None:
        """Check that the consumer was not closed.

        Raises:
            ConsumerClosed: the consumer was closed.
        """
        if self.closed:
            raise ConsumerClosed(f"{self.owner} was closed")
