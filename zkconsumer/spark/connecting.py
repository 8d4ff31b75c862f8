"""Opens a query's connections to brokers, on the driver and in tasks."""

import random
from collections.abc import Iterator, Sequence
from contextlib import closing

from zkconsumer.clock import SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.fetch.range_parts import RangePart
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import Broker, OffsetRange
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import SecuritySettings
from zkconsumer.net.transport import Connector
from zkconsumer.wire.negotiation import of_generation
from zkconsumer.wire.versions import OLDEST

_MOST_BYTES = 2**31 - 1
"""Responses have no limit: requests are bounded, and memory grows with the received bytes."""


def query_dialer(
    client: ClientSettings, *, are_old: bool, connector: Connector | None = None
) -> BrokerDialer:
    """Create a dialer, which the caller stops.

    Args:
        client: the client's id and security settings.
        are_old: whether all brokers are known to be of 0.8 or 0.9: then no ApiVersions request is
            sent, and requests have the versions that brokers from 0.8 to 3.9 support.
        connector: creates the transports; TCP if not given.

    Raises:
        ConfigError: a file that its security settings name can't be used.
    """
    assumed = of_generation(OLDEST) if are_old else None
    return dialer_of(client, connector=connector, assumed=assumed)


def reading_client(settings: RangeSettings, security: SecuritySettings) -> ClientSettings:
    """Return the client settings of connections for reading ranges."""
    return ClientSettings(
        client_id=settings.client_id,
        timeout_ms=settings.timeout_ms,
        security=security,
        max_response_bytes=_MOST_BYTES,
    )


def reading_pool(client: ClientSettings, *, are_old: bool) -> ConnectionPool:
    """Create the connection pool of a ``reading_client``; see ``query_dialer``."""
    return ConnectionPool(query_dialer(client, are_old=are_old), SystemClock())


def range_parts(
    pool: ConnectionPool,
    brokers: Sequence[Broker],
    settings: RangeSettings,
    wanted: OffsetRange,
    leader: Broker | None,
) -> Iterator[RangePart]:
    """Yield the records of a range; see ``RangeReader.read``.

    Args:
        pool: the connections.
        brokers: the brokers to request leaders from.
        settings: the settings for reading.
        wanted: the range.
        leader: the last known leader; None: to be looked up.
    """
    client = ClusterClient(
        pool,
        brokers,
        request_timeout_ms=settings.timeout_ms,
        # No second round: the reader counts its attempts, and pauses between them itself.
        retry_backoff_ms=settings.timeout_ms,
        shuffle=random.shuffle,
    )
    reader = RangeReader(client, settings=settings)
    with closing(reader.read(wanted, leader=leader)) as parts:
        for part in parts:
            if isinstance(part, RangePart):
                yield part
