"""The settings for secured brokers, by kafka-python's names and by Java's. Pure.

Each value has one name here, kafka-python's; the names in Kafka's own files are translated to it.
So a file written for Kafka's own tools works here, too, once its stores are PEM.
Source: Kafka 3.9 ``SslConfigs``, ``SaslConfigs``, ``CommonClientConfigs``; KIP-651, KIP-85.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from zkconsumer.config_spec import ConfigKey, Value
from zkconsumer.config_values import read_table
from zkconsumer.errors import ConfigError
from zkconsumer.nearest import did_you_mean
from zkconsumer.pem_files import require_pem
from zkconsumer.printable import shown

SECURITY_KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "security.protocol",
        "choice",
        default="PLAINTEXT",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        since="0.9.0",
    ).means("The protocol of the brokers' port."),
    ConfigKey("ssl.cafile", "text", since="kafka-python").means(
        "A PEM file with the authorities that signed the brokers' certificates; by default the "
        "authorities that the machine trusts."
    ),
    ConfigKey("ssl.certfile", "text", since="kafka-python").means(
        "A PEM file with the client's certificate, where brokers require one."
    ),
    ConfigKey("ssl.keyfile", "text", since="kafka-python").means(
        "A PEM file with the certificate's private key, unless `ssl.certfile` contains it."
    ),
    ConfigKey("ssl.password", "text", since="kafka-python", secret=True).means(
        "The password of the private key; never shown or logged."
    ),
    ConfigKey("ssl.check.hostname", "bool", default=True, since="kafka-python").means(
        "Whether a broker's certificate must match the host name used to connect to it."
    ),
    ConfigKey("ssl.ciphers", "text", since="kafka-python").means(
        "The ciphers allowed, as a cipher list of OpenSSL."
    ),
    ConfigKey("ssl.crlfile", "text", since="kafka-python").means(
        "A PEM file with revoked certificates."
    ),
    ConfigKey(
        "sasl.mechanism",
        "choice",
        choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"),
        since="0.10.0",
    ).means("How the client authenticates, with the protocols that begin with SASL."),
    ConfigKey("sasl.plain.username", "text", since="kafka-python").means(
        "The user name, for `PLAIN` and SCRAM."
    ),
    ConfigKey("sasl.plain.password", "text", since="kafka-python", secret=True).means(
        "The password; never shown or logged."
    ),
    ConfigKey("sasl.oauthbearer.token.endpoint.url", "text", since="3.1.0").means(
        "With `OAUTHBEARER` and no token provider: the endpoint that grants tokens for client "
        "credentials."
    ),
    ConfigKey("sasl.oauthbearer.client.credentials.client.id", "text", since="4.1.0").means(
        "The client id for that endpoint."
    ),
    ConfigKey(
        "sasl.oauthbearer.client.credentials.client.secret", "text", since="4.1.0", secret=True
    ).means("The client secret for that endpoint; never shown or logged."),
    ConfigKey("sasl.oauthbearer.scope", "text", since="4.1.0").means(
        "The scope to request for the tokens; by default the endpoint decides."
    ),
    ConfigKey("sasl.kerberos.service.name", "text", default="kafka", since="0.9.0").means(
        "With `GSSAPI`: the first part of the brokers' principal."
    ),
    ConfigKey("sasl.kerberos.domain.name", "text", since="kafka-python").means(
        "With `GSSAPI`: the host in the brokers' principal; by default the host that each "
        "broker advertises."
    ),
    ConfigKey("sasl.kerberos.keytab", "text", since="librdkafka").means(
        "With `GSSAPI`: the file with the client's key; by default the tickets of `kinit` are used."
    ),
    ConfigKey("sasl.kerberos.principal", "text", since="librdkafka").means(
        "With `GSSAPI`: the client's principal; by default the first one in the keytab, or "
        "that of the tickets."
    ),
)
"""The settings, as rows for every table of settings that includes them."""


@dataclass(frozen=True, init=False, slots=True, eq=False)
class SecurityFields:
    """The security settings in every client configuration; attributes are keys with underscores."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    ssl_cafile: str | None
    ssl_certfile: str | None
    ssl_keyfile: str | None
    ssl_password: str | None = field(repr=False)
    ssl_check_hostname: bool
    ssl_ciphers: str | None
    ssl_crlfile: str | None
    sasl_mechanism: (
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"] | None
    )
    sasl_plain_username: str | None
    sasl_plain_password: str | None = field(repr=False)
    sasl_oauthbearer_token_endpoint_url: str | None
    sasl_oauthbearer_client_credentials_client_id: str | None
    sasl_oauthbearer_client_credentials_client_secret: str | None = field(repr=False)
    sasl_oauthbearer_scope: str | None
    sasl_kerberos_service_name: str
    sasl_kerberos_domain_name: str | None
    sasl_kerberos_keytab: str | None
    sasl_kerberos_principal: str | None

    @property
    def security_values(self) -> Mapping[str, Value]:
        """The value of each of ``SECURITY_KEYS``."""
        return {spec.key: getattr(self, spec.attribute) for spec in SECURITY_KEYS}


