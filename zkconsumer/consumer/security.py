"""TLS and SASL as the configuration of a poll consumer has them."""

from collections.abc import Callable

from zkconsumer.config_security import SECURITY_KEYS
from zkconsumer.consumer.config import PollConfig
from zkconsumer.errors import AuthenticationFailed, ZkConsumerError
from zkconsumer.net.security import SecuritySettings, TokenSource, security_in


def security_of(config: PollConfig) -> SecuritySettings:
    """How to make oneself known to brokers.

    Raises:
        ConfigError: parts are missing, or of no use together; names them.
    """
    provider = config.objects.sasl_oauth_token_provider
    return security_in(
        {spec.key: getattr(config, spec.attribute) for spec in SECURITY_KEYS},
        ssl_context=config.objects.ssl_context,
        token_source=None if provider is None else _provided(getattr(provider, "token", provider)),
    )


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
