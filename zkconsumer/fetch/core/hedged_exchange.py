"""Exchange requests with one broker, over a second connection if it is silent; for all readers.

This module decides for every fetcher which version of Fetch to send, how long to pause for the
broker's quota, and when to hedge a request.
"""

import logging
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import Broker
from zkconsumer.net.hedging import (
    SLOW_TIMES,
    HedgePace,
    PendingRequest,
    Sent,
    TimeLimits,
    first_response,
)
from zkconsumer.net.negotiated import Dial, NegotiatedConnection
from zkconsumer.repeats import Repeats
from zkconsumer.wire.api import Request
from zkconsumer.wire.messages.fetch import (
    FETCH,
    FIRST_SOFT_BOUNDS,
    FIRST_UNTHROTTLED,
    FetchRequest,
    FetchResponse,
)

log = logging.getLogger(__name__)
R = TypeVar("R")

Newest = Callable[[NegotiatedConnection], int]
"""Returns the newest version of Fetch that a reader may send over a connection."""


MOST_THROTTLE_MS: Final = 300_000
"""Maximum pause for a quota, ms: far beyond those of usual quotas. The pump has the same bound."""


class SecondResponse(NamedTuple):
    """Hold the response to a hedged request, which came before that to the first one.

    Attributes:
        request: the request that it answers.
        response: the response.
        took_ms: the time since the first one was sent.
    """

    request: FetchRequest
    response: FetchResponse
    took_ms: int


