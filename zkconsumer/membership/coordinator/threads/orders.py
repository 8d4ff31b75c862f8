"""Carries the core's orders to the group thread and the join thread, with their connections."""

from threading import RLock

from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    CoordinatorAddress,
    CoordinatorConnection,
)
from zkconsumer.scope import Mailbox


class GroupOrders(Mailbox[ev.GroupOrder | None]):
    """Carries orders from the core to the group thread; None only wakes it.

    Args:
        connection: the connection of the group thread.

    Attributes:
        has_left: whether no LeaveGroup of the caller is pending.
        wakes_at_ms: the core's deadline that the thread knows of; None: none.
    """

    def __init__(self, connection: CoordinatorConnection) -> None:
        super().__init__()
        self.connection = connection
        self.has_left = True
        self.wakes_at_ms: int | None = None

    def wake_by(self, deadline_ms: int | None) -> None:
        """Wake the thread if it sleeps beyond a deadline of the core. Thread: any, under lock."""
        if deadline_ms is not None and (self.wakes_at_ms is None or deadline_ms < self.wakes_at_ms):
            self.wakes_at_ms = deadline_ms
            self.put(None)

    def stop(self) -> None:
        """Wake the thread, and interrupt what the connection is doing. Thread: any."""
        self.connection.stop()
        self.put(None)


class JoinSteps:
    """Carries steps from the core to the join thread; a new step interrupts an older one's request.

    Args:
        connection: the connection of the join thread.
    """

    def __init__(self, connection: CoordinatorConnection) -> None:
        self.connection = connection
        # Reentrant: a signal handler may close the consumer in the middle of ``put``.
        self._lock = RLock()
        self._mailbox: Mailbox[tuple[ev.JoinStep, CoordinatorAddress | None] | None] = Mailbox()
        self._latest_round = 0
        self._is_joining = False

    def put(self, step: ev.JoinStep, address: CoordinatorAddress | None) -> None:
        """Queue a step with the coordinator's address. Thread: any."""
        with self._lock:
            self._latest_round = step.round
            if self._is_joining:
                self.connection.cut()
            self._mailbox.put((step, address))

    def get(self) -> tuple[ev.JoinStep, CoordinatorAddress | None] | None:
        """Wait for a step; None after ``stop``."""
        return self._mailbox.get()

    def stop(self) -> None:
        """End ``get``, and interrupt what the connection is doing. Thread: any."""
        self.connection.stop()
        self._mailbox.put(None)

    def begin(self, step: ev.JoinStep) -> bool:
        """Begin a step if it is current, and return whether it is; a newer one may cut it off."""
        with self._lock:
            self._is_joining = step.round == self._latest_round
            return self._is_joining

    def is_current(self, step: ev.JoinStep) -> bool:
        """Return whether a step is still current."""
        with self._lock:
            return step.round == self._latest_round

    def end(self, step: ev.JoinStep) -> bool:
        """End the network part of a step; return whether it is still current."""
        with self._lock:
            self._is_joining = False
            return step.round == self._latest_round
