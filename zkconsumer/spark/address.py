"""Parses the cluster's address: brokers, or the ZooKeeper that lists them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkconsumer.config_zookeeper import OPEN, ZookeeperSecurity, read_security
from zkconsumer.errors import ConfigError
from zkconsumer.model import Broker
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.net.security import PLAINTEXT, SecuritySettings
from zkconsumer.spark.broker_security import read_broker_security
from zkconsumer.spark.option_values import read_int
from zkconsumer.zk.connect_string import parse_connect_string

BOOTSTRAP = "kafka.bootstrap.servers"
ZOOKEEPER = "zookeeper.connect"
SESSION_TIMEOUT = "zookeeper.session.timeout.ms"
CONNECTION_TIMEOUT = "zookeeper.connection.timeout.ms"
DEFAULT_TIMEOUT_MS = 6_000
"""Kafka 0.8's default for both time-outs; the connection's defaults to the session's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddress:
    """The address of a cluster: ZooKeeper, brokers or both.

    Attributes:
        zookeeper_connect: ``host1:port1,host2:port2/chroot``; None if not given.
        bootstrap: some brokers; empty if not given. If both are given, brokers are used directly,
            and ZooKeeper only for groups.
        session_timeout_ms: the time-out of a ZooKeeper session.
        connection_timeout_ms: the time limit of connecting to ZooKeeper, and of each call there.
        security: authentication to ZooKeeper, and the ACLs of created nodes.
        broker_security: TLS and authentication to brokers.
    """

    zookeeper_connect: str | None = None
    bootstrap: tuple[Broker, ...] = ()
    session_timeout_ms: int = DEFAULT_TIMEOUT_MS
    connection_timeout_ms: int = DEFAULT_TIMEOUT_MS
    security: ZookeeperSecurity = OPEN
    broker_security: SecuritySettings = field(default=PLAINTEXT, repr=False)

    def __str__(self) -> str:
        if self.bootstrap:
            return ",".join(f"{broker.host}:{broker.port}" for broker in self.bootstrap)
        return f"ZooKeeper {self.zookeeper_connect}"


def read_address(options: Mapping[str, str]) -> ClusterAddress:
    """Read the cluster's address from options.

    Args:
        options: the options, by their names in lower case.

    Raises:
        ConfigError: neither address is given, or one is malformed; names the option.
    """
    bootstrap = options.get(BOOTSTRAP)
    zookeeper = options.get(ZOOKEEPER)
    if bootstrap is None and zookeeper is None:
        raise ConfigError(
            f"no cluster is given: set {ZOOKEEPER} to host1:port1,host2:port2/chroot, or "
            f"{BOOTSTRAP} to host1:port1,host2:port2"
        )
    if zookeeper is not None:
        parse_connect_string(zookeeper)
    session_ms = _timeout_ms(options, SESSION_TIMEOUT, DEFAULT_TIMEOUT_MS)
    return ClusterAddress(
        zookeeper_connect=None if zookeeper is None else zookeeper.strip(),
        bootstrap=() if bootstrap is None else parse_bootstrap(BOOTSTRAP, bootstrap),
        session_timeout_ms=session_ms,
        connection_timeout_ms=_timeout_ms(options, CONNECTION_TIMEOUT, session_ms),
        security=read_security(options),
        broker_security=read_broker_security(options),
    )


def _timeout_ms(options: Mapping[str, str], option: str, default: int) -> int:
    text = options.get(option)
    return default if text is None else read_int(option, text, low=1)
