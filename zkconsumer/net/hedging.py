"""Hedged requests: send a request again over another connection when the broker is silent.

A broker or the network may lose one response and deliver all others. Waiting for the request
timeout wastes time then, since a second request would get its response immediately. But a long
silence is no proof of loss: a throttling broker (before 2.0) delays its responses by seconds, and
disks may be slow. So the first request stays in flight, and the response that begins first is used.
A broker whose bytes keep arriving is not silent, however long the whole response takes.

Source: Dean and Barroso, "The Tail at Scale"; gRPC's A6 (request hedging). See
docs/decisions/0043.
"""

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.errors import ProtocolError, RequestTimedOut, TransportError, ZkConsumerError
from zkconsumer.net.in_flight import InFlight, Received
from zkconsumer.net.negotiated_connection import NegotiatedConnection

R = TypeVar("R")

FIRST_HEDGE_DELAY_MS = 2_000
"""How long a broker may be silent before a request is hedged, at a request timeout of 30 s."""

SLOW_TIMES: Final = 10
"""A fetch response that keeps arriving over a slow link may take so many times the request timeout.
Requested again, it would take as long, and so without end."""

_LEAST_HEDGE_DELAY_MS = 50
_LEAST_POLL_MS = 10
_LONGEST_POLL_MS = 100
"""The longest wait on one of two connections before the other is polled; the first are shorter."""


