"""The ways to the brokers that an offset channel takes: found, dialed, and broken off."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.connector import BrokerConnector
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector

MAX_RESPONSE_BYTES = 1 << 27
"""Thousands of partitions with the longest metadata, and no more."""


class Dialer(Protocol):
    """Opens the connections of one call."""

    def open(self, broker: Broker, *, timeout_ms: int) -> BrokerConnection:
        """Connect.

        Raises:
            ConnectFailed: naming its address.
        """
        ...

    def stop(self) -> None:
        """Break off connecting, and connect no more. Thread: any."""
        ...


class ConnectorDialer:
    """A ``Dialer`` over any ``Connector``.

    Args:
        connector: makes the transports.
        client_id: sent with every request.
        stop: breaks off a connect that is under way.
    """

    def __init__(
        self, connector: Connector, *, client_id: str, stop: Callable[[], None] = lambda: None
    ) -> None:
        self._connector = connector
        self._client_id = client_id
        self._stop = stop

    def open(self, broker: Broker, *, timeout_ms: int) -> BrokerConnection:
        """See ``Dialer``."""
        connector = BrokerConnector(
            self._connector,
            client_id=self._client_id,
            timeout_ms=timeout_ms,
            max_response_bytes=MAX_RESPONSE_BYTES,
        )
        return connector.open(broker)

    def stop(self) -> None:
        """See ``Dialer``."""
        self._stop()


def tcp_dialer(client_id: str) -> Dialer:
    """A dialer over TCP."""
    tcp = TcpConnector()
    return ConnectorDialer(tcp, client_id=client_id, stop=tcp.stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAccess:
    """The ways to the brokers.

    Attributes:
        list_brokers: the brokers that are registered now; may raise ``RegistryError``.
        new_dialer: makes the dialer of a call; once stopped, it is not used again.
        shuffle: puts the brokers into random order, so that not all members ask the same one.
    """

    list_brokers: Callable[[], Sequence[Broker]]
    new_dialer: Callable[[], Dialer]
    shuffle: Callable[[list[Broker]], None]
