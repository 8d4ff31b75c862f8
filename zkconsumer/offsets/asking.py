"""One try to ask a broker about offsets, over the channel to it."""

from collections.abc import Callable
from typing import TypeVar

from zkconsumer.clock import Clock
from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.hedging import HedgePace, Sent, first_to_answer
from zkconsumer.wire.api import Request

R = TypeVar("R")


class Asking:
    """The channel for one try.

    Args:
        connection: to the broker that is asked.
        timeout_ms: for an answer.
        open_second: opens another connection to that broker, within so many milliseconds.
        clock: for deadlines.

    Attributes:
        connection: the one that was answered last.
    """

    def __init__(
        self,
        connection: BrokerConnection,
        timeout_ms: int,
        open_second: Callable[[int], BrokerConnection],
        clock: Clock,
    ) -> None:
        self.connection = connection
        self._timeout_ms = timeout_ms
        self._open_second = open_second
        self._clock = clock

    @property
    def broker(self) -> Broker:
        """The coordinator, for messages."""
        return self.connection.broker

    def request(self, request: Request[R], *, version: int) -> R:
        """Ask the coordinator, once: a commit; see ``BrokerConnection.request``."""
        return self.connection.request(request, version=version, timeout_ms=self._timeout_ms)

    def request_hedged(self, request: Request[R], *, version: int) -> R:
        """Ask what changes nothing: where the broker is silent, again over another connection.

        Raises as ``request``.
        """
        quiet_ms = HedgePace(self._timeout_ms).quiet_ms
        has_second = False

        def hedge(failure: ZkConsumerError | None) -> Sent[BrokerConnection, R] | None:
            nonlocal has_second
            if failure is not None or has_second:
                return None
            has_second = True
            second = self._open_second(quiet_ms)
            again = second.begin(request, version=version, timeout_ms=quiet_ms)
            return Sent(second, again)

        in_flight = self.connection.begin(request, version=version, timeout_ms=self._timeout_ms)
        answered: Sent[BrokerConnection, R] = first_to_answer(
            Sent(self.connection, in_flight),
            hedge,
            quiet_ms=quiet_ms,
            timeout_ms=self._timeout_ms,
            clock=self._clock,
            whom=f"{self.broker.host}:{self.broker.port}",
        )
        self.connection = answered.connection
        return answered.answer()
