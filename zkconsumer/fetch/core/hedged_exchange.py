"""Connect to one broker, with a second connection when it is silent; shared by all fetchers."""

import logging
from collections.abc import Callable
from typing import TypeVar

from zkconsumer.clock import Clock
from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import Broker
from zkconsumer.net.hedging import HedgePace, PendingRequest, first_response
from zkconsumer.net.negotiated import Dial, NegotiatedConnection

log = logging.getLogger(__name__)
A = TypeVar("A", bound=PendingRequest)

SendAgain = Callable[[NegotiatedConnection, int], A]
"""Sends a request again over the given connection, with a time limit in ms."""


class HedgedExchange:
    """Exchange requests with one broker. Thread: its fetcher's, but for ``stop``.

    Args:
        broker: the broker.
        dial: opens connections.
        request_timeout_ms: time limit of a request.
        clock: for deadlines.

    Attributes:
        connection: the connection for the next request; None: there is none.
        pace: how long the broker may be silent before a hedged request.
    """

    def __init__(self, broker: Broker, dial: Dial, request_timeout_ms: int, clock: Clock) -> None:
        self.connection: NegotiatedConnection | None = None
        self.pace = HedgePace(request_timeout_ms)
        self._broker = broker
        self._dial = dial
        self._clock = clock
        self._second: NegotiatedConnection | None = None  # while a request is under way on both
        self._stopping = False

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
        for connection in closed:
            connection.close()
        return bool(closed)

    def open(self) -> NegotiatedConnection:
        """Connect.

        Raises:
            ZkConsumerError: as ``BrokerDialer.dial``.
        """
        connection = self.connection = self._dial(self._broker)
        self._see_stop(connection)
        return connection

    def respond(
        self, first: A, send_again: SendAgain[A], *, what: str, quiet_ms: int, timeout_ms: int
    ) -> tuple[A, bool]:
        """Wait for a response, and send the request again if the broker is silent.

        Args:
            first: the request in flight on ``connection``.
            send_again: sends the same over a second connection.
            what: name of the request, for the log.
            quiet_ms: how long to wait for the first alone.
            timeout_ms: time limit for both together.

        Returns:
            The response, and whether the second connection got it, which then is ``connection``.

        Raises:
            ZkConsumerError: as ``first_response``.
        """

        def start(failure: ZkConsumerError | None) -> A | None:
            if failure is not None or self._second is not None:
                return None
            longest_ms = self.pace.quiet_ms
            log.info("%s: silent at a %s: asked again over a second connection", self._broker, what)
            second = self._second = self._dial(self._broker, timeout_ms=longest_ms)
            self._see_stop(second)
            return send_again(second, longest_ms)

        responder = first_response(
            first,
            start,
            quiet_ms=quiet_ms,
            timeout_ms=timeout_ms,
            clock=self._clock,
            whom=self._broker,
        )
        return responder, self._settle(is_second=responder is not first)

    def _settle(self, *, is_second: bool) -> bool:
        """Keep the connection that responded first; the race closed the other one."""
        second, self._second = self._second, None
        if is_second:
            assert second is not None
            self.connection = second
            self._see_stop(second)
            self.pace.won()
        elif second is not None:
            self.pace.lost()
        else:
            self.pace.on_response()
        return is_second

    def _see_stop(self, connection: NegotiatedConnection) -> None:
        """Close it if ``stop`` was called before it could be seen."""
        if self._stopping:
            connection.close()
