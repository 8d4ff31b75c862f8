"""Sends one request to broker after broker until one responds; silent ones don't block others.

The next broker is tried as soon as all earlier ones have been silent for a while; they may still
respond. In a second pass, each that has not failed is tried again, over another connection.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.cluster.call_deadline import CallDeadline
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.errors import (
    BrokerError,
    ConnectionLost,
    NoBrokersAvailable,
    ProtocolError,
    RemoteProtocolError,
    RequestTimedOut,
    TransportError,
    UnsupportedVersion,
    ZkConsumerError,
)
from zkconsumer.model import Broker
from zkconsumer.net.hedging import FIRST_HEDGE_DELAY_MS, HedgePace, Sent, TimeLimits, first_response
from zkconsumer.net.in_flight import InFlight, Received
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.wire.api import Request
from zkconsumer.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

T = TypeVar("T")


def first_dial_ms(request_timeout_ms: int) -> int:
    """Return how long connecting to one of several brokers may take in the first pass.

    If request time-outs are short, it is longer than the hedge delay: TLS, versions and SASL take
    several responses.
    """
    quiet_ms = HedgePace(request_timeout_ms).hedge_delay_ms
    return max(quiet_ms, min(FIRST_HEDGE_DELAY_MS, request_timeout_ms // 4))


class RoundRequest(NamedTuple, Generic[T]):
    """The request of a round.

    Attributes:
        what: its subject, for the error.
        request: builds it for a broker; may raise ``UnsupportedVersion``.
        read: reads the response; if it raises, its broker counts as failed with that error.
    """

    what: str
    request: Callable[[NegotiatedConnection], Request[Any]]
    read: Callable[[NegotiatedConnection, Any], T]


class RequestRound(Generic[T]):
    """One round of tries. Thread: one.

    Args:
        lookup: the request.
        pool: the source of connections.
        brokers: the brokers in the order of the tries.
        deadline: the time limit of the whole call.
        request_timeout_ms: how long one broker may take.
        clock: for deadlines.
        reasons: receives why each broker failed.

    Attributes:
        failures: the last error of each broker in this round.
    """

    def __init__(  # noqa: PLR0913 - one part a line, all by name
        self,
        lookup: RoundRequest[T],
        *,
        pool: ConnectionPool,
        brokers: Sequence[Broker],
        deadline: CallDeadline,
        request_timeout_ms: int,
        clock: Clock,
        reasons: dict[Broker, str],
    ) -> None:
        self._lookup = lookup
        self._pool = pool
        self._first_pass = deque(brokers)
        self._second_pass = deque(brokers)
        self._deadline = deadline
        self._request_timeout_ms = request_timeout_ms
        self._clock = clock
        self._reasons = reasons
        self.failures: dict[Broker, ZkConsumerError] = {}
        self._quiet_ms = HedgePace(request_timeout_ms).hedge_delay_ms
        self._first_dial_ms = first_dial_ms(request_timeout_ms)
        self._has_others = len(self._first_pass) > 1
        self._taken: list[NegotiatedConnection] = []
        self._final: Exception | None = None
        self._passing = False

    def request(self) -> T:
        """Return the first response.

        Raises:
            NoBrokersAvailable: all failed, some with errors that may pass; names each and why.
            ZkConsumerError: all failed for good; the first of their errors.
        """
        try:
            while True:
                try:
                    responder = self._race()
                except (TransportError, ProtocolError):
                    raise self._failure() from self._final
                try:
                    return self._lookup.read(responder.connection, responder.response())
                except (TransportError, UnsupportedVersion, ProtocolError, BrokerError) as error:
                    self.failed(responder.connection.broker, error)
        finally:
            # Connections with a response last, so that another one, which was closed, does not
            # mark the broker as failed.
            for connection in sorted(self._taken, key=lambda connection: connection.is_idle):
                self._pool.give_back(connection)

    def failed(self, broker: Broker, error: ZkConsumerError, *, again: bool = False) -> None:
        """Record why a broker failed; ``again``: it may be tried once more in this round."""
        self.failures[broker] = error
        if isinstance(error, TransportError):
            self._passing = True
            # A time-out is less informative than the error before it.
            if self._deadline.left_ms > 0 or broker not in self._reasons:
                self._reasons[broker] = named(broker, error)
        else:
            self._final = self._final or error
            self._reasons[broker] = named(broker, error)
        if broker in self._second_pass and not again:
            self._second_pass.remove(broker)

    def closed_idle(self, broker: Broker) -> None:
        """Try the broker again next, since it had only closed an idle connection."""
        self._first_pass.appendleft(broker)

    def _race(self) -> "_PendingRequest":
        longest_ms = self._request_timeout_ms + self._quiet_ms * (len(self._first_pass) + 1)
        return first_response(
            None,
            self._next,
            limits=TimeLimits(
                max(1, min(self._quiet_ms, self._deadline.left_ms // (len(self._first_pass) + 1))),
                max(1, min(longest_ms, self._deadline.left_ms)),
            ),
            clock=self._clock,
            whom="the brokers",
        )

    def _next(self, failure: ZkConsumerError | None) -> "_PendingRequest | None":
        """Send the request to the next broker that can be tried."""
        del failure  # recorded already
        while self._first_pass or self._second_pass:
            is_over = self._deadline.left_ms <= 0
            if is_over and (self._reasons or self._taken):
                self._passing = True
                return None
            is_hurried = bool(self._first_pass) and self._has_others
            line = self._first_pass or self._second_pass
            # A connect that hangs must leave some time for the others.
            share_ms = max(1, self._deadline.left_ms // len(line))
            limit_ms = min(self._request_timeout_ms, share_ms)
            # While this connects, responses of silent brokers are not read. If none is pending, in
            # the second pass, it may take longer.
            is_brief = is_hurried or bool(self._taken)
            brief_ms = self._first_dial_ms if is_hurried else self._quiet_ms
            dial_ms = min(limit_ms, brief_ms) if is_brief else limit_ms
            broker = line.popleft()
            began_ms = self._clock.now_ms()
            try:
                return self._begin(broker, limit_ms, dial_ms)
            except (TransportError, UnsupportedVersion, ProtocolError, BrokerError) as error:
                was_hurried = is_hurried and self._clock.now_ms() - began_ms >= dial_ms
                self.failed(broker, error, again=was_hurried)
        return None

    def _begin(self, broker: Broker, limit_ms: int, dial_ms: int) -> "_PendingRequest":
        connection, was_idle = self._pool.take_or_dial(broker, timeout_ms=dial_ms)
        self._taken.append(connection)
        request = self._lookup.request(connection)
        try:
            in_flight = connection.begin(request, timeout_ms=limit_ms)
        except ConnectionLost:
            if was_idle:
                return self._begin(broker, limit_ms, dial_ms)
            raise
        return _PendingRequest(connection, in_flight, self, was_idle=was_idle)

    def _failure(self) -> Exception:
        """Return the error to raise after all brokers failed."""
        for connection in self._taken:
            silent = RequestTimedOut(f"{connection.broker}: no response in time")
            if connection.broker not in self._reasons:
                self.failed(connection.broker, silent)
        # Sorted, so that the same outage has the same text every time.
        why = "; ".join(sorted(self._reasons.values())) or self._deadline.why_over
        reported = f"no broker responded to the request for {self._lookup.what}: {why}"
        if self._final is None or self._passing:
            return NoBrokersAvailable(reported)
        if isinstance(self._final, RemoteProtocolError):
            # The first error lacks the context: most likely the port is not Kafka's.
            return RemoteProtocolError(reported)
        return self._final


class _PendingRequest(Sent[Any]):
    """A request of a round in flight; it records its failure in the round."""

    def __init__(
        self,
        connection: NegotiatedConnection,
        in_flight: InFlight[Any],
        of: RequestRound[Any],
        *,
        was_idle: bool,
    ) -> None:
        super().__init__(connection, in_flight)
        self._of = of
        self._was_idle = was_idle

    def receive(self, timeout_ms: int) -> Received:
        """See ``PendingRequest``."""
        broker = self.connection.broker
        try:
            return super().receive(timeout_ms)
        except ConnectionLost as error:
            if self._was_idle:
                self._of.closed_idle(broker)
            else:
                self._of.failed(broker, error)
            raise
        except (TransportError, ProtocolError) as error:
            self._of.failed(broker, error)
            raise


def named(broker: Broker, error: Exception) -> str:
    """Return the message of an error, preceded by the broker unless it contains its address."""
    text = str(error)
    address = f"{broker.host}:{broker.port}"
    return text if address in text else f"{broker}: {text}"


class CoordinatorLookup(NamedTuple):
    """The result of a coordinator lookup.

    Attributes:
        by: the broker that responded.
        coordinator: the coordinator, or an error code.
    """

    by: Broker
    coordinator: Broker | int


def who_coordinates(group_id: str) -> RoundRequest[CoordinatorLookup]:
    """Build a coordinator lookup; it makes brokers create a missing offsets topic (since 0.8.2)."""
    request = FindCoordinatorRequest(group_id=group_id)

    def read(
        connection: NegotiatedConnection, response: FindCoordinatorResponse
    ) -> CoordinatorLookup:
        found = Broker(response.coordinator_id, response.host, response.port)
        return CoordinatorLookup(connection.broker, response.error_code or found)

    return RoundRequest(
        what=f"the coordinator of group {group_id}", request=lambda _: request, read=read
    )
