"""Reads the security settings of a configuration, with objects that a program passes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from zkconsumer.config_security import SECURITY_KEYS
from zkconsumer.errors import AuthenticationFailed, ConfigError, ZkConsumerError
from zkconsumer.net.security import SecuritySettings, TokenSource, security_in

if TYPE_CHECKING:
    import ssl


def security_of(
    config: object, *, ssl_context: "ssl.SSLContext | None" = None, token_provider: object = None
) -> SecuritySettings:
    """Return the security settings of a configuration.

    Args:
        config: an object with an attribute for each of ``SECURITY_KEYS``.
        ssl_context: takes the place of all TLS settings.
        token_provider: a function that returns tokens, or an object with ``token()``.

    Raises:
        ConfigError: settings are missing or contradict each other; names them.
    """
    source = None
    if token_provider is not None:
        give = getattr(token_provider, "token", token_provider)
        if not callable(give):
            raise ConfigError(
                "sasl_oauth_token_provider: give a function that gives a token, or an object with "
                "token()"
            )
        source = _provided(give)
    return security_in(
        {spec.key: getattr(config, spec.attribute) for spec in SECURITY_KEYS},
        ssl_context=ssl_context,
        token_source=source,
    )


def _provided(give: Callable[[], object]) -> TokenSource:
    """Wrap the caller's token function: check its result and map its errors."""

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
