"""The coordinator's address, and one connection to it for each thread that uses it.

All of them are closed together, and the core is notified only once of the coordinator's loss.
"""

import threading
from dataclasses import dataclass

from zkconsumer.backoff import Backoff
from zkconsumer.clock import Clock
from zkconsumer.errors import ConnectionLost
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection


@dataclass(frozen=True, slots=True)
class CoordinatorAddress:
    """The coordinator's broker, and the sequence number of this address.

    Brokers of 0.8.1 don't coordinate groups: any of them just passes offsets on to ZooKeeper.
    """

    broker: Broker
    count: int
    coordinates: bool = True


class CoordinatorConnection:
    """A connection to the coordinator, opened when it is needed.

    Thread: one; ``cut`` and ``stop``: any.
    """

    def __init__(self, dialer: BrokerDialer) -> None:
        self._dialer = dialer
        # Reentrant: a signal handler may close the consumer in the middle of another call.
        self._lock = threading.RLock()
        self._held: tuple[CoordinatorAddress, NegotiatedConnection] | None = None
        self._cuts = 0
        self._stopped = False

    def connection(self, address: CoordinatorAddress) -> NegotiatedConnection:
        """Return the connection to this address.

        Raises:
            TransportError: it can't be opened, or was cut meanwhile.
            AuthenticationFailed: the broker refuses our credentials.
            UnsupportedVersion, BrokerError, RemoteProtocolError: the connection can't be used.
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
        """Close the connection, which wakes a thread that awaits a response. Thread: any."""
        with self._lock:
            self._cuts += 1
            held, self._held = self._held, None
        if held is not None:
            held[1].close()

    def stop(self) -> None:
        """Close the connection for good. Thread: any."""
        self._stopped = True
        self.cut()

    def _check(
        self, address: CoordinatorAddress, cuts: int, fresh: NegotiatedConnection | None = None
    ) -> None:
        with self._lock:
            if self._stopped or self._cuts != cuts:
                raise ConnectionLost(f"{address.broker}: the connection was closed by this client")
            if fresh is not None:
                self._held = address, fresh


class CoordinatorLocation:
    """The coordinator's address, if it is known. Thread: any.

    Args:
        backoff: the pauses after consecutive failures.

    Attributes:
        address: the address; None: unknown.
    """

    def __init__(self, backoff: Backoff, clock: Clock, *connections: CoordinatorConnection) -> None:
        self._backoff = backoff
        self._clock = clock
        self._connections = connections
        self._lock = threading.RLock()
        self._count = 0
        self._failures = 0
        self._backoff_until_ms = 0
        self.address: CoordinatorAddress | None = None

    @property
    def is_backing_off(self) -> bool:
        """Whether to wait before the next lookup, since the last addresses failed."""
        return self._clock.now_ms() < self._backoff_until_ms

    def on_response(self) -> None:
        """Record a response from the coordinator."""
        self._failures = 0

    def set_address(self, broker: Broker, *, coordinates: bool = True) -> CoordinatorAddress:
        """Set a new address and return it."""
        with self._lock:
            self._count += 1
            self.address = CoordinatorAddress(broker, self._count, coordinates)
            return self.address

    def invalidate(self, address: CoordinatorAddress) -> bool:
        """Forget this address; return whether it was the current one."""
        with self._lock:
            if self.address != address:
                return False
            self.forget()
            return True

    def forget(self) -> None:
        """Forget the address and cut the connections."""
        with self._lock:
            self.address = None
            if self._failures:
                rest_ms = self._backoff.delay_ms(self._failures - 1, 0.0)
                self._backoff_until_ms = self._clock.now_ms() + rest_ms
            self._failures += 1
        for connection in self._connections:
            connection.cut()
