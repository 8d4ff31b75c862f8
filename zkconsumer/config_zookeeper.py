"""The settings for a secured ZooKeeper: access, and the ACLs of created nodes. Pure.

Source: Kafka 3.9 ``ZkConfigs`` for ``zookeeper.ssl.*`` (KIP-515) and ``zookeeper.set.acl``,
``ZkData.defaultAcls`` for the ACLs; ZooKeeper's ``DigestAuthenticationProvider`` and
``SASLAuthenticationProvider`` for the two ways to authenticate.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from zkconsumer.config_spec import ConfigKey, Value
from zkconsumer.config_values import read_table
from zkconsumer.errors import ConfigError
from zkconsumer.pem_files import require_pem

AuthScheme = Literal["none", "digest", "sasl"]

SECURITY_KEYS: Final = (
    ConfigKey(
        "zookeeper.auth.scheme",
        "choice",
        default="none",
        choices=("none", "digest", "sasl"),
        since="zkconsumer",
    ).means(
        "How the client authenticates: `digest` as `addauth digest` of `zkCli.sh` does; `sasl` by "
        "DIGEST-MD5, as the `DigestLoginModule` of a JAAS file does (needs "
        "`zkconsumer[zookeeper-sasl]`)."
    ),
    ConfigKey("zookeeper.auth.username", "text", since="zkconsumer").means(
        "The user name for `zookeeper.auth.scheme`."
    ),
    ConfigKey("zookeeper.auth.password", "text", since="zkconsumer", secret=True).means(
        "The password for `zookeeper.auth.scheme`; never shown or logged."
    ),
    ConfigKey(
        "zookeeper.set.acl",
        "bool",
        derive=lambda values: values["zookeeper.auth.scheme"] != "none",
        derived_text="true where `zookeeper.auth.scheme` is set",
        since="0.9.0",
    ).means(
        "Whether created nodes get an ACL: the same user may change them, everyone may read "
        "them. Otherwise anyone may change them. `/consumers` itself stays open, since every group "
        "writes below it. With ACLs all members of a group need the same user name."
    ),
    ConfigKey("zookeeper.ssl.client.enable", "bool", default=False, since="2.5.0").means(
        "Whether ZooKeeper's port uses TLS (its `secureClientPort`, ZooKeeper 3.5 and later)."
    ),
    ConfigKey(
        "zookeeper.ssl.truststore.location", "text", derived_text="the machine's", since="2.5.0"
    ).means("A PEM file with the authorities trusted to sign ZooKeeper's certificate."),
    ConfigKey("zookeeper.ssl.keystore.location", "text", derived_text="none", since="2.5.0").means(
        "A PEM file with the client's certificate and its key, for a ZooKeeper that requires one."
    ),
    ConfigKey("zookeeper.ssl.keystore.password", "text", since="2.5.0", secret=True).means(
        "The password of that key; never shown or logged."
    ),
    ConfigKey(
        "zookeeper.ssl.endpoint.identification.algorithm",
        "choice",
        default="HTTPS",
        choices=("HTTPS", ""),
        since="2.5.0",
    ).means("Empty: the certificate need not match the host name."),
)
"""The settings, as rows of ``config_keys``."""

SECURITY_NAMES: Final = frozenset(spec.key for spec in SECURITY_KEYS)
"""Their keys, with dots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZookeeperSecurity:
    """How a client connects to ZooKeeper securely; ``repr`` hides passwords.

    Attributes:
        scheme: how it authenticates.
        username: the user; empty with ``none``.
        password: of that user.
        set_acl: whether only the same user may change the nodes that it creates.
        tls: whether the port uses TLS.
        cafile: the trusted authorities (PEM); None: those of the machine.
        certfile: the client's certificate and its key (PEM); None: none.
        key_password: the password of that key.
        check_hostname: whether the certificate must match the host name.

    Raises:
        ConfigError: a setting is missing, or has no use without another one; names it.

    Example:
        >>> ZookeeperSecurity(scheme="digest", username="reader", password="secret").set_acl
        False
    """

    scheme: AuthScheme = "none"
    username: str = ""
    password: str = field(default="", repr=False)
    set_acl: bool = False
    tls: bool = False
    cafile: str | None = None
    certfile: str | None = None
    key_password: str | None = field(default=None, repr=False)
    check_hostname: bool = True

    def __post_init__(self) -> None:
        if self.authenticates and not (self.username and self.password):
            raise ConfigError(
                f"zookeeper.auth.scheme is {self.scheme}: give zookeeper.auth.username and "
                "zookeeper.auth.password, too"
            )
        if self.authenticates and ":" in self.username:
            raise ConfigError("zookeeper.auth.username can't contain a colon")
        if not self.authenticates and (self.username or self.password):
            raise ConfigError(
                "zookeeper.auth.username and zookeeper.auth.password have no use without "
                "zookeeper.auth.scheme: set it to digest or sasl"
            )
        if self.set_acl and not self.authenticates:
            raise ConfigError(
                "zookeeper.set.acl needs a user for the ACLs: set "
                "zookeeper.auth.scheme to digest or sasl"
            )
        self._check_files()

    @property
    def authenticates(self) -> bool:
        """Whether the client authenticates."""
        return self.scheme != "none"

    def _check_files(self) -> None:
        files = {
            "zookeeper.ssl.truststore.location": self.cafile,
            "zookeeper.ssl.keystore.location": self.certfile,
        }
        if self.key_password is not None and self.certfile is None:
            raise ConfigError(
                "zookeeper.ssl.keystore.password has no use without zookeeper.ssl.keystore.location"
            )
        for key, path in files.items():
            if path is None:
                continue
            if not self.tls:
                raise ConfigError(f"{key} has no use without zookeeper.ssl.client.enable=true")
            require_pem(key, path)


OPEN: Final = ZookeeperSecurity()
"""A ZooKeeper without authentication and TLS."""


def security_in(values: Mapping[str, Value]) -> ZookeeperSecurity:
    """Return the security settings from the values of ``SECURITY_KEYS``.

    Raises:
        ConfigError: see ``ZookeeperSecurity``.
    """

    def text(key: str) -> str | None:
        value = values[key]
        return value if isinstance(value, str) and value else None

    scheme = values["zookeeper.auth.scheme"]
    return ZookeeperSecurity(
        scheme="digest" if scheme == "digest" else "sasl" if scheme == "sasl" else "none",
        username=text("zookeeper.auth.username") or "",
        password=text("zookeeper.auth.password") or "",
        set_acl=values["zookeeper.set.acl"] is True,
        tls=values["zookeeper.ssl.client.enable"] is True,
        cafile=text("zookeeper.ssl.truststore.location"),
        certfile=text("zookeeper.ssl.keystore.location"),
        key_password=text("zookeeper.ssl.keystore.password"),
        check_hostname=values["zookeeper.ssl.endpoint.identification.algorithm"] != "",
    )


def read_security(given: Mapping[str, object]) -> ZookeeperSecurity:
    """Read the settings of a secured ZooKeeper from all settings given.

    Args:
        given: settings by their keys with dots; others are ignored.

    Raises:
        ConfigError: a setting is invalid or missing; names it.
    """
    return security_in(read_table(SECURITY_KEYS, given))
