"""Who asks for tokens of OAuth 2, and where (KIP-768). Pure."""

import urllib.parse
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.errors import ConfigError

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """Who asks which endpoint for tokens; ``repr`` hides the secret.

    Attributes:
        endpoint_url: where tokens are given, ``https://...``.
        client_id: who we are there.
        client_secret: what proves it.
        scope: what for; None: what the endpoint gives without.

    Raises:
        ConfigError: the address is no URL of HTTP, or a part is missing; names the setting.
    """

    endpoint_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None

    def __post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.endpoint_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(
                f"sasl_oauthbearer_token_endpoint_url={self.endpoint_url!r}: give https://host/path"
            )
        if not self.client_id or not self.client_secret:
            raise ConfigError(
                "sasl_oauthbearer_token_endpoint_url needs "
                "sasl_oauthbearer_client_credentials_client_id and "
                "sasl_oauthbearer_client_credentials_client_secret"
            )

    @property
    def is_readable_on_its_way(self) -> bool:
        """Whether the secret crosses a network as it is."""
        parts = urllib.parse.urlsplit(self.endpoint_url)
        return parts.scheme == "http" and parts.hostname not in _LOOPBACK
