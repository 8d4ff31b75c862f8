"""Run jobs in threads: most of their work releases the GIL."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from zkconsumer.scope import Mailbox, ThreadScope, naps

T = TypeVar("T")
R = TypeVar("R")
_PATIENCE_MS = 2_000
"""How long to wait for jobs that are given up: what they still write does not count."""


class GivenUp(Exception):
    """Raised in a job whose result is no longer wanted."""


@dataclass(slots=True)
class Cancellation:
    """Cancels running jobs. Thread: any."""

    is_closed: bool = False

    def check(self) -> None:
        """Return, unless the jobs are cancelled.

        Raises:
            GivenUp: they are.
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

    The first error ends all; to stop early, close the iterator (a generator). Thread: results and
    exceptions of signal handlers reach the caller's.

    Args:
        job: gets an item and the cancellation, whose ``check`` it calls often.
        items: started in this order.
        threads: how many at a time.
        name: of the threads.

    Yields:
        Results, in the order in which they come.

    Raises:
        Exception: of the first job that failed.
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
        scope.close(_PATIENCE_MS)


def _close(cancellation: Cancellation) -> None:
    cancellation.is_closed = True


def _next(responses: "Mailbox[Any]") -> Any:
    """Return the next result; wait in intervals, so that signals are handled."""
    return next(found for nap in naps(None) if (found := responses.get(nap)) is not None)
