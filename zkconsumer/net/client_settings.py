"""The settings of every client of brokers: plain values, which can be sent to Spark tasks. Pure.

Source: Kafka ``CommonClientConfigs``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from zkconsumer.config_security import require_known
from zkconsumer.model import Broker
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.net.security import PLAINTEXT, SecuritySettings, read_security
from zkconsumer.wire.response_bounds import DEFAULT_MAX_RESPONSE_BYTES

BOOTSTRAP: Final = "bootstrap.servers"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """The brokers' addresses, security and time limits of one client.

    Attributes:
        client_id: sent with every request.
        timeout_ms: time limit of connecting, and of each response.
        bootstrap: the bootstrap brokers; empty if none were given.
        security: the TLS and SASL settings.
        max_response_bytes: the largest response that a connection accepts.
    """

    client_id: str
    timeout_ms: int
    bootstrap: tuple[Broker, ...] = ()
    security: SecuritySettings = PLAINTEXT
    max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES


def read_client_settings(
    given: Mapping[str, object],
    *,
    client_id: str,
    timeout_ms: int,
    servers: str | None = None,
) -> ClientSettings:
    """Read client settings from a file shared with other clients; other keys are ignored.

    Args:
        given: settings by their keys with dots, security in Kafka's or kafka-python's spelling.
        client_id: sent with every request.
        timeout_ms: time limit of connecting, and of each response.
        servers: bootstrap servers instead of those in ``given``; None: those in ``given``.

    Raises:
        ConfigError: a setting is invalid, or a security setting is unknown: ignoring it might leave
            the client unprotected.
    """
    for key in given:
        require_known(key, f"setting {key}")
    listed = servers or given.get(BOOTSTRAP)
    return ClientSettings(
        client_id=client_id,
        timeout_ms=timeout_ms,
        bootstrap=parse_bootstrap(BOOTSTRAP, str(listed)) if listed else (),
        security=read_security(given),
    )
