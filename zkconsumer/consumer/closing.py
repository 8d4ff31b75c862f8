"""Closes a consumer whenever ``close`` is called: between calls, during one, from any thread.

The one rule: a consumer is closed only while no operation is half done. ``close`` does it itself if
no call is under way, or if that call only waits. Otherwise the thread of the call under way does it
before the call returns or raises. docs/decisions/0048 says why.

A signal handler runs between two instructions of the main thread, but not between any two: only
where a Python function begins, a loop repeats or a built-in function has returned. "No signal
handler runs between" below relies on that: plain loads, stores and tests of attributes are never
separated.
"""

import functools
import logging
from collections.abc import Callable
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from zkconsumer.consumer.one_caller import DeferredClose, OtherThreadInside
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.errors import ConsumerClosed, RequestTimedOut

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)

_MAX_SLEEP_MS: Final = 500
"""The longest single wait of a closing thread for the thread that is inside."""


class HasComponents(Protocol):
    """A consumer, as far as it is used here."""

    _parts: ConsumerComponents


S = TypeVar("S", bound=HasComponents)


def public_call(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Decorate a public method: at its end, do a ``close`` that was requested meanwhile.

    Public methods have it, except ``close``, ``wakeup`` and those that hand out records (see
    ``deliver``).
    """

    @functools.wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        gate = self._parts.one_caller
        here = gate.here
        failed = True
        here.depth += 1
        try:
            result = method(self, *args, **kwargs)
            failed = False
            return result
        finally:
            here.depth -= 1
            if gate.request is not None and not here.depth:
                finish(self._parts, quietly=failed)

    return call


def close(parts: ConsumerComponents, timeout_ms: int, *, commit: bool) -> None:
    """Close the consumer, now or at the end of the call under way. Thread: any; signal handlers.

    Args:
        parts: the consumer's components.
        timeout_ms: the time limit of closing.
        commit: whether to commit what was handed out.

    Raises:
        ConsumerForked: this is a forked child.
        RequestTimedOut: another thread's call did not end in time; it closes the consumer when it
            ends.
        Exception: the listener's exception; the consumer is closed nevertheless.
    """
    gate = parts.one_caller
    if gate.closed:
        return
    gate.check_process()
    request = DeferredClose(commit, parts.clock.now_ms() + timeout_ms)
    if gate.here.depth and not _only_waits(parts):
        _request(parts, request)
        return
    while not gate.closed:
        try:
            with gate:
                failure = _close_here(parts, request)
        except OtherThreadInside:
            _request(parts, request)
            _wait_until_out(parts, request, timeout_ms)
        except ConsumerClosed:
            # Another thread is closing it, or has closed it.
            _wait_until_out(parts, request, timeout_ms)
        else:
            if failure is not None:
                raise failure


def finish(parts: ConsumerComponents, *, quietly: bool) -> None:
    """Do the ``close`` that was requested during the call that now ends.

    Args:
        parts: the consumer's components.
        quietly: whether to log the listener's exception, since the call itself raises one.

    Raises:
        Exception: the listener's exception; the consumer is closed nevertheless.
    """
    gate = parts.one_caller
    request = gate.request
    if request is None:
        return
    failure: Exception | None = None
    try:
        with gate:
            failure = _close_here(parts, request)
    except OtherThreadInside:
        return  # that thread will close the consumer
    except ConsumerClosed:
        pass
    finally:
        gate.out.notify()
    if failure is not None:
        if not quietly:
            raise failure
        log.error("%s: the listener failed while it was closed", gate.owner, exc_info=failure)


def _only_waits(parts: ConsumerComponents) -> bool:
    """Return whether the signal handler that calls this interrupted a poll that only waits.

    Nothing is half done then. False for a poll that a listener called.
    """
    gate = parts.one_caller
    return gate.here.depth == 1 and gate.is_inside and parts.loop.is_resting


def _request(parts: ConsumerComponents, request: DeferredClose) -> None:
    """Request that the call under way end and close the consumer."""
    gate = parts.one_caller
    if gate.request is None and not (gate.is_closing or gate.closed):
        gate.request = request
    parts.wakeup.signal()


def _wait_until_out(parts: ConsumerComponents, request: DeferredClose, timeout_ms: int) -> None:
    left_ms = request.deadline_ms - parts.clock.now_ms()
    if left_ms <= 0 and not parts.one_caller.closed:
        raise RequestTimedOut(
            f"{parts.one_caller.owner}: another thread is still in a call after {timeout_ms} ms; "
            "that call closes the consumer when it ends"
        )
    parts.one_caller.out.wait(max(0, min(left_ms, _MAX_SLEEP_MS)))


def _close_here(parts: ConsumerComponents, request: DeferredClose) -> Exception | None:
    """Close the consumer; return the listener's exception. Thread: the one inside."""
    gate, session = parts.one_caller, parts.session
    here = gate.here
    here.depth += 1
    try:
        gate.is_closing = True
        session.changed()
        session.positions.take_back()
        # From here on an iteration in another thread gets no record that is not committed.
        session.buffer.end()
        parts.close(max(0, request.deadline_ms - parts.clock.now_ms()), commit=request.commit)
    except Exception as error:  # noqa: BLE001 - the listener's: raised where the caller sees it
        return error
    finally:
        gate.closed = True
        gate.is_closing = False
        gate.request = None
        here.depth -= 1
        session.changed()
        gate.out.notify()
        parts.wakeup.signal()
    return None
