"""The orders of the join thread: the newest one counts, and cuts the request of an older one."""

from threading import RLock

from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    CoordinatorAddress,
    CoordinatorConnection,
)
from zkconsumer.scope import Mailbox

JoinOrder = ev.SendJoin | ev.Assign | ev.SendSync


class JoinOrders:
    """Carries orders from the core to the join thread.

    Args:
        connection: the join thread's.
        lock: the member's, under which the core works.
    """

    def __init__(self, connection: CoordinatorConnection, lock: RLock) -> None:
        self.connection = connection
        self._lock = lock
        self._mailbox: Mailbox[tuple[JoinOrder, CoordinatorAddress | None] | None] = Mailbox()
        self._latest_round = 0
        self._is_joining = False

    def put(self, order: JoinOrder, address: CoordinatorAddress | None) -> None:
        """Pass an order on, with the coordinator's address. Thread: any, with the lock."""
        self._latest_round = order.round
        if self._is_joining:
            self.connection.cut()
        self._mailbox.put((order, address))

    def get(self) -> tuple[JoinOrder, CoordinatorAddress | None] | None:
        """Wait for an order; None after ``stop``."""
        return self._mailbox.get()

    def stop(self) -> None:
        """End ``get``, and what the connection is doing. Thread: any."""
        self.connection.stop()
        self._mailbox.put(None)

    def begin(self, order: JoinOrder) -> bool:
        """Return whether an order is current; if so, a newer order may cut its connection."""
        with self._lock:
            self._is_joining = order.round == self._latest_round
            return self._is_joining

    def is_current(self, order: JoinOrder) -> bool:
        """Return whether an order is still current."""
        with self._lock:
            return order.round == self._latest_round

    def end(self, order: JoinOrder) -> bool:
        """End the network part of an order; return whether it is still current."""
        with self._lock:
            self._is_joining = False
            return order.round == self._latest_round
