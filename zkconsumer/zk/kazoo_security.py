"""Configures kazoo's authentication, and opens its TLS connections.

kazoo's own TLS creates a context for each connection, and reports an untrusted certificate only as
"connection dropped", again and again. Here the context is created once, from files that are checked
before connecting, and the reason for a failure is kept for the caller. This module is part of
``kazoo_store``.
"""

import importlib.util
import ssl
from collections.abc import Callable
from typing import Any, Final

from zkconsumer.config_zookeeper import ZookeeperSecurity
from zkconsumer.errors import ConfigError
from zkconsumer.net.security import TlsSettings
from zkconsumer.net.tls import FileSettings, context_of

_FILES: Final = FileSettings(
    authorities="zookeeper.ssl.truststore.location", certificate="zookeeper.ssl.keystore.location"
)


def arguments_of(security: ZookeeperSecurity) -> dict[str, Any]:
    """Return a kazoo client's arguments for authentication.

    Raises:
        ConfigError: a library that it needs is not installed.
    """
    match security.scheme:
        case "digest":
            return {"auth_data": [("digest", f"{security.username}:{security.password}")]}
        case "sasl":
            if importlib.util.find_spec("puresasl") is None:
                raise ConfigError(
                    "zookeeper.auth.scheme is sasl, which needs the pure-sasl library: "
                    "pip install 'zkconsumer[zookeeper-sasl]'"
                )
            return {
                "sasl_options": {
                    "mechanism": "DIGEST-MD5",
                    "username": security.username,
                    "password": security.password,
                }
            }
        case _:
            return {}


class TlsOpener:
    """Opens the connections of one client. Thread: kazoo's connection thread.

    Args:
        context: verifies the server, and holds our certificate.
        open_plainly: kazoo's own function to connect.

    Attributes:
        tls_failure: why the last connection could not be opened, if TLS was the reason.
    """

    def __init__(self, context: ssl.SSLContext, open_plainly: Callable[..., Any]) -> None:
        self._context = context
        self._open_plainly = open_plainly
        self.tls_failure: str | None = None

    def open(self, *args: Any, hostname: str | None = None, **kwargs: Any) -> Any:
        """Connect, and complete the TLS handshake within the connection time-out."""
        sock = self._open_plainly(*args, hostname=hostname, **kwargs)
        try:
            tls = self._context.wrap_socket(sock, server_hostname=hostname)
        except OSError as error:
            sock.close()
            self.tls_failure = _reason(error)
            raise
        self.tls_failure = None
        return tls


def install(kazoo: Any, security: ZookeeperSecurity) -> TlsOpener | None:
    """Make this client connect over TLS; return None without TLS.

    Raises:
        ConfigError: a file can't be read, or is invalid; names it.
    """
    if not security.tls:
        return None
    handler = kazoo.handler
    context = context_of(
        TlsSettings(
            cafile=security.cafile,
            certfile=security.certfile,
            password=security.key_password,
            check_hostname=security.check_hostname,
        ),
        names=_FILES,
    )
    opener = TlsOpener(context, handler.create_connection)
    handler.create_connection = opener.open
    return opener


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"{error.reason or error}: is this its secureClientPort?"
    return f"it closed the connection: is this its secureClientPort? ({error})"
