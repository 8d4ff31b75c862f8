"""TLS and SASL as the configuration has them."""

import ssl
from collections.abc import Callable

from zkconsumer.consumer.config import PollConfig
from zkconsumer.errors import AuthenticationFailed, ConfigError, ZkConsumerError
from zkconsumer.net.oauth import ClientCredentials, FetchedTokens
from zkconsumer.net.security import SecuritySettings, TokenSource
from zkconsumer.net.tls import context_of


def security_of(config: PollConfig) -> SecuritySettings:
    """How to make oneself known to brokers.

    Raises:
        ConfigError: a file can't be read, or parts are missing; names it.
    """
    context = config.objects.ssl_context
    if context is None and config.security_protocol.endswith("SSL"):
        context = _context(config)
    return SecuritySettings(
        protocol=config.security_protocol,
        ssl_context=context,
        sasl_mechanism=config.sasl_mechanism,
        sasl_username=config.sasl_plain_username,
        sasl_password=config.sasl_plain_password,
        token_source=_token_source(config),
    )


def _token_source(config: PollConfig) -> TokenSource | None:
    """What gives tokens, by whichever of its two settings; None where there is neither.

    Raises:
        ConfigError: both are given, or a part is missing.
    """
    provider = config.objects.sasl_oauth_token_provider
    url = config.sasl_oauthbearer_token_endpoint_url
    if provider is not None and url is not None:
        raise ConfigError(
            "give sasl_oauth_token_provider or sasl_oauthbearer_token_endpoint_url, not both"
        )
    if url is not None:
        credentials = ClientCredentials(
            endpoint_url=url,
            client_id=config.sasl_oauthbearer_client_credentials_client_id or "",
            client_secret=config.sasl_oauthbearer_client_credentials_client_secret or "",
            scope=config.sasl_oauthbearer_scope,
        )
        return FetchedTokens(credentials, timeout_ms=config.request_timeout_ms).token
    return None if provider is None else _provided(getattr(provider, "token", provider))


def _provided(give: Callable[[], object]) -> TokenSource:
    """What the caller's function gives, checked; what it raises is told as what it is."""

    def token() -> str:
        try:
            given = give()
        except ZkConsumerError:
            raise
        except Exception as error:
            raise AuthenticationFailed(
                f"sasl_oauth_token_provider failed: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(given, str):
            raise AuthenticationFailed(
                f"sasl_oauth_token_provider gives {type(given).__name__}, and no text"
            )
        return given

    return token


def _context(config: PollConfig) -> ssl.SSLContext:
    context = context_of(
        cafile=config.ssl_cafile,
        certfile=config.ssl_certfile,
        keyfile=config.ssl_keyfile,
        password=config.ssl_password,
        check_hostname=config.ssl_check_hostname,
    )
    if config.ssl_ciphers is not None:
        try:
            context.set_ciphers(config.ssl_ciphers)
        except ssl.SSLError as error:
            raise ConfigError(f"ssl_ciphers={config.ssl_ciphers!r}: {error}") from error
    if config.ssl_crlfile is not None:
        try:
            context.load_verify_locations(config.ssl_crlfile)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"ssl_crlfile={config.ssl_crlfile!r}: {error}") from error
        # As kafka-python: of the broker's own certificate, not of the authorities above it.
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    return context
