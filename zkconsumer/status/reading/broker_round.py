"""Queries many brokers in parallel, so that one that hangs delays only its own response."""

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.cluster.request_round import named
from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.scope import Mailbox, ThreadScope
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.values import Unanswered

T = TypeVar("T")

BrokerQuery: TypeAlias = Callable[[NegotiatedConnection], T]
"""Queries one broker, by any number of requests; runs again if its connection was stale."""


class BrokerRound:
    """Queries brokers, with a thread for each. Thread: any.

    Args:
        dialer: opens connections; its sibling, which is used, is stopped with this object.
        clock: for deadlines.
    """

    def __init__(self, dialer: BrokerDialer, clock: Clock) -> None:
        self._pool = ConnectionPool(dialer, clock)
        self._scope = ThreadScope("status-brokers", clock=clock)
        self._busy: set[Broker] = set()

    def request(
        self, lookups: Mapping[Broker, BrokerQuery[T]], deadline: Deadline
    ) -> dict[Broker, T | Unanswered]:
        """Query all brokers; return their responses, or why there is none by the deadline."""
        responses: dict[Broker, T | Unanswered] = {}
        reported: Mailbox[tuple[Broker, T | Unanswered]] = Mailbox()
        waiting: set[Broker] = set()
        for broker, lookup in lookups.items():
            if broker in self._busy:
                responses[broker] = Unanswered(
                    f"{broker} has not responded to the previous request yet"
                )
            else:
                waiting.add(broker)
                self._spawn(broker, lookup, reported, deadline)
        while waiting:
            response = reported.get(deadline.left_ms)
            if response is None:
                break
            waiting.discard(response[0])
            responses[response[0]] = response[1]
        late = {
            broker: Unanswered(f"{broker} did not respond within {deadline.limit_ms} ms")
            for broker in waiting
        }
        return {**responses, **late}

    def close(self, timeout_ms: int) -> None:
        """Interrupt running queries, and allow no more. Idempotent."""
        self._pool.stop()
        self._scope.close(timeout_ms)

    def _spawn(
        self,
        broker: Broker,
        lookup: BrokerQuery[T],
        reported: Mailbox[tuple[Broker, T | Unanswered]],
        deadline: Deadline,
    ) -> None:
        def run() -> None:
            try:
                response = self._respond(broker, lookup, deadline)
            finally:
                self._busy.discard(broker)
            reported.put((broker, response))

        def died(error: BaseException) -> None:
            reported.put((broker, Unanswered(f"{broker}: {type(error).__name__}: {error}")))

        self._busy.add(broker)
        try:
            self._scope.spawn(f"broker-{broker.id}", run, stop=self._pool.stop, on_error=died)
        except RuntimeError as error:  # no thread can be started now
            self._busy.discard(broker)
            died(error)

    def _respond(
        self, broker: Broker, lookup: BrokerQuery[T], deadline: Deadline
    ) -> T | Unanswered:
        try:
            return self._pool.call(broker, lookup, timeout_ms=max(1, deadline.left_ms))
        except ZkConsumerError as error:
            return Unanswered(named(broker, error))
