"""Start threads that have an owner, and wake them: the only module that starts threads.

A thread is spawned in a ``ThreadScope``. Closing the scope requests every thread to stop, wakes it
and joins it; the first error of a thread is kept for the owner, never only logged.
"""

import contextlib
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import without_frames

T = TypeVar("T")
log = logging.getLogger(__name__)


NAP_MS = 500


def naps(timeout_ms: int | None) -> Iterator[int]:
    """Yield a wait of ``timeout_ms`` (None: for ever) in slices, for the caller's own threads.

    Python runs signal handlers between two steps of the main thread. A signal that arrives after
    the last step before the thread blocks does not wake it: the handler runs when the wait ends, so
    an endless wait would swallow the signal.
    """
    if timeout_ms is None:
        while True:
            yield NAP_MS
    left_ms = max(0, timeout_ms)
    yield min(left_ms, NAP_MS)
    while left_ms > NAP_MS:
        left_ms -= NAP_MS
        yield min(left_ms, NAP_MS)


class WakeEvent:
    """An event that ends the wait of one thread; any thread or signal handler may notify it.

    A lock and not a ``queue.SimpleQueue``: in CPython up to 3.12 a signal handler that takes longer
    than the rest of a wait makes that wait endless.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def notify(self) -> None:
        """End the wait under way, or the next one. Thread: any; never blocks."""
        with contextlib.suppress(RuntimeError):  # notified already
            self._lock.release()

    def wait(self, timeout_ms: int | None = None) -> bool:
        """Wait for a notification, which may precede the call; return False after ``timeout_ms``.

        None waits for ever, 0 does not wait.
        """
        if timeout_ms is None:
            return self._lock.acquire()
        return self._lock.acquire(timeout=min(max(0, timeout_ms) / 1000, threading.TIMEOUT_MAX))

    def clear(self) -> None:
        """Discard a notification that no wait has consumed."""
        self._lock.acquire(blocking=False)


class Mailbox(Generic[T]):
    """An unbounded queue that any thread may write to, even in a signal handler.

    ``put`` never blocks and is reentrant, so a ZooKeeper callback or a signal handler may call it
    whatever lock the interrupted code holds. One thread at a time waits.
    """

    __slots__ = ("_items", "_wakeup")

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._wakeup = WakeEvent()

    def put(self, item: T) -> None:
        """Append an item. Thread: any."""
        self._items.append(item)
        self._wakeup.notify()

    def get(self, timeout_ms: int | None = None) -> T | None:
        """Return the next item, or None after ``timeout_ms`` (None: no limit, 0: do not wait)."""
        if timeout_ms == 0:
            return self._items.popleft() if self._items else None
        end_s = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
        while True:
            try:
                return self._items.popleft()
            except IndexError:
                left_ms = None if end_s is None else math.ceil((end_s - time.monotonic()) * 1000)
            # The notification may be of an item that was taken without a wait.
            if (left_ms is not None and left_ms <= 0) or not self._wakeup.wait(left_ms):
                return self._items.popleft() if self._items else None

    def drain(self) -> list[T]:
        """Return all queued items, without waiting."""
        items: list[T] = []
        while True:
            try:
                items.append(self._items.popleft())
            except IndexError:
                return items


def wait_ms(duration_ms: int) -> None:
    """Wait for ``duration_ms``; the wait can't be ended sooner."""
    threading.Event().wait(duration_ms / 1000)


class ScopedThread:
    """A running thread of a scope."""

    __slots__ = ("_stop", "thread")

    def __init__(self, thread: threading.Thread, stop: Callable[[], None]) -> None:
        self.thread = thread
        self._stop = stop

    def request_stop(self) -> None:
        """Run the thread's stop function: set its flag, wake it, close its socket."""
        self._stop()


