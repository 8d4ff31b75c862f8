"""Puts one question to broker after broker, until one answers; a silent one holds up nobody.

The next broker is asked as soon as all before have been silent for a while; they may answer still.
At the end of the line each that has not failed is asked once more, over another connection.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.cluster.call_deadline import CallDeadline
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
from zkconsumer.net.hedging import FIRST_QUIET_MS, HedgePace, Sent, first_response
from zkconsumer.net.in_flight import Received
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.wire.api import Request

T = TypeVar("T")


def first_dial_ms(request_timeout_ms: int) -> int:
    """How long connecting to one of several brokers may take in the first pass of a round.

    It is more than one silence where requests are given little time: keys, versions and names take
    several answers.
    """
    quiet_ms = HedgePace(request_timeout_ms).quiet_ms
    return max(quiet_ms, min(FIRST_QUIET_MS, request_timeout_ms // 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRequest(Generic[T]):
    """What is asked.

    Attributes:
        what: it is about, for the error.
        request: makes it for a broker; may raise ``UnsupportedVersion``.
        read: takes the answer; may raise what its broker is then said to have failed with.
    """

    what: str
    request: Callable[[NegotiatedConnection], Request[Any]]
    read: Callable[[NegotiatedConnection, Any], T]


class Connections(Protocol):
    """Where connections come from: a ``ConnectionPool``, or one like it."""

    def take_or_dial(self, broker: Broker, *, timeout_ms: int) -> tuple[NegotiatedConnection, bool]:
        """See ``ConnectionPool``."""
        ...

    def give_back(self, connection: NegotiatedConnection) -> None:
        """See ``ConnectionPool``."""
        ...


class RequestRound(Generic[T]):
    """One round. Thread: one.

    Args:
        lookup: what to ask.
        pool: connections.
        brokers: in the order in which to ask them.
        deadline: the time of the whole call.
        request_timeout_ms: how long one broker may take.
        clock: for deadlines.
        reasons: why each broker did not answer; is added to.

    Attributes:
        failures: how each broker failed last in this round.
    """

    def __init__(  # noqa: PLR0913 - one part a line, all by name
        self,
        lookup: RoundRequest[T],
        *,
        pool: Connections,
        brokers: Sequence[Broker],
        deadline: CallDeadline,
        request_timeout_ms: int,
        clock: Clock,
        reasons: dict[Broker, str],
    ) -> None:
        self._lookup = lookup
        self._pool = pool
        self._line = deque(brokers)
        self._again = deque(brokers)
        self._deadline = deadline
        self._request_timeout_ms = request_timeout_ms
        self._clock = clock
        self._reasons = reasons
        self.failures: dict[Broker, ZkConsumerError] = {}
        self._quiet_ms = HedgePace(request_timeout_ms).quiet_ms
        self._first_dial_ms = first_dial_ms(request_timeout_ms)
        self._has_others = len(self._line) > 1
        self._taken: list[NegotiatedConnection] = []
        self._final: Exception | None = None
        self._passing = False

    def request(self) -> T:
        """Return the first answer.

        Raises:
            NoBrokersAvailable: nobody answered, for reasons that may pass; names each and why.
            ZkConsumerError: nobody answered, for reasons that won't: the first of them.
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
            # Who was answered last: that its other connection was closed says nothing of a broker.
            for connection in sorted(self._taken, key=lambda connection: connection.is_idle):
                self._pool.give_back(connection)

    def failed(self, broker: Broker, error: ZkConsumerError, *, again: bool = False) -> None:
        """Note why a broker did not answer; ``again``: it may be asked once more in this round."""
        self.failures[broker] = error
        if isinstance(error, TransportError):
            self._passing = True
            # That the time was over says less than what was there before.
            if self._deadline.left_ms > 0 or broker not in self._reasons:
                self._reasons[broker] = _named(broker, error)
        else:
            self._final = self._final or error
            self._reasons[broker] = _named(broker, error)
        if broker in self._again and not again:
            self._again.remove(broker)

    def closed_idle(self, broker: Broker) -> None:
        """Ask a broker anew: it closed an idle connection while nobody looked."""
        self._line.appendleft(broker)

    def _race(self) -> "_PendingRequest[T]":
        longest_ms = self._request_timeout_ms + self._quiet_ms * (len(self._line) + 1)
        return first_response(
            None,
            self._next,
            quiet_ms=max(1, min(self._quiet_ms, self._deadline.left_ms // (len(self._line) + 1))),
            timeout_ms=max(1, min(longest_ms, self._deadline.left_ms)),
            clock=self._clock,
            whom="the brokers",
        )

    def _next(self, failure: ZkConsumerError | None) -> "_PendingRequest[T] | None":
        """Ask the next broker that can be asked."""
        del failure  # each has been noted
        while self._line or self._again:
            is_over = self._deadline.left_ms <= 0
            if is_over and (self._reasons or self._taken):
                self._passing = True
                return None
            is_hurried = bool(self._line) and self._has_others
            line = self._line or self._again
            # One whose connect hangs must leave some time for the others.
            share_ms = max(1, self._deadline.left_ms // len(line))
            limit_ms = min(self._request_timeout_ms, share_ms)
            # Nobody listens meanwhile: those that are silent still may answer. Where nobody is
            # asked, at the end of the line, it may take longer.
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

    def _begin(self, broker: Broker, limit_ms: int, dial_ms: int) -> "_PendingRequest[T]":
        connection, was_idle = self._pool.take_or_dial(broker, timeout_ms=dial_ms)
        self._taken.append(connection)
        request = self._lookup.request(connection)
        try:
            in_flight = connection.begin(request, timeout_ms=limit_ms)
        except ConnectionLost:
            if was_idle:
                return self._begin(broker, limit_ms, dial_ms)
            raise
        return _PendingRequest(Sent(connection, in_flight), self, was_idle=was_idle)

    def _failure(self) -> Exception:
        """Return why nobody answered."""
        for connection in self._taken:
            silent = RequestTimedOut(f"{connection.broker}: no answer in time")
            if connection.broker not in self._reasons:
                self.failed(connection.broker, silent)
        # In order, so that the same outage reads the same with every try.
        why = "; ".join(sorted(self._reasons.values()))
        reported = f"no broker answers about {self._lookup.what}: {why}"
        if self._final is None or self._passing:
            return NoBrokersAvailable(reported)
        if isinstance(self._final, RemoteProtocolError):
            # Those of bytes alone don't say whose: most likely the port is not Kafka's.
            return RemoteProtocolError(reported)
        return self._final


class _PendingRequest(Generic[T]):
    """A broker that is asked: a ``PendingRequest`` that notes how it failed."""

    def __init__(
        self, sent: Sent[NegotiatedConnection, Any], of: RequestRound[T], *, was_idle: bool
    ) -> None:
        self.connection = sent.connection
        self._sent = sent
        self._of = of
        self._was_idle = was_idle

    def receive(self, timeout_ms: int) -> Received:
        """See ``PendingRequest``."""
        broker = self.connection.broker
        try:
            return self._sent.receive(timeout_ms)
        except ConnectionLost as error:
            if self._was_idle:
                self._of.closed_idle(broker)
            else:
                self._of.failed(broker, error)
            raise
        except (TransportError, ProtocolError) as error:
            self._of.failed(broker, error)
            raise

    def response(self) -> Any:
        """See ``Sent``."""
        return self._sent.response()

    def close(self) -> None:
        """See ``PendingRequest``."""
        self._sent.close()


def _named(broker: Broker, error: Exception) -> str:
    text = str(error)
    address = f"{broker.host}:{broker.port}"
    return text if address in text else f"{broker}: {text}"
