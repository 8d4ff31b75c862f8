"""Assembles the dialer of a client from its settings."""

from zkconsumer.clock import Clock
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector
from zkconsumer.wire.negotiation import BrokerVersions


def dialer_of(
    client: ClientSettings,
    *,
    connector: Connector | None = None,
    clock: Clock | None = None,
    assumed: BrokerVersions | None = None,
) -> BrokerDialer:
    """Return a dialer for a client; the caller stops it.

    Args:
        client: the client's settings.
        connector: opens the transports; None: TCP.
        clock: for deadlines.
        assumed: see ``BrokerDialer``.

    Raises:
        ConfigError: a file of the security settings can't be used.
    """
    return BrokerDialer(
        connector or TcpConnector(),
        client_id=client.client_id,
        security=client.security,
        connect_timeout_ms=client.timeout_ms,
        request_timeout_ms=client.timeout_ms,
        max_response_bytes=client.max_response_bytes,
        clock=clock,
        assumed=assumed,
    )
