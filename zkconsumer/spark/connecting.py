"""What opens connections to brokers for a query: on the driver, in its tasks, in its sink."""

from zkconsumer.net.connection import DEFAULT_MAX_RESPONSE_BYTES
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import SecuritySettings
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector
from zkconsumer.wire.negotiation import of_generation
from zkconsumer.wire.releases import Release
from zkconsumer.wire.versions import BrokerGeneration

_FIRST_TO_TELL: Release = (0, 10)
"""The first release that says what it serves."""


def is_old(release: Release | None) -> bool:
    """Whether brokers of this release are not to be asked what they serve; False if not known."""
    return release is not None and release < _FIRST_TO_TELL


def dialer_of(
    client_id: str,
    *,
    timeout_ms: int,
    security: SecuritySettings,
    are_old: bool = False,
    connector: Connector | None = None,
    max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
) -> BrokerDialer:
    """Make a dialer, which whoever asked for it stops.

    Args:
        client_id: sent with every request.
        timeout_ms: how long connecting may take, and each step of it that waits for an answer.
        security: TLS, and who we are.
        are_old: all brokers are known to be of 0.8 or 0.9: none is asked what it serves, and they
            get the requests that all of these know, which later ones do up to 3.9.
        connector: makes the transports; TCP if not given.
        max_response_bytes: the largest answer that a connection takes.
    """
    return BrokerDialer(
        connector or TcpConnector(),
        client_id=client_id,
        security=security,
        connect_timeout_ms=timeout_ms,
        request_timeout_ms=timeout_ms,
        max_response_bytes=max_response_bytes,
        assumed=of_generation(BrokerGeneration.V0_8_0) if are_old else None,
    )
