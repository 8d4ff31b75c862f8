"""Runs jobs in threads, since most of their work releases the GIL."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from zkconsumer.scope import Mailbox, ThreadScope, naps

T = TypeVar("T")
R = TypeVar("R")
_CLOSE_TIMEOUT_MS = 2_000
"""The time to wait for abandoned jobs, whose output does not count."""


class GivenUp(Exception):
    """The result of the job is no longer wanted."""


@dataclass(slots=True)
class Cancellation:
    """Cancels running jobs. Thread: any."""

    is_closed: bool = False

    def check(self) -> None:
        """Check that the jobs are not cancelled.

        Raises:
            GivenUp: the jobs are cancelled.
        """
        if self.is_closed:
            raise GivenUp


@dataclass(slots=True)
class _JobResult(Generic[R]):
    results: list[R] = field(default_factory=list)
    error: BaseException | None = None


def in_threads(
    job: Callable[[T, Cancellation], R], items: Sequence[T], *, threads: int, name: str
) -> Iterator[R]:
    """Run a job for each item, in at most ``threads`` threads.

    The first error ends all jobs; to stop early, close the iterator (a generator). Thread: results
    are yielded, and exceptions of signal handlers raised, in the caller's thread.

    Args:
        job: the function; called with an item and the cancellation, whose ``check`` it calls often.
        items: the inputs, in the order in which jobs are started.
        threads: the maximum number of threads.
        name: the name of the threads.

    Yields:
        Results, in the order of completion.

    Raises:
        Exception: the error of the first job that failed.
    """
    todo, cancellation, responses = deque(items), Cancellation(), Mailbox[_JobResult[R]]()

    def body() -> None:
        while todo and not cancellation.is_closed:
            try:
                item = todo.popleft()
            except IndexError:
                return
            try:
                responses.put(_JobResult([job(item, cancellation)]))
            except BaseException as error:  # noqa: BLE001 - raised where the results are wanted
                responses.put(_JobResult(error=error))
                return

    scope = ThreadScope(name)
    try:
        for number in range(min(threads, len(items))):
            scope.spawn(str(number), body, stop=lambda: _close(cancellation))
        for _ in items:
            response = _next(responses)
            if response.error is not None:
                raise response.error
            yield from response.results
    finally:
        _close(cancellation)
        scope.close(_CLOSE_TIMEOUT_MS)


def _close(cancellation: Cancellation) -> None:
    cancellation.is_closed = True


def _next(responses: "Mailbox[Any]") -> Any:
    """Return the next result; wait in intervals, so that signals are handled."""
    return next(found for nap in naps(None) if (found := responses.get(nap)) is not None)
