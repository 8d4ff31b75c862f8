"""Where the coordinator is, and the connections to it: one for each thread that talks to it.

All of them break together: what the core hears is that the coordinator is lost, once.
"""

import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol, TypeVar

from zkconsumer.backoff import Backoff
from zkconsumer.clock import Clock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import ConnectionLost
from zkconsumer.model import Broker
from zkconsumer.wire.api import Request

R = TypeVar("R")


class Connection(Protocol):
    """What is needed of a ``NegotiatedConnection``."""

    def version_of(
        self,
        request: Request[R] | type[Request[R]],
        *,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> int:
        """See there."""
        ...

    def call(
        self, request: Request[R], *, timeout_ms: int, at_least: int = 0, at_most: int | None = None
    ) -> R:
        """See there."""
        ...

    def close(self) -> None:
        """See there."""
        ...


class Dialer(Protocol):
    """What is needed of a ``BrokerDialer``."""

    def dial(self, broker: Broker, *, timeout_ms: int | None = None) -> Connection:
        """See there."""
        ...


class CoordinatorFinder(Protocol):
    """What is needed of a ``ClusterClient``."""

    def coordinator(self, group_id: str, *, timeout_ms: int) -> Broker | int:
        """See there."""
        ...

    def coordinator_of_offsets(self, *, timeout_ms: int) -> Broker:
        """See there."""
        ...

    def view(self, topics: Collection[str] | None, *, timeout_ms: int) -> ClusterView:
        """See there."""
        ...


@dataclass(frozen=True, slots=True)
class CoordinatorAddress:
    """Where the coordinator is: a broker, and how many places there were before.

    Brokers of 0.8.1 don't coordinate: any of them carries offsets to ZooKeeper, and no more.
    """

    broker: Broker
    count: int
    coordinates: bool = True


class CoordinatorConnection:
    """A connection to the coordinator; it is made when it is needed.

    Thread: one, but for ``cut`` and ``stop``.
    """

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        # Reentrant: a signal handler may close the consumer in the middle of another call.
        self._lock = threading.RLock()
        self._held: tuple[CoordinatorAddress, Connection] | None = None
        self._cuts = 0
        self._stopped = False

    def connection(self, address: CoordinatorAddress) -> Connection:
        """The connection to that place.

        Raises:
            TransportError: none can be made, or somebody cut the line.
            AuthenticationFailed: the broker does not know us.
            UnsupportedVersion, BrokerError, RemoteProtocolError: it is none that can be used.
        """
        with self._lock:
            cuts, held = self._cuts, self._held
            if held is not None and held[0] == address:
                return held[1]
        if held is not None:
            self.cut()
            cuts += 1
        self._check(address, cuts)
        fresh = self._dialer.dial(address.broker)
        try:
            self._check(address, cuts, fresh)
        except ConnectionLost:
            fresh.close()
            raise
        return fresh

    def cut(self) -> None:
        """Close the connection; who waits for an answer wakes. Thread: any."""
        with self._lock:
            self._cuts += 1
            held, self._held = self._held, None
        if held is not None:
            held[1].close()

    def stop(self) -> None:
        """Close it for good. Thread: any."""
        self._stopped = True
        self.cut()

    def _check(
        self, address: CoordinatorAddress, cuts: int, fresh: Connection | None = None
    ) -> None:
        with self._lock:
            if self._stopped or self._cuts != cuts:
                raise ConnectionLost(f"{address.broker}: the connection to it was given up")
            if fresh is not None:
                self._held = address, fresh


class CoordinatorLocation:
    """Where the coordinator is, as far as is known. Thread: any.

    Args:
        backoff: how long to let it rest when it fails time after time.
        clock: the time.
        lines: the connections to it.

    Attributes:
        address: where it is; None where that is not known.
    """

    def __init__(self, backoff: Backoff, clock: Clock, *lines: CoordinatorConnection) -> None:
        self._backoff = backoff
        self._clock = clock
        self._lines = lines
        self._lock = threading.RLock()
        self._count = 0
        self._failures = 0
        self._rests_until_ms = 0
        self.address: CoordinatorAddress | None = None

    @property
    def rests(self) -> bool:
        """Whether to wait before the next search: the last places were of no use."""
        return self._clock.now_ms() < self._rests_until_ms

    def well(self) -> None:
        """It answered, as the coordinator."""
        self._failures = 0

    def found(self, broker: Broker, *, coordinates: bool = True) -> CoordinatorAddress:
        """It is there."""
        with self._lock:
            self._count += 1
            self.address = CoordinatorAddress(broker, self._count, coordinates)
            return self.address

    def lose(self, address: CoordinatorAddress) -> bool:
        """It is not there any more; tells whether that is news."""
        with self._lock:
            if self.address != address:
                return False
            self.forget()
            return True

    def forget(self) -> None:
        """Wherever it is, we don't know."""
        with self._lock:
            self.address = None
            if self._failures:
                rest_ms = self._backoff.delay_ms(self._failures - 1, 0.0)
                self._rests_until_ms = self._clock.now_ms() + rest_ms
            self._failures += 1
        for line in self._lines:
            line.cut()
