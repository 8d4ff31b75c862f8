"""The steps of the join thread: a new step interrupts the request of an older one."""

from threading import RLock

from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    CoordinatorAddress,
    CoordinatorConnection,
)
from zkconsumer.scope import Mailbox

JoinStep = ev.SendJoin | ev.Assign | ev.SendSync


class JoinSteps:
    """Carries steps from the core to the join thread.

    Args:
        connection: the connection of the join thread.
        lock: the lock of the member, held by its core.
    """

    def __init__(self, connection: CoordinatorConnection, lock: RLock) -> None:
        self.connection = connection
        self._lock = lock
        self._mailbox: Mailbox[tuple[JoinStep, CoordinatorAddress | None] | None] = Mailbox()
        self._latest_round = 0
        self._is_joining = False

    def put(self, step: JoinStep, address: CoordinatorAddress | None) -> None:
        """Queue a step with the coordinator's address. Thread: any, with the lock."""
        self._latest_round = step.round
        if self._is_joining:
            self.connection.cut()
        self._mailbox.put((step, address))

    def get(self) -> tuple[JoinStep, CoordinatorAddress | None] | None:
        """Wait for a step; None after ``stop``."""
        return self._mailbox.get()

    def stop(self) -> None:
        """End ``get``, and what the connection is doing. Thread: any."""
        self.connection.stop()
        self._mailbox.put(None)

    def begin(self, step: JoinStep) -> bool:
        """Return whether a step is current; if so, a newer step may cut its connection."""
        with self._lock:
            self._is_joining = step.round == self._latest_round
            return self._is_joining

    def is_current(self, step: JoinStep) -> bool:
        """Return whether a step is still current."""
        with self._lock:
            return step.round == self._latest_round

    def end(self, step: JoinStep) -> bool:
        """End the network part of a step; return whether it is still current."""
        with self._lock:
            self._is_joining = False
            return step.round == self._latest_round
