"""Hedged requests: what nobody answers is asked once more over another connection.

A broker, or what lies between, may lose one response and give all others. Waiting for it as long as
a request may take costs that time in silence, though the next one would be answered at once. But a
long silence is no proof: a broker that throttles (before 2.0) keeps its response back for seconds,
and a disk may be slow. So nothing is given up: the first request stays under way, and whichever
answer begins first counts. Bytes that keep coming are a sign of life however long the whole takes.

Source: Dean and Barroso, "The Tail at Scale"; gRPC's A6 (request hedging). See
docs/decisions/0043.
"""

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.errors import ProtocolError, RequestTimedOut, TransportError, ZkConsumerError
from zkconsumer.net.in_flight import InFlight, Received

R = TypeVar("R")

FIRST_QUIET_MS = 2_000
"""How long silence lasts before a request is hedged, where it may take half a minute."""

_LEAST_QUIET_MS = 50
_LEAST_TURN_MS = 10
_LONGEST_TURN_MS = 100
"""Two connections are listened to in turns so long, shorter at the beginning."""


class HedgePace:
    """How long a broker may be silent before it is asked again: pure. Thread: one.

    A hedge that was in vain doubles that time, up to none at all, so that a broker that is slow
    rather than deaf is not given twice the work for long. One that was answered first, or an answer
    without a hedge, brings it back.

    Args:
        request_timeout_ms: how long a request may take; a fifteenth of it is the first time, at
            most ``FIRST_QUIET_MS``.
    """

    def __init__(self, request_timeout_ms: int) -> None:
        self._first_ms = max(_LEAST_QUIET_MS, min(FIRST_QUIET_MS, request_timeout_ms // 15))
        self._most_ms = max(self._first_ms, request_timeout_ms)
        self.quiet_ms = self._first_ms

    def won(self) -> None:
        """Note that the second request was answered first."""
        self.quiet_ms = self._first_ms

    def lost(self) -> None:
        """Note that the first one was answered all the same."""
        self.quiet_ms = min(self.quiet_ms * 2, self._most_ms)

    def on_response(self) -> None:
        """Note a response that needed no second request."""
        self.quiet_ms = max(self._first_ms, self.quiet_ms // 2)


class PendingRequest(Protocol):
    """A request under way."""

    def receive(self, timeout_ms: int) -> Received:
        """Read on in its response; see ``BrokerConnection.receive``."""
        ...

    def close(self) -> None:
        """Give it up: close its connection."""
        ...


class HedgedConnection(Protocol):
    """A connection that a request can be sent on ahead of waiting: either kind of this package."""

    def receive(self, in_flight: InFlight[Any], *, timeout_ms: int) -> Received:
        """See ``BrokerConnection.receive``."""
        ...

    def finish(self, in_flight: InFlight[R], *, timeout_ms: int) -> R:
        """See ``BrokerConnection.finish``."""
        ...

    def close(self) -> None:
        """See ``BrokerConnection.close``."""
        ...


C = TypeVar("C", bound=HedgedConnection)


class Sent(Generic[C, R]):
    """A request that was sent on a connection: a ``PendingRequest``.

    Args:
        connection: which nobody else uses meanwhile.
        in_flight: what its ``begin`` gave.
    """

    def __init__(self, connection: C, in_flight: InFlight[R]) -> None:
        self.connection = connection
        self.in_flight = in_flight

    def receive(self, timeout_ms: int) -> Received:
        """See ``PendingRequest``."""
        return self.connection.receive(self.in_flight, timeout_ms=timeout_ms)

    def response(self) -> R:
        """Return the response that has come.

        Raises:
            DecodeError: it is none; the connection is closed.
        """
        return self.connection.finish(self.in_flight, timeout_ms=0)

    def close(self) -> None:
        """See ``PendingRequest``."""
        self.connection.close()


A = TypeVar("A", bound=PendingRequest)


def first_response(
    first: A | None,
    start_next: Callable[[ZkConsumerError | None], A | None],
    *,
    quiet_ms: int,
    timeout_ms: int,
    clock: Clock,
    whom: object,
) -> A:
    """Wait for the first of several requests that is answered; the others are closed.

    Thread: one; whoever closes the connections that are in use ends it.

    Args:
        first: is under way; None: ``start_next`` gives it.
        start_next: sends another request, once all that are under way have been silent for
            ``quiet_ms``, or have failed; then it is told how the last one did. None: there is none.
            It should not wait longer than ``quiet_ms``, since nobody listens meanwhile.
        quiet_ms: see there.
        timeout_ms: for all together, from now on.
        clock: for deadlines.
        whom: is asked, for the error.

    Returns:
        The one whose response is there as a whole.

    Raises:
        TransportError: all of them failed, or nothing was answered in time: the last failure.
        ProtocolError: that was a response that is none.
        ZkConsumerError: what ``start_next`` raises where nothing else is under way.
    """
    race: _Race[A] = _Race(start_next, quiet_ms, clock.now_ms() + timeout_ms, clock, whom)
    return race.run(first)


class _Race(Generic[A]):
    """Requests that are under way at the same time."""

    def __init__(
        self,
        start_next: Callable[[ZkConsumerError | None], A | None],
        quiet_ms: int,
        deadline_ms: int,
        clock: Clock,
        whom: object,
    ) -> None:
        self._whom = whom
        self._start_next = start_next
        self._quiet_ms = quiet_ms
        self._deadline_ms = deadline_ms
        self._clock = clock
        self._running: list[A] = []
        self._has_more = True
        self._last_response_ms = clock.now_ms()
        self._failure: ZkConsumerError | None = None

    def run(self, first: A | None) -> A:
        self._running = [] if first is None else [first]
        responder: A | None = None
        try:
            while responder is None:
                self._start()
                responder = self._listen()
            return responder
        finally:
            self._close_but(responder)

    def _start(self) -> None:
        """Send another request if it is time to."""
        now_ms = self._clock.now_ms()
        if now_ms >= self._deadline_ms:
            if not self._running and self._failure is not None:
                raise self._failure
            raise RequestTimedOut(f"{self._whom}: no answer in time")
        if not self._has_more or (
            self._running and now_ms < self._last_response_ms + self._quiet_ms
        ):
            return
        started: A | None = None
        try:
            started = self._start_next(None if self._running else self._failure)
        except ZkConsumerError as error:
            if not self._running:
                raise
            # The one that is under way may be answered still; there will be no other.
            self._failure = error
        if started is None:
            self._has_more = False
        else:
            self._running.append(started)
        self._last_response_ms = self._clock.now_ms()

    def _listen(self) -> A | None:
        """Listen to each for a moment; give one that is answered."""
        if not self._running:
            if not self._has_more:
                raise self._failure or RequestTimedOut(f"{self._whom}: nobody can be asked")
            return None
        for runner in list(self._running):
            try:
                received = runner.receive(self._turn_ms())
            except (TransportError, ProtocolError) as error:
                self._running.remove(runner)
                self._failure = error
                runner.close()
                continue
            if received is Received.ALL:
                return runner
            if received is Received.PART:
                # It is alive: the others would only share the way with it.
                self._last_response_ms = self._clock.now_ms()
                self._close_but(runner)
                self._running = [runner]
                break
        return None

    def _turn_ms(self) -> int:
        now_ms = self._clock.now_ms()
        left_ms = self._deadline_ms - now_ms
        if len(self._running) > 1:
            turn_ms = min(
                _LONGEST_TURN_MS, max(_LEAST_TURN_MS, (now_ms - self._last_response_ms) // 10)
            )
            return max(1, min(left_ms, turn_ms))
        if self._has_more:
            left_ms = min(left_ms, self._last_response_ms + self._quiet_ms - now_ms)
        return max(1, left_ms)

    def _close_but(self, kept: A | None) -> None:
        for runner in self._running:
            if runner is not kept:
                runner.close()
