"""The scheduler's tasks: greenlets that stop wherever another thread may run.

A ``Task`` is a thread of the product, played by a greenlet. It stops where the real thread may be
held up: before and after each request to ZooKeeper, and at its mailbox. Nothing else runs until
the scheduler resumes a task, so a schedule is a pure function of its seed.
"""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import greenlet

from zkconsumer.scope import Mailbox

T = TypeVar("T")
START_MS = 1_000_000
WALL_AHEAD_MS = 1_400_000_000_000


class SimClock:
    """A ``Clock`` that the scheduler advances."""

    def __init__(self) -> None:
        self.time_ms = START_MS

    def now_ms(self) -> int:
        """See ``Clock``."""
        return self.time_ms

    def wall_ms(self) -> int:
        """See ``Clock``."""
        return self.time_ms + WALL_AHEAD_MS


class Task:
    """One thread of the product, stopped or running.

    Attributes:
        deadline_ms: when it continues by itself; None: never.
        wakes: whether it may continue; None: it waits only for its turn.
    """

    def __init__(self, clock: SimClock, body: Callable[[], None]) -> None:
        self._clock = clock
        # The greenlet that creates a task is the one that resumes it.
        self._scheduler = greenlet.getcurrent()
        self._greenlet = greenlet.greenlet(body)
        self._killed = False
        self.deadline_ms: int | None = None
        self.wakes: Callable[[], bool] | None = None

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return bool(self._greenlet.dead)

    @property
    def ready(self) -> bool:
        """Whether it could continue now."""
        if self._greenlet.dead:
            return False
        if self.wakes is None or self.wakes():
            return True
        return self.deadline_ms is not None and self.deadline_ms <= self._clock.time_ms

    def resume(self) -> None:
        """Let it run to its next stop, and raise the exception that ends it."""
        self._greenlet.switch()

    def kill(self) -> None:
        """End it at once, as a killed process: none of its further calls has an effect."""
        self._killed = True
        if not self._greenlet.dead:
            self._greenlet.throw()

    def stop_here(
        self, wakes: Callable[[], bool] | None = None, timeout_ms: int | None = None
    ) -> None:
        """Yield until resumed; called within the task only."""
        if self._killed:
            raise greenlet.GreenletExit
        self.wakes = wakes
        self.deadline_ms = None if timeout_ms is None else self._clock.time_ms + timeout_ms
        self._scheduler.switch()
        self.wakes = self.deadline_ms = None


class SimMailbox(Mailbox[T], Generic[T]):
    """A mailbox at which the reading task stops."""

    __slots__ = ("_items", "on_turn", "task")

    def __init__(self) -> None:
        super().__init__()
        self._items: deque[T] = deque()
        self.task: Task | None = None
        self.on_turn: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> None:
        """See ``Mailbox``."""
        self._items.append(item)

    def get(self, timeout_ms: int | None = None) -> T | None:
        """See ``Mailbox``: it always stops, so that others can run between two turns."""
        assert self.task is not None
        self.task.stop_here(self._has_items, timeout_ms)
        self.on_turn()
        return self._items.popleft() if self._items else None

    def _has_items(self) -> bool:
        return bool(self._items)

    def drain(self) -> list[T]:
        """See ``Mailbox``."""
        items = list(self._items)
        self._items.clear()
        return items
