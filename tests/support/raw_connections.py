"""Connections to brokers for tests that choose themselves in which version they ask what."""

from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector
from zkconsumer.wire.response_bounds import DEFAULT_MAX_RESPONSE_BYTES


def raw_connection(
    broker: Broker,
    *,
    connector: Connector | None = None,
    client_id: str = "tests",
    timeout_ms: int = 10_000,
    max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
) -> BrokerConnection:
    """Connect, over TCP where no other way is named; whoever asked for it closes it."""
    transport = (connector or TcpConnector()).connect(
        broker.host, broker.port, timeout_ms=timeout_ms
    )
    return BrokerConnection(
        broker, transport, client_id=client_id, max_response_bytes=max_response_bytes
    )
