"""Several jobs at once, in threads: what they do runs without the GIL for the most part."""

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
    """Raised in a job when nobody wants its result any more."""


@dataclass(slots=True)
class Cancellation:
    """Tells running jobs that nobody wants their results any more. Thread: any."""

    is_closed: bool = False

    def check(self) -> None:
        """Go on, unless the jobs are given up.

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
    """Do a job for each item, so many at a time.

    The first error ends all, and whoever stops early closes the iterator (a generator). Thread: the
    caller's gets the results; a signal handler's exception gets through.

    Args:
        job: gets an item and the cancellation, whose ``check`` it calls often.
        items: begun in this order.
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
    """The next answer; in naps, so that signals are heard."""
    return next(found for nap in naps(None) if (found := responses.get(nap)) is not None)
