"""The outcome of a background operation, with callbacks, as in kafka-python.

Source: kafka-python ``Future``, without the methods that resolve a future.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)


class CallbackFuture(Generic[T]):
    """A value or an error that is known later; its owner resolves it once, in any thread.

    Attributes:
        value: the value; None until the outcome is known, and after a failure.
        exception: the error; None until the outcome is known, and after success.

    Thread: any.
    Source: kafka-python ``Future``.
    """

    __slots__ = ("_calls", "_is_done", "exception", "value")

    def __init__(self) -> None:
        self._is_done = False
        # Not created on first use: two threads that add their first callback at the same time would
        # each create one. A list is cheap: a producer makes a future for each record, and most have
        # no callbacks.
        self._calls: list[tuple[bool, Callable[[Any], object]]] = []
        self.value: T | None = None
        self.exception: Exception | None = None

    @property
    def is_done(self) -> bool:
        """Whether the outcome is known."""
        return self._is_done

    def succeeded(self) -> bool:
        """Return whether there is a value.

        Returns:
            False also before the outcome is known.

        Thread: any.
        """
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        """Return whether there is an error.

        Returns:
            False also before the outcome is known.

        Thread: any.
        """
        return self.is_done and self.exception is not None

    def add_callback(self, call: Callable[..., object], *values: Any, **named: Any) -> Self:
        """Call a function on success, immediately if the outcome is known.

        What the function raises is logged.

        Args:
            call: the function; the last argument is the outcome's value.
            *values: its first arguments.
            **named: its keyword arguments.

        Returns:
            This future, so that calls can be chained.

        Thread: any; the function runs in the thread that resolves the future, or in this one if the
            outcome is known already.
        """
        self._calls.append((True, partial(call, *values, **named)))
        return self._run_if_done()

    def add_errback(self, call: Callable[..., object], *values: Any, **named: Any) -> Self:
        """Call a function on failure, immediately if the outcome is known.

        What the function raises is logged.

        Args:
            call: the function; the last argument is the error.
            *values: its first arguments.
            **named: its keyword arguments.

        Returns:
            This future, so that calls can be chained.

        Thread: any; the function runs in the thread that resolves the future, or in this one if the
            outcome is known already.
        """
        self._calls.append((False, partial(call, *values, **named)))
        return self._run_if_done()

    def add_both(self, call: Callable[..., object], *values: Any, **named: Any) -> Self:
        """Call a function when the outcome is known, on success and on failure.

        Args:
            call: the function; the last argument is the value or the error.
            *values: its first arguments.
            **named: its keyword arguments.

        Returns:
            This future, so that calls can be chained.

        Thread: any; the function runs in the thread that resolves the future, or in this one if the
            outcome is known already.
        """
        return self.add_callback(call, *values, **named).add_errback(call, *values, **named)

    def notify(self, value: T | None, error: Exception | None) -> None:
        """Resolve the future, and run its callbacks.

        Args:
            value: the value, on success.
            error: None on success.

        Thread: the owner's, once.
        """
        self.value, self.exception = (value if error is None else None), error
        self._is_done = True
        self._run_if_done()

    def _run_if_done(self) -> Self:
        while self._is_done and self._calls:
            try:
                # Another thread may add one, and take it, at the same time.
                of_success, call = self._calls.pop(0)
            except IndexError:
                break
            if of_success is not (self.exception is None):
                continue
            try:
                call(self.value if self.exception is None else self.exception)
            except Exception:  # the caller's code
                log.exception("a callback of a future failed")
        return self
