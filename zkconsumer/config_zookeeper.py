"""How to get into a secured ZooKeeper, and who may change what is created there. Pure.

Source: Kafka 3.9 ``ZkConfigs`` for ``zookeeper.ssl.*`` (KIP-515) and ``zookeeper.set.acl``,
``ZkData.defaultAcls`` for the ACLs; ZooKeeper's ``DigestAuthenticationProvider`` and
``SASLAuthenticationProvider`` for the two ways to say who one is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from zkconsumer.config_spec import ConfigKey, Value
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
        "How to say who we are: `digest` as `addauth digest` of `zkCli.sh` does; `sasl` by "
        "DIGEST-MD5, as the `DigestLoginModule` of a JAAS file does (needs "
        "`zkconsumer[zookeeper-sasl]`)."
    ),
    ConfigKey("zookeeper.auth.username", "text", since="zkconsumer").means("The name for it."),
    ConfigKey("zookeeper.auth.password", "text", since="zkconsumer", secret=True).means(
        "The password for it; never shown or logged."
    ),
    ConfigKey(
        "zookeeper.set.acl",
        "bool",
        derive=lambda values: values["zookeeper.auth.scheme"] != "none",
        derived_text="whether `zookeeper.auth.scheme` is given",
        since="0.9.0",
    ).means(
        "Whether what is created is for whoever has our name to change, and for all to read; "
        "else anybody may change it. `/consumers` itself stays open to all, since every group "
        "writes below it. All members of a group need the same name then."
    ),
    ConfigKey("zookeeper.ssl.client.enable", "bool", default=False, since="2.5.0").means(
        "Whether ZooKeeper's port speaks TLS (its `secureClientPort`, ZooKeeper 3.5 and later)."
    ),
    ConfigKey(
        "zookeeper.ssl.truststore.location", "text", derived_text="the machine's", since="2.5.0"
    ).means("The authorities that ZooKeeper's certificate must come from: a PEM file."),
    ConfigKey("zookeeper.ssl.keystore.location", "text", derived_text="none", since="2.5.0").means(
        "Our own certificate and its key, for a ZooKeeper that wants one: a PEM file."
    ),
    ConfigKey("zookeeper.ssl.keystore.password", "text", since="2.5.0", secret=True).means(
        "What that key is encrypted with; never shown or logged."
    ),
    ConfigKey(
        "zookeeper.ssl.endpoint.identification.algorithm",
        "choice",
        default="HTTPS",
        choices=("HTTPS", ""),
        since="2.5.0",
    ).means("Empty: the certificate need not be for the host that is called."),
)
"""The settings, as rows of ``config_keys``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZookeeperSecurity:
    """How a client gets into ZooKeeper; ``repr`` hides passwords.

    Attributes:
        scheme: how it says who it is.
        username: who that is; empty with ``none``.
        password: what proves it.
        set_acl: whether only the same name may change what it creates.
        tls: whether the port speaks TLS.
        cafile: the authorities that are trusted (PEM); None: those of the machine.
        certfile: our certificate and its key (PEM); None: none.
        key_password: what the key is encrypted with.
        check_hostname: whether the certificate must be for the host that is called.

    Raises:
        ConfigError: parts are missing, or of no use without others; names the setting.

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
            raise ConfigError("zookeeper.auth.username can't hold a colon")
        if not self.authenticates and (self.username or self.password):
            raise ConfigError(
                "zookeeper.auth.username and zookeeper.auth.password have no use without "
                "zookeeper.auth.scheme: set it to digest or sasl"
            )
        if self.set_acl and not self.authenticates:
            raise ConfigError(
                "zookeeper.set.acl needs a name that nodes are to belong to: set "
                "zookeeper.auth.scheme to digest or sasl"
            )
        self._check_files()

    @property
    def authenticates(self) -> bool:
        """Whether it says who it is."""
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
"""A ZooKeeper that anybody may use, without TLS."""


def security_in(values: Mapping[str, Value]) -> ZookeeperSecurity:
    """Read them out of the values of ``SECURITY_KEYS``.

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
