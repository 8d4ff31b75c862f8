"""The connections of an offset channel: those of a call, and the one that is kept for the next."""

import threading

from zkconsumer.errors import ConnectionLost
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection


class Lines:
    """What a ``QuestionRound`` takes its connections from. Thread: one, but for ``stop``.

    Args:
        dialer: opens connections, by a twin that is stopped with these.

    Attributes:
        stopped: whether they are of no use any more.
    """

    def __init__(self, dialer: BrokerDialer) -> None:
        self._dialer = dialer.twin()
        # Reentrant: a signal handler may stop it in the middle of a call.
        self._lock = threading.RLock()
        self._idle: list[NegotiatedConnection] = []
        self._in_use: set[NegotiatedConnection] = set()
        self.stopped = False

    def take_or_dial(self, broker: Broker, *, timeout_ms: int) -> tuple[NegotiatedConnection, bool]:
        """Give a connection to a broker, to be given back, and whether it was there already.

        One that was may have been closed by the broker meanwhile.

        Raises:
            ZkConsumerError: as ``BrokerDialer.dial``.
        """
        with self._lock:
            sound = (one for one in self._idle if _leads_to(one, broker) and one.is_idle)
            idle = next(sound, None)
            if idle is not None:
                self._idle.remove(idle)
                self._in_use.add(idle)
                return idle, True
        connection = self._dialer.dial(broker, timeout_ms=timeout_ms)
        with self._lock:
            self._in_use.add(connection)
        if self.stopped:
            # Connected while the other thread looked for something to close.
            self.give_back(connection)
            raise ConnectionLost(f"{broker}: connecting was broken off")
        return connection, False

    def give_back(self, connection: NegotiatedConnection) -> None:
        """Keep a connection that is sound; close one that waits for an answer still."""
        with self._lock:
            self._in_use.discard(connection)
            kept = connection.is_idle and not self.stopped
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()

    def keep(self, broker: Broker | None) -> None:
        """Close what is idle, but for one connection to this broker."""
        with self._lock:
            kept = [one for one in self._idle if broker is not None and _leads_to(one, broker)][:1]
            closed = [one for one in self._idle if one not in kept]
            self._idle = kept
        for connection in closed:
            connection.close()

    def stop(self) -> None:
        """Close all, and dial no more; whoever waits for one wakes. Idempotent. Thread: any."""
        self.stopped = True
        self._dialer.stop()
        with self._lock:
            connections = [*self._in_use, *self._idle]
            self._idle.clear()
        for connection in connections:
            connection.close()


def _leads_to(connection: NegotiatedConnection, broker: Broker) -> bool:
    # The one that a coordinator is known by has another id than the registered one, or a rack.
    there = connection.broker
    return (there.host, there.port) == (broker.host, broker.port)
