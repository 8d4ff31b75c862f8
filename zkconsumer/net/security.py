"""Security settings: TLS and SASL, in Kafka's or in kafka-python's spelling. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from zkconsumer.config_security import read_values
from zkconsumer.config_spec import Value
from zkconsumer.errors import AuthenticationFailed, ConfigError, ZkConsumerError
from zkconsumer.net.mechanism import Mechanism
from zkconsumer.pem_files import require_pem

if TYPE_CHECKING:
    import ssl

    from zkconsumer.net.client_credentials import ClientCredentials
    from zkconsumer.net.kerberos import KerberosSettings

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]

PROTOCOLS: Final[tuple[SecurityProtocol, ...]] = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
OAUTHBEARER: Final = "OAUTHBEARER"
GSSAPI: Final = "GSSAPI"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER, GSSAPI)

TokenSource = Callable[[], str]
"""Returns a valid token; called for each connection, on the thread that opens it."""

KerberosSource = Callable[[str], Mechanism]
"""Begins a GSSAPI conversation with the broker at a host; called like a ``TokenSource``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The PEM files and options of TLS; ``repr`` hides the password.

    Attributes:
        cafile: the trusted CAs; None: those of the system.
        certfile: our certificate; None: we have none.
        keyfile: its private key; None: it is in ``certfile``.
        password: the password of the key; None: the key is not encrypted.
        check_hostname: whether a broker's certificate must match the host that is connected to.
        ciphers: the allowed ciphers, as an OpenSSL list; None: Python's default.
        crlfile: the revoked certificates; None: revocation is not checked.

    Raises:
        ConfigError: a file name is that of a Java key store.
    """

    cafile: str | Path | None = None
    certfile: str | Path | None = None
    keyfile: str | Path | None = None
    password: str | None = field(default=None, repr=False)
    check_hostname: bool = True
    ciphers: str | None = None
    crlfile: str | Path | None = None

    def __post_init__(self) -> None:
        for name in ("cafile", "certfile", "keyfile", "crlfile"):
            path = getattr(self, name)
            if path is not None:
                require_pem(f"ssl_{name}", str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySettings:
    """TLS and SASL settings, by Kafka's names; ``repr`` hides secrets.

    Without ``ssl_context``, ``token_source`` and ``kerberos`` it consists of plain values, which
    can be sent to another process.

    Attributes:
        protocol: the security protocol of the brokers' port.
        tls: the files for TLS.
        ssl_context: replaces ``tls``; None: ``tls`` is used.
        sasl_mechanism: one of ``MECHANISMS``.
        sasl_username: our user name.
        sasl_password: our password.
        token_source: with ``OAUTHBEARER``, instead of name and password: returns tokens.
        client_credentials: with ``OAUTHBEARER``, instead of ``token_source``: credentials to fetch
            tokens with.
        tickets: with ``GSSAPI``, instead of name and password: the Kerberos settings.
        kerberos: with ``GSSAPI``, instead of ``tickets``: begins conversations; the dialer sets it
            from ``gssapi.KerberosLogin``.

    Raises:
        ConfigError: settings are missing, or do not apply to this protocol.
    """

    protocol: SecurityProtocol = "PLAINTEXT"
    tls: TlsSettings = field(default_factory=TlsSettings)
    ssl_context: "ssl.SSLContext | None" = field(default=None, compare=False)
    sasl_mechanism: str | None = None
    sasl_username: str | None = None
    sasl_password: str | None = field(default=None, repr=False)
    token_source: TokenSource | None = field(default=None, repr=False, compare=False)
    client_credentials: "ClientCredentials | None" = None
    tickets: "KerberosSettings | None" = None
    kerberos: KerberosSource | None = field(default=None, repr=False, compare=False)

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
        """Whether connections are authenticated by SASL."""
        return self.protocol.startswith("SASL")

    def _check_sasl(self) -> None:
        if self.sasl_mechanism not in MECHANISMS:
            raise ConfigError(
                f"sasl.mechanism={self.sasl_mechanism!r}: give one of {', '.join(MECHANISMS)}"
            )
        match self.sasl_mechanism:
            case "GSSAPI":
                self._check_kerberos()
            case "OAUTHBEARER":
                self._refuse_tickets()
                self._check_tokens()
            case _:
                self._refuse_tickets()
                self._check_password()

    def _refuse_tickets(self) -> None:
        if self.kerberos is not None or self.tickets is not None:
            raise ConfigError(
                "sasl_kerberos_keytab and sasl_kerberos_principal can't be used with "
                f"sasl.mechanism={self.sasl_mechanism}: give GSSAPI"
            )

    def _check_tokens(self) -> None:
        if self.token_source is None and self.client_credentials is None:
            raise ConfigError(
                "sasl.mechanism=OAUTHBEARER needs tokens: give sasl_oauth_token_provider, or "
                "sasl_oauthbearer_token_endpoint_url with client id and secret"
            )
        if self.token_source is not None and self.client_credentials is not None:
            raise ConfigError(
                "give sasl_oauth_token_provider or sasl_oauthbearer_token_endpoint_url, not both"
            )
        if self.sasl_username or self.sasl_password is not None:
            raise ConfigError(
                "sasl_plain_username and sasl_plain_password can't be used with "
                "sasl.mechanism=OAUTHBEARER: give them or tokens, not both"
            )

    def _check_password(self) -> None:
        if self.token_source is not None or self.client_credentials is not None:
            raise ConfigError(
                f"tokens can't be used with sasl.mechanism={self.sasl_mechanism}: give OAUTHBEARER"
            )
        if not self.sasl_username or self.sasl_password is None:
            raise ConfigError(
                f"security.protocol={self.protocol} needs a user name and a password "
                "(sasl_plain_username, sasl_plain_password)"
            )
        if "\0" in self.sasl_username or "\0" in self.sasl_password:
            raise ConfigError("a SASL user name or password can't contain a NUL character")

    def _check_kerberos(self) -> None:
        if self.sasl_username is not None or self.sasl_password is not None:
            raise ConfigError(
                "sasl_plain_username and sasl_plain_password can't be used with sasl.mechanism="
                "GSSAPI: give sasl_kerberos_keytab and sasl_kerberos_principal, or run kinit"
            )
        if self.token_source is not None or self.client_credentials is not None:
            raise ConfigError("tokens can't be used with sasl.mechanism=GSSAPI: give OAUTHBEARER")
        if self.kerberos is None and self.tickets is None:
            raise ConfigError("sasl.mechanism=GSSAPI needs a login to Kerberos")


PLAINTEXT: Final = SecuritySettings()
"""The settings without TLS and SASL."""


def read_security(given: Mapping[str, object]) -> SecuritySettings:
    """Read security settings in Kafka's or in kafka-python's spelling; other keys are ignored.

    Args:
        given: settings by their keys with dots.

    Raises:
        ConfigError: a setting is invalid or missing; names it.
    """
    return security_in(read_values(given))


def security_in(
    values: Mapping[str, Value],
    *,
    ssl_context: "ssl.SSLContext | None" = None,
    token_provider: object = None,
) -> SecuritySettings:
    """Read security settings from the values of ``config_security.SECURITY_KEYS``.

    Args:
        values: the values by their keys with dots.
        ssl_context: replaces all TLS settings; None: they are used.
        token_provider: a function that returns tokens, or an object with ``token()``.

    Raises:
        ConfigError: settings are missing or contradict each other; names them.
    """

    def text(key: str) -> str | None:
        value = values[key]
        return value if isinstance(value, str) else None

    protocol: SecurityProtocol = "PLAINTEXT"
    for known in PROTOCOLS:
        protocol = known if known == values["security.protocol"] else protocol
    return SecuritySettings(
        protocol=protocol,
        tls=TlsSettings(
            cafile=text("ssl.cafile"),
            certfile=text("ssl.certfile"),
            keyfile=text("ssl.keyfile"),
            password=text("ssl.password"),
            check_hostname=values["ssl.check.hostname"] is True,
            ciphers=text("ssl.ciphers"),
            crlfile=text("ssl.crlfile"),
        ),
        sasl_mechanism=text("sasl.mechanism"),
        sasl_username=text("sasl.plain.username"),
        sasl_password=text("sasl.plain.password"),
        client_credentials=_credentials(text, protocol),
        tickets=_tickets(text, protocol),
        ssl_context=ssl_context,
        token_source=None if token_provider is None else _token_source(token_provider),
    )


def _credentials(text: Callable[[str], str | None], protocol: str) -> "ClientCredentials | None":
    """Return the OAuth client credentials; None if none are set."""
    url = text("sasl.oauthbearer.token.endpoint.url")
    if url is None or not protocol.startswith("SASL"):
        return None
    from zkconsumer.net.client_credentials import ClientCredentials  # noqa: PLC0415 - few need it

    return ClientCredentials(
        endpoint_url=url,
        client_id=text("sasl.oauthbearer.client.credentials.client.id") or "",
        client_secret=text("sasl.oauthbearer.client.credentials.client.secret") or "",
        scope=text("sasl.oauthbearer.scope"),
    )


def _tickets(text: Callable[[str], str | None], protocol: str) -> "KerberosSettings | None":
    """Return the Kerberos settings; None if they are neither needed nor given."""
    keytab, principal = text("sasl.kerberos.keytab"), text("sasl.kerberos.principal")
    is_reported = keytab is not None or principal is not None
    if not protocol.startswith("SASL") or not (text("sasl.mechanism") == GSSAPI or is_reported):
        return None
    from zkconsumer.net.kerberos import KerberosSettings  # noqa: PLC0415 - few need it

    return KerberosSettings(
        service_name=text("sasl.kerberos.service.name") or "",
        domain_name=text("sasl.kerberos.domain.name"),
        keytab=keytab,
        principal=principal,
    )


def _token_source(provider: object) -> TokenSource:
    """Wrap the caller's token function: check its result and map its errors."""
    give = getattr(provider, "token", provider)
    if not callable(give):
        raise ConfigError(
            "sasl_oauth_token_provider: give a function that returns a token, or an object with "
            "token()"
        )

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
                f"sasl_oauth_token_provider returned {type(given).__name__}, not a string"
            )
        return given

    return token