class HedgePace:
    """Decides how long a broker may be silent before a request is hedged. Pure. Thread: one.

    A hedge that loses doubles that time, up to the request timeout, so that a slow broker does not
    get twice the work for long. A hedge that wins resets it; a response without a hedge halves it.

    Args:
        request_timeout_ms: the request timeout; a fifteenth of it is the initial time, between
            50 ms and ``FIRST_HEDGE_DELAY_MS``.
    """

    def __init__(self, request_timeout_ms: int) -> None:
        self._first_ms = max(
            _LEAST_HEDGE_DELAY_MS, min(FIRST_HEDGE_DELAY_MS, request_timeout_ms // 15)
        )
        self._most_ms = max(self._first_ms, request_timeout_ms)
        self.hedge_delay_ms = self._first_ms

    def on_hedge_won(self) -> None:
        """Record that the response to the hedge came first."""
        self.hedge_delay_ms = self._first_ms

    def on_hedge_lost(self) -> None:
        """Record that the response to the original request came first."""
        self.hedge_delay_ms = min(self.hedge_delay_ms * 2, self._most_ms)

    def on_response(self) -> None:
        """Record a response to a request that was not hedged."""
        self.hedge_delay_ms = max(self._first_ms, self.hedge_delay_ms // 2)


class PendingRequest(Protocol):
    """A request in flight."""

    def receive(self, timeout_ms: int) -> Received:
        """Receive more of the response; see ``BrokerConnection.receive``."""
        ...

    def close(self) -> None:
        """Abandon the request: close its connection."""
        ...


class Sent(Generic[R]):
    """A ``PendingRequest`` that was sent on a negotiated connection. Thread: one at a time.

    Args:
        connection: the connection, which no other thread uses meanwhile.
        in_flight: the return value of its ``begin``.
    """

    def __init__(self, connection: NegotiatedConnection, in_flight: InFlight[R]) -> None:
        self.connection = connection
        self.in_flight = in_flight

    def receive(self, timeout_ms: int) -> Received:
        """See ``PendingRequest``."""
        return self.connection.receive(self.in_flight, timeout_ms=timeout_ms)

    def response(self) -> R:
        """Return the response, which must have arrived.

        Raises:
            DecodeError: it cannot be decoded; the connection is closed.
        """
        return self.connection.finish(self.in_flight, timeout_ms=0)

    def close(self) -> None:
        """See ``PendingRequest``."""
        self.connection.close()


class TimeLimits(NamedTuple):
    """The time limits of requests that compete for the first response, in ms.

    Attributes:
        quiet_ms: after this silence another request is sent.
        timeout_ms: of all requests together.
        slow_times: a response may take so many times as long, while something of it arrives in
            each ``timeout_ms``.
    """

    quiet_ms: int
    timeout_ms: int
    slow_times: int = 1


A = TypeVar("A", bound=PendingRequest)


def first_response(
    first: A | None,
    start_next: Callable[[ZkConsumerError | None], A | None],
    *,
    limits: TimeLimits,
    clock: Clock,
    whom: object,
) -> A:
    """Return the first of several requests to get its response; close the others.

    Thread: one; another thread ends the call by closing the connections in use.

    Args:
        first: a request in flight; None: ``start_next`` sends the first one.
        start_next: sends another request when all in flight have been silent for ``quiet_ms``, or
            have failed; its argument is the last failure once none is in flight, else None. Returns
            None if there is nothing more to send. It should not block longer than ``quiet_ms``,
            since nothing is received meanwhile.
        limits: the time limits.
        clock: for deadlines.
        whom: the addressee, for the error message.

    Returns:
        The request whose response has arrived completely.

    Raises:
        TransportError: all requests failed (the last failure is raised), or no response came in
            time.
        ProtocolError: the last failure, an invalid response.
        ZkConsumerError: an error of ``start_next`` when nothing else is in flight.
    """
    race: _Race[A] = _Race(start_next, limits, clock, whom)
    return race.run(first)


class _Race(Generic[A]):
    """Several requests in flight that compete for the first response."""

    def __init__(
        self,
        start_next: Callable[[ZkConsumerError | None], A | None],
        limits: TimeLimits,
        clock: Clock,
        whom: object,
    ) -> None:
        began_ms = clock.now_ms()
        self._whom = whom
        self._start_next = start_next
        self._quiet_ms = limits.quiet_ms
        self._timeout_ms = limits.timeout_ms
        self._deadline_ms = began_ms + limits.timeout_ms
        self._latest_ms = began_ms + limits.slow_times * limits.timeout_ms
        self._clock = clock
        self._running: list[A] = []
        self._has_more = True
        self._last_response_ms = began_ms
        self._failure: ZkConsumerError | None = None

    def run(self, first: A | None) -> A:
        self._running = [] if first is None else [first]
        answered: A | None = None
        try:
            while answered is None:
                self._start()
                answered = self._listen()
            return answered
        finally:
            self._close_but(answered)

    def _start(self) -> None:
        """Send another request if it is due."""
        now_ms = self._clock.now_ms()
        if now_ms >= self._deadline_ms:
            if not self._running and self._failure is not None:
                raise self._failure
            raise RequestTimedOut(f"{self._whom}: no response in time")
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
            # A request in flight may still get its response; no other will be sent.
            self._failure = error
        if started is None:
            self._has_more = False
        else:
            self._running.append(started)
        self._last_response_ms = self._clock.now_ms()

    def _listen(self) -> A | None:
        """Poll each request for a moment; return one whose response is complete."""
        if not self._running:
            if not self._has_more:
                raise self._failure or RequestTimedOut(f"{self._whom}: nothing was sent")
            return None
        for request in list(self._running):
            try:
                received = request.receive(self._poll_ms())
            except (TransportError, ProtocolError) as error:
                self._running.remove(request)
                self._failure = error
                request.close()
                continue
            if received is Received.ALL:
                return request
            if received is Received.PART:
                # This response is arriving: the others would only compete for bandwidth.
                self._last_response_ms = self._clock.now_ms()
                later_ms = min(self._last_response_ms + self._timeout_ms, self._latest_ms)
                self._deadline_ms = max(self._deadline_ms, later_ms)
                self._close_but(request)
                self._running = [request]
                break
        return None

    def _poll_ms(self) -> int:
        now_ms = self._clock.now_ms()
        left_ms = self._deadline_ms - now_ms
        if len(self._running) > 1:
            poll_ms = min(
                _LONGEST_POLL_MS, max(_LEAST_POLL_MS, (now_ms - self._last_response_ms) // 10)
            )
            return max(1, min(left_ms, poll_ms))
        if self._has_more:
            left_ms = min(left_ms, self._last_response_ms + self._quiet_ms - now_ms)
        return max(1, left_ms)

    def _close_but(self, kept: A | None) -> None:
        for request in self._running:
            if request is not kept:
                request.close()