class HedgedExchange:
    """Exchange requests with one broker. Thread: its fetcher's, but for ``stop``.

    Args:
        broker: the broker.
        dial: opens connections.
        request_timeout_ms: time limit of a request, besides the broker's wait for data.
        clock: for deadlines.
        repeats: warns of a pause beyond ``MOST_THROTTLE_MS``.
        newest: see ``Newest``; the broker's own limit is applied as well.

    Attributes:
        connection: the connection for the next request; None: there is none.
        pace: how long the broker may be silent before a hedged request.
        fetch_version: version of Fetch; without a connection the oldest, whose bounds always hold.
        paused_until_ms: nothing is sent before this time; may be carried over to the next
            connection.
    """

    def __init__(
        self,
        broker: Broker,
        dial: Dial,
        request_timeout_ms: int,
        clock: Clock,
        repeats: Repeats,
        *,
        newest: Newest = lambda _connection: FETCH.last,
    ) -> None:
        self.connection: NegotiatedConnection | None = None
        self.pace = HedgePace(request_timeout_ms)
        self.fetch_version = 0
        self.paused_until_ms = 0
        self._broker = broker
        self._dial = dial
        self._request_timeout_ms = request_timeout_ms
        self._clock = clock
        self._repeats = repeats
        self._newest = newest
        self._second: NegotiatedConnection | None = None  # while a request is under way on both
        self._stopping = False

    @property
    def has_hard_bounds(self) -> bool:
        """Whether the broker has no limit for a whole response, and cuts sets in mid-entry."""
        return self.fetch_version < FIRST_SOFT_BOUNDS

    def stop(self) -> None:
        """Stop; closing connections wakes a thread that waits for a response. Thread: any."""
        self._stopping = True
        for connection in (self.connection, self._second):
            if connection is not None:
                connection.close()

    def close(self) -> bool:
        """Close the connections; return whether there were any."""
        closed = [
            connection for connection in (self.connection, self._second) if connection is not None
        ]
        self.connection = self._second = None
        self.fetch_version = 0
        for connection in closed:
            connection.close()
        return bool(closed)

    def open(self) -> NegotiatedConnection:
        """Open a connection, and use it from here on.

        Raises:
            ZkConsumerError: as ``BrokerDialer.dial``; or there is no version of Fetch in common.
        """
        connection = self._dial(self._broker)
        self._use(connection)
        return connection

    def send(
        self,
        connection: NegotiatedConnection,
        request: Request[R],
        timeout_ms: int,
        at_most: int | None = None,
    ) -> Sent[R]:
        """Send a request, in a version of at most ``at_most``; None: the newest of Fetch."""
        last = self._newest(connection) if at_most is None else at_most
        return Sent(connection, connection.begin(request, timeout_ms=timeout_ms, at_most=last))

    def respond(
        self,
        first: PendingRequest,
        again: Callable[[], Request[R]],
        *,
        waits_ms: int = 0,
        at_most: int | None = None,
        is_silent: bool = False,
    ) -> Sent[R] | None:
        """Wait for a response, and send the request again if the broker is silent.

        Args:
            first: the request in flight on ``connection``.
            again: makes the request to send over a second connection.
            waits_ms: how long the broker may wait for data.
            at_most: see ``send``.
            is_silent: whether the broker has been silent for the quiet time already.

        Returns:
            The second request if its response came first; ``connection`` is then its connection.
            None: the first one was answered.

        Raises:
            ZkConsumerError: as ``first_response``.
        """
        hedge: Sent[R] | None = None

        def start(failure: ZkConsumerError | None) -> PendingRequest | None:
            nonlocal hedge
            if failure is not None or self._second is not None:
                return None
            longest_ms = self.pace.hedge_delay_ms
            request = again()
            what = type(request).__name__
            log.info(
                "%s: no response to a %s: retrying over a second connection", self._broker, what
            )
            second = self._second = self._dial(self._broker, timeout_ms=longest_ms)
            self._see_stop(second)
            hedge = self.send(second, request, longest_ms, at_most)
            return hedge

        quiet_ms, timeout_ms = (
            self.pace.hedge_delay_ms + waits_ms,
            self._request_timeout_ms + waits_ms,
        )
        if is_silent:
            quiet_ms, timeout_ms = 0, max(1, timeout_ms - quiet_ms)
        responder = first_response(
            first,
            start,
            limits=TimeLimits(quiet_ms, timeout_ms, SLOW_TIMES),
            clock=self._clock,
            whom=self._broker,
        )
        self._settle(is_second=responder is not first)
        return None if responder is first else hedge

    def apply_throttle_time(self, response: FetchResponse) -> None:
        """Send nothing for the throttle time of a response.

        Before version 8 brokers delay responses themselves. The pause applies nonetheless if such
        a response is empty, or if the connection was closed since: the broker must not be polled
        in a busy loop.
        """
        is_ours = self.fetch_version >= FIRST_UNTHROTTLED or self.connection is None
        if is_ours or not response.topics:
            self.pause(response.throttle_time_ms)

    def pause(self, throttle_ms: int) -> None:
        """Send nothing for the throttle time of the broker's quota, ms; 0 changes nothing."""
        if throttle_ms > 0:
            pause_ms = throttle_pause_ms(self._broker, throttle_ms, self._repeats)
            self.pause_until(self._clock.now_ms() + pause_ms)

    def pause_until(self, until_ms: int) -> None:
        """Send nothing before this time; a pause that ends later stays as it is."""
        self.paused_until_ms = max(self.paused_until_ms, until_ms)

    def pause_left_ms(self) -> int:
        """Return how long to send nothing, in ms; 0 or less: no pause."""
        return self.paused_until_ms - self._clock.now_ms() if self.paused_until_ms else 0

    def _settle(self, *, is_second: bool) -> None:
        """Keep the connection that responded first; the race closed the other one."""
        second, self._second = self._second, None
        if is_second:
            assert second is not None
            self.pace.on_hedge_won()
            self._use(second)
        elif second is not None:
            self.pace.on_hedge_lost()
        else:
            self.pace.on_response()

    def _use(self, connection: NegotiatedConnection) -> None:
        """Use this connection from here on."""
        self.connection = connection
        self._see_stop(connection)
        newest = self._newest(connection)
        self.fetch_version = connection.version_of(FetchRequest, at_most=newest)

    def _see_stop(self, connection: NegotiatedConnection) -> None:
        """Close a connection that was opened after ``stop``, which could not close it."""
        if self._stopping:
            connection.close()


def throttle_pause_ms(broker: Broker, throttle_ms: int, repeats: Repeats) -> int:
    """Return how long to send a broker nothing; cap a pause beyond the bound, with a warning.

    Args:
        broker: the broker that requests the pause.
        throttle_ms: the requested pause, ms; up to 24 days fit into the field.
        repeats: for the warning.
    """
    if throttle_ms > MOST_THROTTLE_MS:
        text = (
            f"{broker} throttles this client for {throttle_ms} ms (quota): the next request is "
            f"sent after {MOST_THROTTLE_MS} ms; check the quotas that it has for this client"
        )
        repeats.happened(f"{broker}: its quota", text)
    return max(0, min(throttle_ms, MOST_THROTTLE_MS))
