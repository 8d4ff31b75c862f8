"""Connections that wait to be used again, for those who read now from this broker, now from that.

A connection is taken out while it is in use, so it never has two users; only an idle one comes
back. It belongs to the process that opened it: a forked child leaves its parent's alone, without
even closing them, and opens its own.
"""

import os
from typing import Final

from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.connector import OpenConnection


class ConnectionCache:
    """Thread: any.

    Args:
        open_connection: connects to a broker.
        idle_per_broker: how many may wait for one broker; more are closed.
    """

    def __init__(self, open_connection: OpenConnection, *, idle_per_broker: int = 2) -> None:
        self._open = open_connection
        self._idle_per_broker = idle_per_broker
        # Every step on it is one call, so that there is no lock that a fork could copy as taken.
        self._idle: dict[Broker, list[BrokerConnection]] = {}
        self._process_id = os.getpid()

    def take(self, broker: Broker) -> BrokerConnection | None:
        """An idle connection, or None where there is none. The broker may have closed it."""
        self._leave_to_parent()
        idle = self._idle.get(broker, [])
        while idle:
            try:
                connection = idle.pop()
            except IndexError:  # another thread took the last one
                break
            if connection.is_idle:
                return connection
        return None

    def open(self, broker: Broker, *, timeout_ms: int | None = None) -> BrokerConnection:
        """Connect anew, maybe in less time than usual; it may be given back as well.

        Raises:
            ConnectFailed: naming the address.
        """
        self._leave_to_parent()
        return self._open(broker, timeout_ms=timeout_ms)

    def give_back(self, connection: BrokerConnection) -> None:
        """Keep a connection for the next one; close it where an answer is still to come."""
        self._leave_to_parent()
        idle = self._idle.setdefault(connection.broker, [])
        if connection.is_idle and len(idle) < self._idle_per_broker:
            idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close what is idle; those in use are closed when they come back. Idempotent."""
        self._leave_to_parent()
        self._idle_per_broker = 0
        while self._idle:
            for connection in self._idle.popitem()[1]:
                connection.close()

    def _leave_to_parent(self) -> None:
        """In a forked child: forget what is the parent's.

        Closing would say goodbye in the parent's name: the two share one socket.
        """
        process_id = os.getpid()
        if process_id != self._process_id:
            _PARENTS.append(self._idle)
            self._idle = {}
            self._process_id = process_id


_PARENTS: Final[list[dict[Broker, list[BrokerConnection]]]] = []
"""Kept, so that the garbage collector does not close them either."""
