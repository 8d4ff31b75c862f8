"""Threads that run one at a time, in turns that a test hands out: the same in every run.

A turn lasts until the thread gives it back, or ends. So a random world may decide what happens
between any two of its steps.
"""

import threading
from collections.abc import Callable

from zkconsumer.errors import without_frames
from zkconsumer.scope import ThreadScope

_LONG_S = 60
_MOST_TURNS = 20_000


class Abandoned(BaseException):
    """Raised in a thread that its test does not need any more."""


class SteppedThread:
    """A thread that runs in turns. Thread: that of the test, but for ``give_back``.

    Attributes:
        is_over: whether it has ended.
        error: what it raised; None: nothing.
    """

    def __init__(self, name: str, run: Callable[[], None], stop: Callable[[], None]) -> None:
        self.is_over = False
        self.error: BaseException | None = None
        self.request_stop = stop
        self._run = run
        self._is_abandoned = False
        self._may_run, self._may_go_on = threading.Semaphore(0), threading.Semaphore(0)
        self._scope = ThreadScope(name)
        self._thread = self._scope.spawn("steps", self._body, stop=lambda: None).thread

    @property
    def is_here(self) -> bool:
        """Whether the caller is this thread."""
        return threading.current_thread() is self._thread

    def turn(self) -> None:
        """Let it run until it gives the turn back, or ends."""
        if self.is_over:
            return
        self._may_run.release()
        assert self._may_go_on.acquire(timeout=_LONG_S), "the thread does not give the turn back"

    def give_back(self) -> None:
        """Let the test go on. Thread: its own."""
        self._may_go_on.release()
        self._wait()

    def abandon(self) -> None:
        """End it."""
        self._is_abandoned = True
        while not self.is_over:
            self.turn()
        assert self._scope.close(_LONG_S * 1000) == []

    def _wait(self) -> None:
        self._may_run.acquire()
        if self._is_abandoned:
            raise Abandoned

    def _body(self) -> None:
        try:
            self._wait()
            self._run()
        except Abandoned:
            pass
        except BaseException as error:  # noqa: BLE001 - the scope's owner gets it
            self.error = without_frames(error)
        finally:
            self.is_over = True
            self._may_go_on.release()


class SteppedScope:
    """A ``ThreadScope`` of stepped threads; joining one gives it turns until it ends.

    Args:
        name: see ``ThreadScope``.
        threads: gets all threads that are spawned.
    """

    def __init__(self, name: str, threads: list[SteppedThread]) -> None:
        self.name = name
        self._mine: list[SteppedThread] = []
        self._all = threads

    def spawn(
        self, role: str, run: Callable[[], None], *, stop: Callable[[], None]
    ) -> SteppedThread:
        """See ``ThreadScope``."""
        thread = SteppedThread(f"{self.name}/{role}", run, stop)
        self._mine.append(thread)
        self._all.append(thread)
        return thread

    def close(self, _timeout_ms: int) -> list[str]:
        """See ``ThreadScope``."""
        for thread in self._mine:
            thread.request_stop()
        for thread in self._mine:
            for _ in range(_MOST_TURNS):
                if thread.is_over:
                    break
                thread.turn()
            assert thread.is_over, "the thread does not end though it was stopped"
        return []
