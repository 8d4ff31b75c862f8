"""TLS and SASL as the configuration has them."""

import ssl

from zkconsumer.consumer.config import PollConfig
from zkconsumer.errors import ConfigError
from zkconsumer.net.security import SecuritySettings
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
    )


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
