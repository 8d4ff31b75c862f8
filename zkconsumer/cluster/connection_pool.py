"""Keeps connections to many brokers: each is taken for use, and kept for a while when idle.

A connection is taken out while in use, so it never has two users. It belongs to the process that
opened it: a forked child leaves its parent's connections alone, without even closing them (which
would end them for the parent), and opens its own.
"""

import logging
import os
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.errors import ConnectionLost, TransportError
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.repeats import Repeats

log = logging.getLogger(__name__)

_KEPT_IDLE_MS = 60_000
"""A vanished machine sends nothing: connections idle for longer are not trusted."""

IDLE_PER_BROKER = 2

T = TypeVar("T")


class ConnectionPool:
    """A pool of connections to brokers. Thread: any.

    Args:
        dialer: opens connections, through a sibling that is stopped with this pool.
        clock: measures how long a connection was idle.
        idle_per_broker: the number of idle connections kept for each broker.

    Attributes:
        stopped: whether it was stopped.
    """

    def __init__(
        self, dialer: BrokerDialer, clock: Clock, *, idle_per_broker: int = IDLE_PER_BROKER
    ) -> None:
        self._idle_per_broker = idle_per_broker
        self._origin = dialer
        self._clock = clock
        self.stopped = False
        self._reset()

    def _reset(self) -> None:
        """Reset to no connections and a new lock."""
        self._process_id = os.getpid()
        self._dialer = self._origin.sibling()
        self._repeats = Repeats(log, self._clock)
        # Reentrant: a signal handler may stop it in the middle of a call.
        self._lock = threading.RLock()
        self._idle: dict[Broker, list[tuple[NegotiatedConnection, int]]] = {}
        self._in_use: set[NegotiatedConnection] = set()
        self._failed: set[Broker] = set()

    def _leave_to_parent(self) -> None:
        """Drop the parent's connections in a forked child."""
        if os.getpid() != self._process_id:
            _PARENTS.append((self._idle, self._in_use))
            self._reset()

    def failed_last(self, broker: Broker) -> bool:
        """Return whether the last attempt with that broker failed, so that others go first."""
        return broker in self._failed

    def call(
        self, broker: Broker, request: Callable[[NegotiatedConnection], T], *, timeout_ms: int
    ) -> T:
        """Run a request over an idle connection; over a new one if there is none, or it was closed.

        Raises:
            ZkConsumerError: as ``BrokerDialer.dial``, or an error of ``request``.
        """
        idle = self._take(broker)
        if idle is not None:
            try:
                return self._used(idle, request)
            except ConnectionLost:
                # Closed while idle, most likely: that does not mean that the broker is down.
                self._check_running(broker)
        return self._used(self._dial(broker, timeout_ms), request)

    def take_or_dial(self, broker: Broker, *, timeout_ms: int) -> tuple[NegotiatedConnection, bool]:
        """Take an idle connection, or dial a new one; it must be given back.

        Return also whether it was idle: the broker may have closed it meanwhile.

        Raises:
            ZkConsumerError: as ``BrokerDialer.dial``.
        """
        idle = self._take(broker)
        if idle is not None:
            return idle, True
        self._check_running(broker)
        return self._dial(broker, timeout_ms), False

    def give_back(self, connection: NegotiatedConnection) -> None:
        """Keep a connection for later use; close it if a response is pending.

        In a child that was forked during a call, leave the parent's connection alone.
        """
        self._leave_to_parent()
        with self._lock:
            if connection not in self._in_use:
                return
            self._in_use.remove(connection)
            idle = self._idle.setdefault(connection.broker, [])
            sound = connection.is_idle
            kept = sound and not self.stopped and len(idle) < self._idle_per_broker
            if kept:
                idle.append((connection, self._clock.now_ms()))
        if sound:
            self._failed.discard(connection.broker)
            self._repeats.works(f"connecting to {connection.broker}")
        else:
            self._failed.add(connection.broker)
        if not kept:
            connection.close()

    def keep(self, broker: Broker | None) -> None:
        """Close all idle connections, except one to this broker."""
        self._leave_to_parent()
        with self._lock:
            there = [] if broker is None else self._idle.pop(broker, [])
            closed = [
                *there[:-1],
                *(connection for idle in self._idle.values() for connection in idle),
            ]
            self._idle.clear()
            if broker is not None and there:
                self._idle[broker] = there[-1:]
        for connection, _ in closed:
            connection.close()

    def stop(self) -> None:
        """Close all connections, dial no more, and interrupt waiting threads. Idempotent."""
        self._leave_to_parent()
        self.stopped = True
        self._dialer.stop()
        with self._lock:
            connections = list(self._in_use)
            for idle in self._idle.values():
                connections += [connection for connection, _ in idle]
            self._idle.clear()
        for connection in connections:
            connection.close()

    def _used(
        self, connection: NegotiatedConnection, request: Callable[[NegotiatedConnection], T]
    ) -> T:
        try:
            return request(connection)
        finally:
            self.give_back(connection)

    def _take(self, broker: Broker) -> NegotiatedConnection | None:
        self._leave_to_parent()
        now_ms = self._clock.now_ms()
        stale: list[NegotiatedConnection] = []
        found: NegotiatedConnection | None = None
        with self._lock:
            idle = self._idle.get(broker, [])
            while idle and found is None:
                connection, since_ms = idle.pop()
                if connection.is_idle and now_ms - since_ms <= _KEPT_IDLE_MS:
                    found = connection
                    self._in_use.add(connection)
                else:
                    stale.append(connection)
        for connection in stale:
            connection.close()
        return found

    def _dial(self, broker: Broker, timeout_ms: int) -> NegotiatedConnection:
        self._check_running(broker)
        try:
            connection = self._dialer.dial(broker, timeout_ms=timeout_ms)
        except TransportError as error:
            # Logged once until it works: an address that only others can reach looks like an empty
            # log.
            if broker.id >= 0 and not self.stopped:
                text = f"{broker}, as advertised by the cluster, can't be reached: {error}"
                self._repeats.happened(f"connecting to {broker}", text)
            self._failed.add(broker)
            raise
        with self._lock:
            self._in_use.add(connection)
        if self.stopped:
            self.give_back(connection)
            self._check_running(broker)
        return connection

    def _check_running(self, broker: Broker) -> None:
        if self.stopped:
            raise ConnectionLost(f"{broker}: nothing was sent: this client was stopped")


_PARENTS: Final[list[object]] = []
"""The parent's connections, kept so that the garbage collector does not close them either."""