Translation = Callable[[str, str], Mapping[str, str]]


def _store(ours: str) -> Translation:
    def translate(key: str, value: str) -> Mapping[str, str]:
        require_pem(key, value)
        return {ours: value}

    return translate


def _store_type(key: str, value: str) -> Mapping[str, str]:
    if value.strip().upper() != "PEM":
        raise ConfigError(f"{key} is {shown(value)}: only PEM files are read here, set it to PEM")
    return {}


def _check_of_names(key: str, value: str) -> Mapping[str, str]:
    if value.strip().lower() not in {"", "https"}:
        raise ConfigError(
            f"{key} is {shown(value)}: it must be https, or empty to skip the check of host names"
        )
    return {"ssl.check.hostname": "true" if value.strip() else "false"}


def _jaas(key: str, value: str) -> Mapping[str, str]:
    from zkconsumer.jaas_config import settings_in_jaas  # noqa: PLC0415 - few have one

    return settings_in_jaas(key, value)


JAVA_KEYS: Final[Mapping[str, tuple[Translation, str]]] = {
    "ssl.truststore.location": (_store("ssl.cafile"), "`ssl.cafile`"),
    "ssl.truststore.type": (_store_type, "PEM, since no other store can be read"),
    # A PEM file of certificates contains no secret.
    "ssl.truststore.password": (lambda _key, _value: {}, "of no use with PEM"),
    "ssl.keystore.location": (_store("ssl.certfile"), "`ssl.certfile`, with the key in it"),
    "ssl.keystore.type": (_store_type, "PEM, since no other store can be read"),
    "ssl.keystore.password": (lambda _key, value: {"ssl.password": value}, "`ssl.password`"),
    "ssl.key.password": (lambda _key, value: {"ssl.password": value}, "`ssl.password`"),
    "ssl.endpoint.identification.algorithm": (
        _check_of_names,
        "`ssl.check.hostname`; empty is false",
    ),
    "sasl.jaas.config": (
        _jaas,
        "user and password, client id and secret, or keytab and principal",
    ),
}
"""The names of these settings in Kafka's own clients, each with its translation into ours, as a
function and in words."""

SECURITY_NAMES: Final = frozenset((*(spec.key for spec in SECURITY_KEYS), *JAVA_KEYS))
"""The keys of these settings, with dots, by kafka-python's names and by Java's."""


SECURITY_PREFIXES: Final = ("security.", "ssl.", "sasl.")
"""The prefixes of these keys; no other keys begin with them."""


def require_known(key: str, shown_as: str) -> None:
    """Refuse an unknown security setting: ignored, it might leave something open.

    Args:
        key: with dots; keys of other kinds are ignored.
        shown_as: how the error refers to it.

    Raises:
        ConfigError: names it, and the most similar known one.
    """
    if key.startswith(SECURITY_PREFIXES) and key not in SECURITY_NAMES:
        hint = did_you_mean(key, sorted(SECURITY_NAMES))
        raise ConfigError(f"{shown_as} is not known here{hint}")


def by_our_names(given: Mapping[str, object]) -> dict[str, object]:
    """Translate Java's names to ours, and leave the other settings as they are.

    Args:
        given: settings by their keys with dots, None for one that is not set.

    Raises:
        ConfigError: a store is not PEM, a JAAS configuration can't be parsed, or two names for
            one setting have different values; names the settings.
    """
    ours = {key: value for key, value in given.items() if key not in JAVA_KEYS}
    sources: dict[str, str] = {}
    for key, value in given.items():
        if key not in JAVA_KEYS or value is None:
            continue
        if not isinstance(value, str):
            raise ConfigError(f"{key} is not text")
        for name, text in JAVA_KEYS[key][0](key, value).items():
            known = ours.get(name)
            if name == "sasl.mechanism" and known is not None:
                continue  # the login module only implies a mechanism: an explicit one wins
            if known is not None and known != text:
                raise ConfigError(
                    f"{key} and {sources.get(name, name)} are both given, and they differ: give one"
                )
            ours[name], sources[name] = text, key
    return ours


def read_values(given: Mapping[str, object]) -> dict[str, Value]:
    """Return the value of each of ``SECURITY_KEYS``, with defaults; ignore other settings.

    Args:
        given: settings by their keys with dots, by kafka-python's names or by Java's.

    Raises:
        ConfigError: names the setting, its value unless that is secret, and what is allowed.
    """
    ours = by_our_names({key: value for key, value in given.items() if key in SECURITY_NAMES})
    return read_table(SECURITY_KEYS, ours)
