"""What every client of brokers is told, whatever it is for: a value that tasks can be sent. Pure.

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
    """Where brokers are, how they are met, and how long they may take.

    Attributes:
        client_id: sent with every request.
        timeout_ms: how long connecting, and each response, may take.
        bootstrap: bootstrap brokers; empty: none were given.
        security: TLS and SASL.
        max_response_bytes: the largest response that a connection takes.
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
    """Read them out of a file that other clients may share; all else in it is ignored.

    Args:
        given: settings by their keys with dots, security in Kafka's or kafka-python's spelling.
        client_id: sent with every request.
        timeout_ms: how long connecting, and each response, may take.
        servers: bootstrap brokers, instead of those that are given there.

    Raises:
        ConfigError: a setting is invalid, or one of security is not known: passed over, it
            might leave open what somebody meant to close.
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
