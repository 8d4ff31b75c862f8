"""Settings of the connection to a schema registry, named as in Confluent's clients. Pure.

Source: Confluent's ``SchemaRegistryClientConfig`` (Java) and ``SchemaRegistryClient`` (Python).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import SplitResult, unquote, urlsplit

from zkconsumer.digits import is_decimal
from zkconsumer.errors import ConfigError
from zkconsumer.nearest import did_you_mean
from zkconsumer.net.client_credentials import basic_auth
from zkconsumer.net.security import TlsSettings
from zkconsumer.pem_files import require_pem

_PREFIX: Final = "schema.registry."
_AUTHORITIES: Final = ("ssl.ca.location", "ssl.truststore.location")
_CERTIFICATES: Final = ("ssl.certificate.location", "ssl.keystore.location")
_KEY_PASSWORDS: Final = ("ssl.key.password", "ssl.keystore.password")
_NAMES: Final = (
    *("url", "basic.auth.credentials.source", "basic.auth.user.info", "bearer.auth.token"),
    *("bearer.auth.credentials.source", "request.timeout.ms", "ssl.key.location"),
    *("ssl.truststore.type", "ssl.keystore.type"),
    *(*_AUTHORITIES, *_CERTIFICATES, *_KEY_PASSWORDS),
)
_TIMEOUT_MS: Final = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """Settings of the connection to a registry.

    Attributes:
        url: the registry's address, without user and password.
        authorization: the value of the ``Authorization`` header; None: none is sent.
        tls: the TLS settings for ``https``.
        timeout_ms: the time limit of a whole request.
    """

    url: SplitResult
    authorization: str | None = field(default=None, repr=False)
    tls: TlsSettings = field(default_factory=TlsSettings)
    timeout_ms: int = _TIMEOUT_MS

    @classmethod
    def of(cls, url: str, options: Mapping[str, str] | None = None) -> Self:
        """Parse the settings of Confluent's clients.

        Args:
            url: the registry's address.
            options: settings of Confluent's clients: ``basic.auth.user.info``,
                ``bearer.auth.token``, ``ssl.ca.location`` and others, with or without
                ``schema.registry.`` before them.

        Raises:
            ConfigError: the address or an option is malformed, or an option is unknown.
        """
        given = {name.removeprefix(_PREFIX): value for name, value in (options or {}).items()}
        for name in given:
            if name not in _NAMES:
                raise ConfigError(
                    f"{name} is not a setting of a schema registry client"
                    f"{did_you_mean(name, _NAMES)}"
                )
        for name in (*_AUTHORITIES, *_CERTIFICATES, "ssl.key.location"):
            require_pem(name, given.get(name, ""))
        for name in ("ssl.truststore.type", "ssl.keystore.type"):
            if given.get(name, "PEM").upper() != "PEM":
                raise ConfigError(f"{name} is {given[name]}: it must be PEM")
        split = _split(url)
        return cls(
            url=split._replace(netloc=split.netloc.rpartition("@")[2]),
            authorization=_authorization(split, given),
            tls=TlsSettings(
                cafile=_first(given, _AUTHORITIES),
                certfile=_first(given, _CERTIFICATES),
                keyfile=given.get("ssl.key.location"),
                password=_first(given, _KEY_PASSWORDS),
            ),
            timeout_ms=_timeout_ms(given.get("request.timeout.ms")),
        )


def _split(url: str) -> SplitResult:
    try:
        split = urlsplit(url.strip().rstrip("/"))
        is_valid = split.scheme in {"http", "https"} and bool(split.hostname) and split.port != 0
    except ValueError:
        is_valid, split = False, urlsplit("")
    # With a slash in the password, the user would be parsed as the host, and the rest as a path.
    if not is_valid or split.query or split.fragment or "@" in split.path:
        shown = url.rpartition("@")[2]
        raise ConfigError(
            f"--schema-registry is {shown!r}: it must be http(s)://host:port, with %2F and "
            "%40 for / and @ in a password"
        )
    return split


def _authorization(split: SplitResult, given: Mapping[str, str]) -> str | None:
    token = given.get("bearer.auth.token")
    pair = given.get("basic.auth.user.info")
    source = given.get("basic.auth.credentials.source", "USER_INFO" if pair else "URL")
    if source not in {"USER_INFO", "URL"}:
        raise ConfigError(f"basic.auth.credentials.source is {source}: it must be USER_INFO or URL")
    if source == "URL" and split.username:
        pair = f"{unquote(split.username)}:{unquote(split.password or '')}"
    if token and pair:
        raise ConfigError("bearer.auth.token and basic.auth.user.info: give one of them")
    if token:
        value = f"Bearer {token}"
    elif pair:
        value = basic_auth(pair)
    else:
        return None
    if not value.isascii() or not value.isprintable():
        raise ConfigError("bearer.auth.token has characters that a header can't contain")
    return value


def _first(given: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((given[name] for name in names if name in given), None)


def _timeout_ms(text: str | None) -> int:
    if text is None:
        return _TIMEOUT_MS
    if not is_decimal(text, 7) or not 0 < int(text) <= 3_600_000:
        raise ConfigError(f"request.timeout.ms is {text!r}: it must be a number of ms")
    return int(text)
