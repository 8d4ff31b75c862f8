"""The security of a configuration, with what a program gives as objects."""

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
    """Read how to make oneself known to brokers.

    Args:
        config: with an attribute for each of ``SECURITY_KEYS``: of streams, or of polls.
        ssl_context: takes the place of all settings of TLS.
        token_provider: a function that gives tokens, or an object with ``token()``.

    Raises:
        ConfigError: parts are missing, or of no use together; names them.
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
    """Return what the caller's function gives, checked; what it raises is told as what it is."""

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
