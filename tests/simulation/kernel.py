"""Who runs next is the scheduler's choice: greenlets that stop at every point where others may go.

A ``Task`` is a thread of the product, played by a greenlet. It stops where the real thread may be
held up: before and after each request to ZooKeeper, and at its mailbox. Nothing else runs until
the scheduler resumes somebody, so a schedule is a pure function of its seed.
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
    """A ``Clock`` that the scheduler moves."""

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
        deadline_ms: when it goes on by itself; None: not by itself.
        wakes: whether what it waits for is there; None: it waits for nothing but its turn.
    """

    def __init__(self, clock: SimClock, body: Callable[[], None]) -> None:
        self._clock = clock
        # Who makes a task is who resumes it.
        self._scheduler = greenlet.getcurrent()
        self._greenlet = greenlet.greenlet(body)
        self._killed = False
        self.deadline_ms: int | None = None
        self.wakes: Callable[[], bool] | None = None

    @property
    def done(self) -> bool:
        """Whether it came to its end."""
        return bool(self._greenlet.dead)

    @property
    def ready(self) -> bool:
        """Whether it could go on now."""
        if self._greenlet.dead:
            return False
        if self.wakes is None or self.wakes():
            return True
        return self.deadline_ms is not None and self.deadline_ms <= self._clock.time_ms

    def resume(self) -> None:
        """Let it run to its next stop; what it dies of is raised here."""
        self._greenlet.switch()

    def kill(self) -> None:
        """End it where it stands, as a process ends: nothing that it still calls has an effect."""
        self._killed = True
        if not self._greenlet.dead:
            self._greenlet.throw()

    def stop_here(
        self, wakes: Callable[[], bool] | None = None, timeout_ms: int | None = None
    ) -> None:
        """Give way until resumed. Called inside of the task only."""
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
