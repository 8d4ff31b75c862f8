"""Members of coordinator groups on real brokers, whose connections can be frozen."""

import random
import threading
from typing import TypeVar

from tests.support.group_members import MemberInTest
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.sandbox import Sandbox
from zkconsumer.wire.api import Request

R = TypeVar("R")

REAL = GroupSettings(
    session_timeout_ms=6_000, heartbeat_interval_ms=100, max_poll_interval_ms=20_000
)
"""Timeouts for groups on a real broker that is busy with other tests."""

_TIMEOUT_MS = 20_000


class _Freezable:
    """A connection that sends nothing while its gate is closed."""

    def __init__(self, connection: NegotiatedConnection, gate: threading.Event) -> None:
        self._connection = connection
        self._gate = gate
        self._closed = False

    def version_of(
        self,
        request: Request[R] | type[Request[R]],
        *,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> int:
        """See ``NegotiatedConnection``."""
        return self._connection.version_of(request, at_least=at_least, at_most=at_most)

    def call(
        self, request: Request[R], *, timeout_ms: int, at_least: int = 0, at_most: int | None = None
    ) -> R:
        """See ``NegotiatedConnection``."""
        while not self._closed and not self._gate.wait(0.05):
            pass
        return self._connection.call(
            request, timeout_ms=timeout_ms, at_least=at_least, at_most=at_most
        )

    def close(self) -> None:
        """See ``NegotiatedConnection``."""
        self._closed = True
        self._connection.close()


class FreezingDialer:
    """A dialer whose connections stop while it is frozen, as in a stopped process.

    Attributes:
        running: an event that is cleared to freeze, and set to resume.
    """

    def __init__(self, dialer: BrokerDialer) -> None:
        self._dialer = dialer
        self.running = threading.Event()
        self.running.set()

    def dial(self, broker: Broker, *, timeout_ms: int | None = None) -> _Freezable:
        """See ``BrokerDialer``."""
        return _Freezable(self._dialer.dial(broker, timeout_ms=timeout_ms), self.running)


class RealMember(MemberInTest):
    """One member on a sandbox's brokers."""

    def __init__(
        self,
        sandbox: Sandbox,
        group_id: str,
        *topics: str,
        settings: GroupSettings = REAL,
        name: str = "member",
    ) -> None:
        dialer = BrokerDialer(
            TcpConnector(),
            client_id=name,
            connect_timeout_ms=_TIMEOUT_MS,
            request_timeout_ms=_TIMEOUT_MS,
        )
        client = ClusterClient(
            dialer,
            sandbox.brokers,
            request_timeout_ms=_TIMEOUT_MS,
            retry_backoff_ms=100,
            shuffle=random.shuffle,
        )

        def stop() -> None:
            client.stop()
            dialer.stop()

        self.network = FreezingDialer(dialer)
        super().__init__(
            self.network,
            client,
            group_id=group_id,
            settings=settings,
            name=name,
            request_timeout_ms=_TIMEOUT_MS,
            stop=stop,
        )
        if topics:
            self.subscribe(*topics)
