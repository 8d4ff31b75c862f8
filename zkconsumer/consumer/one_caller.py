"""Allows one thread at a time into a consumer, in the process that created it, until its close.

Source: Kafka ``KafkaConsumer.acquireAndEnsureOpen``.
"""

import threading
from _thread import RLock as _RLock
from dataclasses import dataclass
from typing import Self

from zkconsumer.errors import ConsumerClosed, IllegalState
from zkconsumer.forking import ForkGuard
from zkconsumer.scope import WakeEvent


@dataclass(frozen=True, slots=True)
class DeferredClose:
    """A ``close`` that could not be done where it was called.

    Attributes:
        commit: whether to commit what was handed out.
        deadline_ms: when it must be done.
    """

    commit: bool
    deadline_ms: int


class OtherThreadInside(IllegalState):
    """Another thread is in a call of the consumer."""


class ThreadCalls(threading.local):
    """The calls of the present thread.

    Attributes:
        depth: the number of nested calls of the consumer in this thread, those without the lock
            included. Only ``+= 1`` before a ``try`` and ``-= 1`` first in its ``finally``: no
            signal handler runs between these and their neighbours.
        polls: whether this thread has polled.
    """

    depth = 0
    polls = False


class SingleCaller(_RLock):  # type: ignore[misc]  # final for mypy alone
    """The context of every public call that changes something; a listener may nest calls.

    It *is* the lock, whose own ``__exit__`` nothing can interrupt: an exception of a signal handler
    at the end of a call must not leave a consumer that can't be closed.

    Attributes:
        closed: whether no call may enter any more.
        is_closing: whether ``close`` runs now, in the thread inside.
        request: a ``close`` to be done by the thread inside when it leaves; None: none.
        here: see ``ThreadCalls``.
        polled: whether any thread has polled.
        out: is notified at the end of a call that a ``close`` waits for.
    """

    __slots__ = ("_guard", "closed", "here", "is_closing", "out", "polled", "request")

    def __new__(cls, _guard: ForkGuard) -> Self:
        """Create the lock, which takes no arguments."""
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
        """The consumer's name, for messages."""
        return self._guard.owner

    @property
    def is_inside(self) -> bool:
        """Whether the present thread holds the lock."""
        owned: bool = self._is_owned()  # type: ignore[attr-defined]
        return owned

    @property
    def is_anothers(self) -> bool:
        """Whether other threads poll, and this one never did."""
        return self.polled and not self.here.polls

    @property
    def is_ending(self) -> bool:
        """Whether waiting calls must end."""
        return self.closed or self.request is not None

    @property
    def is_forked(self) -> bool:
        """Whether this is a child of the process that created it."""
        return self._guard.forked

    def __enter__(self) -> bool:  # type: ignore[override]
        """Take the lock, or enter a nested call.

        Raises:
            ConsumerForked: this is a forked child.
            ConsumerClosed: the consumer was closed, or another thread is closing it.
            OtherThreadInside: another thread is inside.
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
        """Check access for calls of any thread, which don't take the lock.

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
