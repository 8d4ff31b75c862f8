"""Detect the use of a connector in a forked child of the process that created it: an error.

A fork copies only the forking thread. In the child no thread of the connector runs, so a wait there
would never end; and its sockets are the parent's, so one byte that the child sends breaks the
parent's connections and its ZooKeeper session.

Every public call checks its ``ForkGuard`` first and touches nothing in a child.
"""

import os
import threading
import weakref
from collections.abc import Callable
from typing import Final

from zkconsumer.errors import ConsumerForked


class ForkGuard:
    """Detects use in a forked child of the process that created it.

    Args:
        owner: the guarded object, for the error: ``consumer g_host-1 of group g``.

    Attributes:
        owner: the same.
        process_id: the process that it belongs to.
        forked: True in a child, from the fork on; for code that can't afford a call.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.process_id = os.getpid()
        self.forked = False
        self._listeners: list[Callable[[], None]] = []
        _GUARDS.add(self)

    def on_fork(self, notify: Callable[[], None]) -> None:
        """Register a function to call in a child right after the fork. Thread: any.

        It must take no lock: one that another thread held stays locked in the child.
        """
        self._listeners.append(notify)

    def check(self) -> None:
        """Raise in a forked child; do nothing in the process it belongs to. Thread: any.

        Raises:
            ConsumerForked: this is a child of that process.
        """
        # The process id too: a fork from C code may skip Python's hooks.
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
    """A lock that is free in a forked child, even if it was held in the parent.

    For state that a child may use, such as the known brokers. Reentrant: a signal handler may
    interrupt its holder.

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
