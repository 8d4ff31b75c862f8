"""Fetch from a broker in C while partitions are far behind: the shell of ``broker_delegation``."""

from collections.abc import Callable, Iterable
from typing import Final, Protocol

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.core.broker_delegation import (
    BrokerDelegation,
    HandedBack,
    Make,
    delegate,
    may_delegate,
    requests_of,
    take_back,
)
from zkconsumer.fetch.core.delegated import Returned
from zkconsumer.fetch.core.fetch_connection import FetchConnection
from zkconsumer.fetch.core.hedged_exchange import SecondResponse
from zkconsumer.fetch.core.incremental import without_session
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.shared_state import Counters, SharedFetchState
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
        delegation: BrokerDelegation,
        take_back: TakeBack,
    ) -> SecondResponse | None:
        """Fetch until it has to return; see ``PumpedExchange.run``."""
        ...


class PumpedConnection:
    """Delegate one broker's partitions while they are far behind.

    Thread: its fetcher's; of a range its reader's, and for ``run`` that of ``RangePump``. Any for
    ``call`` and ``stop``.

    Args:
        line: the connection to the broker, whose turn it is else.
        shared: state of all partitions.
        open_pump: makes what exchanges requests in C, before its first run; it returns None if it
            cannot: then Python fetches.
        make: see ``broker_delegation.Make``.
    """

    def __init__(
        self,
        line: FetchConnection,
        shared: SharedFetchState,
        open_pump: Callable[[], Pumped | None],
        make: Make,
    ) -> None:
        self._line = line
        self._shared = shared
        self._open_pump = open_pump
        self._make = make
        self._pumped: Pumped | None = None
        self._is_stopped = self._cannot_open = False
        line.may_send_early = self._may_send_early

    def call(self) -> None:
        """Have partitions taken back soon. Thread: any."""
        if self._pumped is not None:
            self._pumped.call()

    def clear_call(self) -> None:
        """Forget former calls, before the state is read that they were about."""
        if self._pumped is not None:
            self._pumped.clear_call()

    def stop(self) -> None:
        """End soon. Thread: any."""
        self._is_stopped = True
        if self._pumped is not None:
            self._pumped.stop()

    def close(self) -> None:
        """Free the pump."""
        if self._pumped is not None:
            self._pumped.close()

    def turn(self) -> bool:
        """Fetch in C if partitions are far behind; return False if it is Python's turn."""
        delegation = self.begin()
        if delegation is None:
            return False
        self.run(delegation)
        return True

    def begin(self) -> BrokerDelegation | None:
        """Delegate the partitions if one is far behind; return None if it is Python's turn.

        A delegation must be run, or given back.
        """
        line, exchange = self._line, self._line.exchange
        connection = exchange.connection
        if connection is None or not connection.is_idle or not connection.has_descriptor:
            return None
        if line.has_early or exchange.pause_left_ms() > 0:
            return None
        if self._pumped is None and not self._opened():
            return None
        return self._shared.change(lambda states, _: self._delegated(states))

    def give_back(self, delegation: BrokerDelegation) -> None:
        """Take the partitions back without a run."""
        self._shared.change(lambda states, _: take_back(states, delegation, delegation.untouched()))

    def run(self, delegation: BrokerDelegation) -> None:
        """Fetch in C until something is Python's, and hand it over."""
        line, connection = self._line, self._line.exchange.connection
        assert connection is not None
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
        assert self._pumped is not None
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

    def _opened(self) -> bool:
        """Open the pump if it has something to do: most connections never need one."""
        if self._cannot_open or not self._shared.read(self._may_delegate):
            return False
        self._pumped = self._open_pump()
        self._cannot_open = self._pumped is None
        if self._is_stopped:
            self.stop()  # that call came before there was a pump
        return self._pumped is not None

    def _delegated(self, states: PartitionStates) -> BrokerDelegation | None:
        line = self._line
        return delegate(states, line.broker, self._make, version=line.exchange.fetch_version)

    def _may_delegate(self, states: PartitionStates, arriving_bytes: int = 0) -> bool:
        line = self._line
        version = line.exchange.fetch_version
        return may_delegate(states, line.broker, version=version, arriving_bytes=arriving_bytes)

    def _may_send_early(self, connection: NegotiatedConnection, arriving_bytes: int) -> bool:
        # The pump needs a connection with nothing in flight; it sends early requests itself.
        if self._cannot_open or not connection.has_descriptor:
            return True
        return not self._shared.read(lambda states: self._may_delegate(states, arriving_bytes))

    def _take_second(self, delegation: BrokerDelegation, second: SecondResponse) -> None:
        self._shared.count(Counters(fetches=1))
        requests = self._shared.change(
            lambda states, _: requests_of(states, delegation, second.request)
        )
        ids: dict[str, bytes] = {}
        if any(topic.topic_id != NO_TOPIC_ID for topic in second.request.topics):
            ids = {tp.topic: one.topic_id for tp, one in requests.items() if one.topic_id}
        self._line.take(without_session(requests, ids), second.response, second.took_ms)
