"""Fetch for a poll in C while its partitions are far behind: the shell of ``polled.delegation``."""

from collections.abc import Callable, Iterable
from typing import Final, Protocol

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.core.delegated import Returned
from zkconsumer.fetch.core.fetch_connection import FetchConnection
from zkconsumer.fetch.core.hedged_exchange import SecondResponse
from zkconsumer.fetch.core.incremental import without_session
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.shared_state import Counters, SharedFetchState
from zkconsumer.fetch.polled.delegation import (
    HandedBack,
    Make,
    PollDelegation,
    delegate,
    may_delegate,
    requests_of,
    take_back,
)
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.wire.absent import NO_TOPIC_ID
from zkconsumer.wire.messages.fetch import LAST_BY_NAME

_LAST: Final = 13
"""The newest version of Fetch that the pump knows."""

TakeBack = Callable[[Iterable[Returned]], None]


class Pumped(Protocol):
    """Exchange requests for delegated partitions, as ``pumped_exchange.PumpedExchange`` does."""

    def call(self) -> None:
        """Have the present or next run return soon. Thread: any."""
        ...

    def clear_call(self) -> None:
        """Forget former calls."""
        ...

    def stop(self) -> None:
        """Have the present and all later runs return at once. Thread: any."""
        ...

    def close(self) -> None:
        """Free its descriptors."""
        ...

    def fetch(
        self,
        connection: NegotiatedConnection,
        version: int,
        delegation: PollDelegation,
        take_back: TakeBack,
    ) -> SecondResponse | None:
        """Fetch until it has to return; see ``PumpedExchange.run``."""
        ...


class PollPump:
    """Delegate one broker's partitions while they are far behind. Thread: its fetcher's.

    Args:
        line: the connection to the broker, whose turn it is else.
        shared: state of all partitions.
        pumped: exchanges requests in C.
        make: see ``delegation.Make``.
    """

    def __init__(
        self, line: FetchConnection, shared: SharedFetchState, pumped: Pumped, make: Make
    ) -> None:
        self._line = line
        self._shared = shared
        self._pumped = pumped
        self._make = make
        line.may_send_early = self._may_send_early

    def call(self) -> None:
        """Have partitions taken back soon. Thread: any."""
        self._pumped.call()

    def clear_call(self) -> None:
        """Forget former calls, before the state is read that they were about."""
        self._pumped.clear_call()

    def stop(self) -> None:
        """End soon. Thread: any."""
        self._pumped.stop()

    def close(self) -> None:
        """Free the pump."""
        self._pumped.close()

    def turn(self) -> bool:
        """Fetch in C if partitions are far behind; return False if it is Python's turn."""
        line, exchange = self._line, self._line.exchange
        connection = exchange.connection
        if connection is None or not connection.is_idle or not connection.has_descriptor:
            return False
        if line.has_early or exchange.pause_left_ms() > 0:
            return False
        delegation = self._shared.change(lambda states, _: self._delegated(states))
        if delegation is None:
            return False
        self._run(connection, delegation)
        return True

    def _delegated(self, states: PartitionStates) -> PollDelegation | None:
        line = self._line
        return delegate(states, line.broker, self._make, version=line.exchange.fetch_version)

    def _may_send_early(self, connection: NegotiatedConnection, arriving_bytes: int) -> bool:
        # The pump needs a connection with nothing in flight; it sends early requests itself.
        if not connection.has_descriptor:
            return True
        broker, version = self._line.broker, self._line.exchange.fetch_version
        return not self._shared.read(
            lambda states: may_delegate(
                states, broker, version=version, arriving_bytes=arriving_bytes
            )
        )

    def _run(self, connection: NegotiatedConnection, delegation: PollDelegation) -> None:
        line = self._line
        handed: HandedBack | None = None
        has_ended = False

        def take(returned: Iterable[Returned]) -> None:
            nonlocal handed, has_ended
            has_ended = True
            handed = self._shared.change(lambda states, _: take_back(states, delegation, returned))

        version = min(line.exchange.fetch_version, _LAST if delegation.by_id else LAST_BY_NAME)
        self._shared.count(Counters(in_flight=1))
        failure: ZkConsumerError | None = None
        second: SecondResponse | None = None
        try:
            second = self._pumped.fetch(connection, version, delegation, take)
        except ZkConsumerError as error:
            failure = error
        finally:
            if not has_ended:
                take(delegation.untouched())  # the connection was closed before the first request
            self._shared.count(Counters(in_flight=-1, failed_fetches=failure is not None))
        if handed is not None:
            line.take_handed_back(handed.sets, handed.errors, handed.absent)
        if failure is not None:
            line.broke_off(failure)
        elif second is not None:
            self._take_second(delegation, second)

    def _take_second(self, delegation: PollDelegation, second: SecondResponse) -> None:
        self._shared.count(Counters(fetches=1))
        requests = self._shared.change(
            lambda states, _: requests_of(states, delegation, second.request)
        )
        ids: dict[str, bytes] = {}
        if any(topic.topic_id != NO_TOPIC_ID for topic in second.request.topics):
            ids = {tp.topic: one.topic_id for tp, one in requests.items() if one.topic_id}
        self._line.take(without_session(requests, ids), second.response, second.took_ms)
