"""OAuth 2 client credentials, and the endpoint that exchanges them for tokens (KIP-768). Pure."""

import base64
import urllib.parse
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.errors import ConfigError

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """Client credentials and their token endpoint; ``repr`` hides the secret.

    Attributes:
        endpoint_url: the token endpoint, ``https://...``.
        client_id: our id at the endpoint.
        client_secret: the secret that belongs to ``client_id``.
        scope: the scope to request; None: the endpoint's default.

    Raises:
        ConfigError: the URL is no HTTP URL, or the id or secret is missing; names the setting.
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
        """Whether the secret crosses a network unencrypted."""
        parts = urllib.parse.urlsplit(self.endpoint_url)
        return parts.scheme == "http" and parts.hostname not in _LOOPBACK


def basic_auth(pair: str) -> str:
    """Return the ``Authorization`` header of ``user:password`` (RFC 7617)."""
    return "Basic " + base64.b64encode(pair.encode()).decode()