class ThreadScope:
    """Owns threads: starts them under a name, stops them, and keeps their errors."""

    def __init__(self, name: str, *, clock: Clock | None = None) -> None:
        self.name = name
        self._clock = clock or SystemClock()
        # Reentrant: a signal handler may close the scope in the middle of another call of it.
        self._lock = threading.RLock()
        self._threads: list[ScopedThread] = []
        self._errors: list[BaseException] = []
        self._closers: list[threading.Thread] = []

    def spawn(
        self,
        role: str,
        run: Callable[[], None],
        *,
        stop: Callable[[], None],
        on_error: Callable[[BaseException], None] | None = None,
    ) -> ScopedThread:
        """Start ``run`` in a thread named ``scope/role``.

        Args:
            role: the role of the thread, for its name.
            run: its body; returns soon after ``stop`` was called.
            stop: requests the body to return; called on another thread, must not block.
            on_error: called on the failed thread with its error.
        """

        def body() -> None:
            try:
                run()
            except BaseException as error:  # a thread's top: reported to its owner
                log.exception("thread %s died", threading.current_thread().name)
                with self._lock:
                    self._errors.append(without_frames(error))
                if on_error is not None:
                    on_error(error)

        thread = threading.Thread(target=body, name=f"{self.name}/{role}", daemon=True)
        scoped = ScopedThread(thread, stop)
        with self._lock:
            running = [spawned for spawned in self._threads if spawned.thread.is_alive()]
            self._threads = [*running, scoped]
            thread.start()
        return scoped

    def close(self, timeout_ms: int) -> list[str]:
        """Request every thread to stop, then join them all.

        A signal handler may call this whatever it interrupted. If it interrupted this thread's wait
        for the same threads, it only requests the stop, since two waits of one thread could block
        each other: the interrupted wait continues when the handler returns.

        Returns:
            The names of the threads that still ran after ``timeout_ms`` (normally none).
        """
        requested = fresh = self._stop_all_but([])
        current = threading.current_thread()
        if current in self._closers:
            return []
        self._closers.append(current)
        try:
            deadline_ms = self._clock.now_ms() + timeout_ms
            while fresh:
                for scoped in fresh:
                    if scoped.thread is not current and scoped.thread.is_alive():
                        scoped.thread.join(max(0, deadline_ms - self._clock.now_ms()) / 1000)
                # Threads that those threads started before they ended.
                fresh = self._stop_all_but(requested)
                requested = [*requested, *fresh]
            return [spawned.thread.name for spawned in requested if spawned.thread.is_alive()]
        finally:
            self._closers.remove(current)

    def _stop_all_but(self, requested: list[ScopedThread]) -> list[ScopedThread]:
        # Without the lock, which the code that a signal handler interrupted may hold.
        fresh = [spawned for spawned in list(self._threads) if spawned not in requested]
        for scoped in fresh:
            scoped.request_stop()
        return fresh

    def first_error(self) -> BaseException | None:
        """Return the error of the first thread that failed, or None."""
        with self._lock:
            return self._errors[0] if self._errors else None


def side_by_side(name: str, calls: Iterable[Callable[[], T]], *, threads: int) -> list[T]:
    """Call functions, several at a time; return their results in the order of the calls.

    Args:
        name: the scope's name, with which the threads' names begin.
        calls: the functions; each must return in bounded time.
        threads: the maximum number of threads.

    Raises:
        BaseException: the error of the first call that failed, once all have ended.
        RuntimeError: not even one thread can be started.
    """
    pending = deque(enumerate(calls))
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    def run() -> None:
        while pending:
            try:
                number, call = pending.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                results[number] = call()
            except BaseException as error:  # noqa: BLE001 - raised for the caller
                errors[number] = error

    scope = ThreadScope(name)
    spawned: list[ScopedThread] = []
    try:
        for number in range(min(threads, len(pending))):
            try:
                spawned.append(scope.spawn(str(number), run, stop=pending.clear))
            except RuntimeError:
                if not spawned:
                    raise
                break  # those that run make all calls
        for scoped in spawned:
            scoped.thread.join()
    finally:
        scope.close(0)
    for number in sorted(errors):
        raise errors[number]
    return [results[number] for number in sorted(results)]
