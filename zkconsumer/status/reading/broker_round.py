"""Asks many brokers at once, so that one that hangs keeps nobody waiting but for its own answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.scope import Mailbox, ThreadScope
from zkconsumer.status.reading.deadline import Deadline

T = TypeVar("T")

Question: TypeAlias = Callable[[NegotiatedConnection], T]
"""Asks one broker, by as many requests as it takes. It may run twice, if a connection was stale."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A broker did not answer, and why."""

    reason: str


class BrokerRound:
    """A thread for each broker that is being asked. Thread: any.

    Args:
        dialer: opens connections, by a twin that is stopped with this.
        clock: for deadlines.
    """

    def __init__(self, dialer: BrokerDialer, clock: Clock) -> None:
        self._pool = ConnectionPool(dialer, clock)
        self._scope = ThreadScope("status-brokers", clock=clock)
        self._busy: set[Broker] = set()

    def request(
        self, lookups: Mapping[Broker, Question[T]], deadline: Deadline
    ) -> dict[Broker, T | Unanswered]:
        """Ask all of them; a response for every broker, when all are there or the time is over."""
        responses: dict[Broker, T | Unanswered] = {}
        reported: Mailbox[tuple[Broker, T | Unanswered]] = Mailbox()
        waiting: set[Broker] = set()
        for broker, lookup in lookups.items():
            if broker in self._busy:
                responses[broker] = Unanswered(f"{broker} still owes its last answer")
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
            one: Unanswered(f"{one} gave no answer within {deadline.limit_ms} ms")
            for one in waiting
        }
        return {**responses, **late}

    def close(self, timeout_ms: int) -> None:
        """Break off what is under way; nothing can be asked any more. Idempotent."""
        self._pool.stop()
        self._scope.close(timeout_ms)

    def _spawn(
        self,
        broker: Broker,
        lookup: Question[T],
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
        self._scope.spawn(f"broker-{broker.id}", run, stop=self._pool.stop, on_error=died)

    def _respond(self, broker: Broker, lookup: Question[T], deadline: Deadline) -> T | Unanswered:
        try:
            return self._pool.call(broker, lookup, timeout_ms=max(1, deadline.left_ms))
        except ZkConsumerError as error:
            text = str(error)
            named = f"{broker.host}:{broker.port}" in text
            return Unanswered(text if named else f"{broker}: {text}")
