"""How to make oneself known to brokers, and their names to oneself. Pure."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from zkconsumer.errors import ConfigError

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]

PROTOCOLS: Final[tuple[SecurityProtocol, ...]] = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
OAUTHBEARER: Final = "OAUTHBEARER"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER)

TokenSource = Callable[[], str]
"""Gives a token that is good now; asked at each connection, on whichever thread opens it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySettings:
    """TLS and SASL, by the names that Kafka gives them; ``repr`` hides the password.

    Attributes:
        protocol: what the port speaks that is connected to.
        ssl_context: checks brokers, and holds our own certificate where they want one; None takes
            the machine's trusted authorities. ``tls.context_of`` makes one from files.
        sasl_mechanism: one of ``MECHANISMS``.
        sasl_username: who we are.
        sasl_password: what proves it.
        token_source: with ``OAUTHBEARER``, instead of the two.

    Raises:
        ConfigError: parts are missing, or of no use with this protocol.
    """

    protocol: SecurityProtocol = "PLAINTEXT"
    ssl_context: ssl.SSLContext | None = field(default=None, compare=False)
    sasl_mechanism: str | None = None
    sasl_username: str | None = None
    sasl_password: str | None = field(default=None, repr=False)
    token_source: TokenSource | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ConfigError(
                f"security.protocol={self.protocol!r}: give one of {', '.join(PROTOCOLS)}"
            )
        if self.uses_sasl:
            self._check_sasl()

    @property
    def uses_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.protocol.endswith("SSL")

    @property
    def uses_sasl(self) -> bool:
        """Whether brokers are told who we are, by a mechanism of SASL."""
        return self.protocol.startswith("SASL")

    def _check_sasl(self) -> None:
        if self.sasl_mechanism not in MECHANISMS:
            raise ConfigError(
                f"sasl.mechanism={self.sasl_mechanism!r}: give one of {', '.join(MECHANISMS)}"
            )
        if self.sasl_mechanism == OAUTHBEARER:
            if self.token_source is None:
                raise ConfigError(
                    "sasl.mechanism=OAUTHBEARER needs tokens: give sasl_oauth_token_provider, or "
                    "sasl_oauthbearer_token_endpoint_url with client id and secret"
                )
            return
        if self.token_source is not None:
            raise ConfigError(
                f"tokens are of no use with sasl.mechanism={self.sasl_mechanism}: give OAUTHBEARER"
            )
        if not self.sasl_username or self.sasl_password is None:
            raise ConfigError(
                f"security.protocol={self.protocol} needs a user name and a password "
                "(sasl_plain_username, sasl_plain_password)"
            )
        if "\0" in self.sasl_username or "\0" in self.sasl_password:
            raise ConfigError("a SASL user name or password can't hold a NUL character")


PLAINTEXT: Final = SecuritySettings()
"""Neither TLS nor SASL."""
