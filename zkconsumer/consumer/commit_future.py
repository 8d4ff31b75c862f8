"""The outcome of an asynchronous commit, in the form of kafka-python.

Source: kafka-python ``Future``, without the part for those that resolve futures.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from zkconsumer.errors import RebalanceInProgress
from zkconsumer.membership.protocol import Offsets

log = logging.getLogger(__name__)


class CommitFuture:
    """The outcome of ``commit_async``, once it is known.

    It is resolved where callbacks run: in a later ``poll``, ``commit``, ``unsubscribe`` or
    ``close`` of the consumer, or when the consumer's thread reads ``is_done``.

    Args:
        look: runs the callbacks that are due, if that is possible now.

    Attributes:
        value: the offsets that were committed; None before the end, and after a failure.
        exception: the error; None before the end, and after success.

    Example:
        >>> future = consumer.commit_async()  # doctest: +SKIP
        >>> future.add_errback(lambda error: print("not committed:", error))  # doctest: +SKIP
    """

    def __init__(self, look: Callable[[], object]) -> None:
        self._look = look
        self._is_done = False
        self._callbacks: list[Callable[[Any], object]] = []
        self._errbacks: list[Callable[[Any], object]] = []
        self.value: Offsets | None = None
        self.exception: Exception | None = None

    @property
    def is_done(self) -> bool:
        """Whether the outcome is known; runs due callbacks to find out."""
        if not self._is_done:
            self._look()
        return self._is_done

    def succeeded(self) -> bool:
        """Return whether the commit succeeded."""
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        """Return whether the commit failed."""
        return self.is_done and self.exception is not None

    def retriable(self) -> bool:
        """Return whether it failed in a way that a poll and another commit may cure."""
        return self.is_done and isinstance(self.exception, RebalanceInProgress)

    def add_callback(self, call: Callable[..., object], *values: Any, **named: Any) -> Self:
        """Call `call` with these values and the offsets on success; at once if already known.

        What it raises is logged.
        """
        return self._add(self._callbacks, partial(call, *values, **named))

    def add_errback(self, call: Callable[..., object], *values: Any, **named: Any) -> Self:
        """Call `call` with these values and the error on failure; as ``add_callback``."""
        return self._add(self._errbacks, partial(call, *values, **named))

    def add_both(self, call: Callable[..., object], *values: Any, **named: Any) -> Self:
        """Call `call` on success and on failure."""
        return self.add_callback(call, *values, **named).add_errback(call, *values, **named)

    def notify(self, offsets: Offsets, error: Exception | None) -> None:
        """Resolve the future. Called once, by the consumer."""
        self.value, self.exception = (offsets if error is None else None), error
        self._is_done = True
        self._run()

    def _add(self, calls: list[Callable[[Any], object]], call: Callable[[Any], object]) -> Self:
        calls.append(call)
        if self._is_done:
            self._run()
        return self

    def _run(self) -> None:
        worked = self.exception is None
        calls = self._callbacks if worked else self._errbacks
        while calls:
            call = calls.pop(0)
            try:
                call(self.value if worked else self.exception)
            except Exception:  # the caller's code
                log.exception("a callback of a commit's future failed")
