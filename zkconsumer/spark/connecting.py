"""Open a query's connections to brokers, on the driver and in tasks."""

from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.transport import Connector
from zkconsumer.wire.negotiation import of_generation
from zkconsumer.wire.releases import Release
from zkconsumer.wire.versions import OLDEST

_FIRST_TO_TELL: Release = (0, 10)
"""The first release that says what it serves."""


def is_old(release: Release | None) -> bool:
    """Return whether brokers of this release lack ApiVersions; False if unknown."""
    return release is not None and release < _FIRST_TO_TELL


def query_dialer(
    client: ClientSettings, *, are_old: bool, connector: Connector | None = None
) -> BrokerDialer:
    """Create a dialer, which the caller stops.

    Args:
        client: who it is, and how it gets in.
        are_old: all brokers are known to be of 0.8 or 0.9: none is asked what it serves, and they
            get the requests that all of these know, which later ones do up to 3.9.
        connector: makes the transports; TCP if not given.

    Raises:
        ConfigError: a file of its security settings can't be used.
    """
    assumed = of_generation(OLDEST) if are_old else None
    return dialer_of(client, connector=connector, assumed=assumed)
