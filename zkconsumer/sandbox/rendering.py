"""Renders the servers' property files and command lines. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zkconsumer.sandbox.ports import LOOPBACK
from zkconsumer.sandbox.secured import ADVERTISED
from zkconsumer.sandbox.versions import KafkaVersion

ZOOKEEPER_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
BROKER_MAIN = "kafka.Kafka"

_MAX_SESSION_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLayout:
    """The parameters of one broker and its cluster.

    Attributes:
        id: its ``broker.id``.
        port: the port on which it listens.
        listen_host: the address on which it listens; it registers the loopback address.
        log_dir: the folder of its partitions.
        zookeeper_connect: the connect string, chroot included.
        cluster_size: the number of brokers, for the replication of internal topics.
        auto_create_topics: whether a request for an unknown topic creates it.
        secured: protocol and port of a listener besides the plaintext one; None: there is none.
    """

    id: int
    port: int
    listen_host: str
    log_dir: Path
    zookeeper_connect: str
    cluster_size: int
    auto_create_topics: bool
    secured: tuple[str, int] | None = None


def render_properties(properties: Mapping[str, str]) -> str:
    """Return a Java property file."""
    return "".join(f"{key}={_escaped(value)}\n" for key, value in properties.items())


def _escaped(value: str) -> str:
    """Escape a value, since Java reads ISO-8859-1 with backslashes, and drops leading blanks."""
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    if escaped[:1].isspace():
        escaped = "\\" + escaped
    units = escaped.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 0x7F else f"\\u{code:04x}" for code in codes)


def zookeeper_properties(
    version: KafkaVersion, *, port: int, listen_host: str, data_dir: Path, tick_ms: int
) -> dict[str, str]:
    """Return the settings of the ZooKeeper server that ships with a Kafka version."""
    properties = {
        "dataDir": str(data_dir),
        "clientPort": str(port),
        "clientPortAddress": listen_host,
        "tickTime": str(tick_ms),
        "maxSessionTimeout": str(max(_MAX_SESSION_MS, 20 * tick_ms)),
        "maxClientCnxns": "0",
    }
    if version.zookeeper_4lw:
        properties["4lw.commands.whitelist"] = "*"
        properties["admin.enableServer"] = "false"
    return properties


def broker_properties(
    version: KafkaVersion, layout: BrokerLayout, overrides: Mapping[str, str]
) -> dict[str, str]:
    """Return the settings of one broker; ``overrides`` win."""
    properties = {
        "broker.id": str(layout.id),
        **_address(version, layout),
        "log.dirs": str(layout.log_dir),
        "zookeeper.connect": layout.zookeeper_connect,
        "zookeeper.session.timeout.ms": "6000",  # newer versions take 18 s to notice a death
        "auto.create.topics.enable": str(layout.auto_create_topics).lower(),
        # A test machine has few cores, on which the default numbers of threads would only compete.
        "num.network.threads": "2",
        "num.io.threads": "4",
    }
    if version.deletes_topics:
        properties["delete.topic.enable"] = "true"
        properties["log.cleaner.enable"] = "false"  # its buffers take half of a small heap
    if version.coordinates_offsets:
        copies = str(max(1, min(3, layout.cluster_size)))
        properties["offsets.topic.replication.factor"] = copies
        properties["offsets.topic.num.partitions"] = "8"  # 50 take seconds to create
    if version.transactions:
        copies = str(max(1, min(3, layout.cluster_size)))
        properties["transaction.state.log.replication.factor"] = copies
        properties["transaction.state.log.min.isr"] = "1"
        properties["transaction.state.log.num.partitions"] = "8"
        properties["group.initial.rebalance.delay.ms"] = "0"
    return properties | dict(overrides)


def _address(version: KafkaVersion, layout: BrokerLayout) -> dict[str, str]:
    reported = layout.listen_host != LOOPBACK  # clients get another address
    if version.listeners:
        address = {"listeners": f"PLAINTEXT://{layout.listen_host}:{layout.port}"}
        if reported:
            address["advertised.listeners"] = f"PLAINTEXT://{LOOPBACK}:{layout.port}"
        if layout.secured is not None:
            protocol, port = layout.secured
            address["listeners"] += f",{protocol}://{layout.listen_host}:{port}"
            address["advertised.listeners"] = (
                f"PLAINTEXT://{LOOPBACK}:{layout.port},{protocol}://{ADVERTISED}:{port}"
            )
        return address
    address = {"host.name": layout.listen_host, "port": str(layout.port)}
    if reported:
        address["advertised.host.name"] = LOOPBACK
    return address


def log4j_properties(log_file: Path) -> dict[str, str]:
    """Return settings of log4j 1 and reload4j, for logging to a file only.

    The size is bounded: a ZooKeeper in trouble can write ten megabytes a second.
    """
    return {
        "log4j.rootLogger": "INFO, file",
        "log4j.appender.file": "org.apache.log4j.RollingFileAppender",
        "log4j.appender.file.MaxFileSize": "16MB",
        "log4j.appender.file.MaxBackupIndex": "1",
        "log4j.appender.file.File": str(log_file),
        "log4j.appender.file.layout": "org.apache.log4j.PatternLayout",
        "log4j.appender.file.layout.ConversionPattern": "%d %p %m (%c)%n",
    }


def java_command(
    java: Path,
    version: KafkaVersion,
    class_path: Sequence[Path],
    *,
    log4j: Path,
    heap_mb: int,
) -> list[str]:
    """Return the command line up to the main class, tuned to start fast and stay small."""
    return [
        str(java),
        f"-Xmx{heap_mb}m",
        "-Xms32m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",  # only quick compilation: these processes live for seconds
        "-Xshare:auto",
        "-XX:-UsePerfData",  # it samples itself twenty times a second, without a use here
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
        # A test cluster need not survive a power cut; each sync costs milliseconds.
        "-Dzookeeper.forceSync=no",
        f"-Dlog4j.configuration={log4j.as_uri()}",
        *version.jvm_flags,
        "-cp",
        ":".join(map(str, class_path)),
    ]
