"""A connector belongs to the process that made it: forked children are told so at once.

A fork copies the forking thread alone. In the child no thread of the connector runs, so whoever
waits there waits for ever; and its sockets are the parent's, so one byte that the child sends
breaks the parent's connections and its ZooKeeper session.

Everything that a caller can reach asks its ``ForkGuard`` first and touches nothing in a child.
"""

import os
import threading
import weakref
from collections.abc import Callable
from typing import Final

from zkconsumer.errors import ConsumerForked


class ForkGuard:
    """Knows whether this process is the one in which it was made.

    Args:
        owner: what it guards, for the error: ``consumer g_host-1 of group g``.

    Attributes:
        owner: the same.
        process_id: the process that it belongs to.
        forked: True in a child, from the fork on; for those who can't pay a call.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.process_id = os.getpid()
        self.forked = False
        self._listeners: list[Callable[[], None]] = []
        _GUARDS.add(self)

    def on_fork(self, notify: Callable[[], None]) -> None:
        """Call this in a child, right after the fork and before its first line. Thread: any.

        It must take no lock: one that another thread held stays locked in the child.
        """
        self._listeners.append(notify)

    def check(self) -> None:
        """Do nothing in the process it belongs to. Thread: any.

        Raises:
            ConsumerForked: this is a child of that process.
        """
        # The number too: a fork from C code may pass over Python's hooks.
        if self.forked or os.getpid() != self.process_id:
            raise ConsumerForked(
                f"{self.owner} belongs to process {self.process_id} and can't be used in its "
                f"forked child {os.getpid()}: create a connector in the child"
            )

    def _now_in_child(self) -> None:
        self.forked = True
        for notify in self._listeners:
            notify()


class ForkedLock:
    """A lock that a forked child finds open, whoever held it in the parent.

    For what a child goes on with, such as what is known of brokers. Reentrant: a signal handler may
    come in the middle of a call.

    Example:
        >>> with ForkedLock():
        ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _now_in_child(self) -> None:
        self._lock = threading.RLock()


_LOCKS: Final[weakref.WeakSet[ForkedLock]] = weakref.WeakSet()
_GUARDS: Final[weakref.WeakSet[ForkGuard]] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for lock in tuple(_LOCKS):
        lock._now_in_child()  # noqa: SLF001 - of the same file
    for guard in tuple(_GUARDS):
        guard._now_in_child()  # noqa: SLF001 - of the same file


os.register_at_fork(after_in_child=_after_fork_in_child)
