"""Connections to brokers for tests that choose each request's version themselves."""

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
    """Connect to a broker, by default over TCP; the caller must close the connection."""
    transport = (connector or TcpConnector()).connect(
        broker.host, broker.port, timeout_ms=timeout_ms
    )
    return BrokerConnection(
        broker, transport, client_id=client_id, max_response_bytes=max_response_bytes
    )
