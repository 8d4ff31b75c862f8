"""Checks the options of a sandbox, and completes them with defaults."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack

from zkconsumer.errors import SandboxError
from zkconsumer.nearest import did_you_mean
from zkconsumer.sandbox.ports import ANYWHERE, LOOPBACK
from zkconsumer.sandbox.secured import (
    ZOOKEEPER_SECURITIES,
    Security,
    ZookeeperSecurityName,
    check_release,
)
from zkconsumer.sandbox.versions import KafkaVersion, kafka_version


class SandboxOptions(TypedDict, total=False):
    """The keyword arguments of ``Sandbox`` beyond the version and the number of brokers.

    Attributes:
        chroot: the cluster's ZooKeeper path, ``/kafka`` by default; empty for none.
        broker_properties: settings for every broker, on top of the sandbox's own.
        broker_jvm_flags: flags of every broker's JVM, such as the one for a JAAS file.
        zookeeper_properties: settings for ZooKeeper, on top of the sandbox's own.
        zookeeper_jvm_flags: flags of ZooKeeper's JVM.
        zookeeper_tick_ms: ZooKeeper's ``tickTime``, 500; the shortest session is two ticks.
        zookeeper_port: a fixed port; None: a free one.
        broker_ports: fixed ports, one per broker; empty: free ones.
        listen_host: the address of the servers: ``127.0.0.1``, or ``0.0.0.0`` for a container whose
            ports are published; brokers advertise ``127.0.0.1`` in either case.
        auto_create_topics: the brokers' ``auto.create.topics.enable``, False.
        work_dir: the folder of data and logs, which is kept. None: a temporary folder, which is
            removed at the end.
        heap_mb: the heap of each server, 256.
        start_timeout_ms: the time limit of starting a server, 60000.
        security: how clients authenticate to brokers: ``tls``, ``scram``, ``kerberos`` or
            ``oauth``, at separate listeners, whose ports ``broker_ports`` then gives; see
            ``Sandbox.access``. None: they don't.
        zookeeper_security: ``digest``: ZooKeeper has one user, with DIGEST-MD5. None: no users.
    """

    chroot: str
    broker_properties: Mapping[str, str]
    broker_jvm_flags: Sequence[str]
    zookeeper_properties: Mapping[str, str]
    zookeeper_jvm_flags: Sequence[str]
    zookeeper_tick_ms: int
    zookeeper_port: int | None
    broker_ports: Sequence[int]
    listen_host: str
    auto_create_topics: bool
    work_dir: str | Path | None
    heap_mb: int
    start_timeout_ms: int
    security: Security | None
    zookeeper_security: ZookeeperSecurityName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A sandbox's options with their defaults; see ``SandboxOptions`` for their meaning."""

    kafka: KafkaVersion
    broker_count: int
    chroot: str = "/kafka"
    broker_properties: Mapping[str, str] = field(default_factory=dict)
    broker_jvm_flags: Sequence[str] = ()
    zookeeper_properties: Mapping[str, str] = field(default_factory=dict)
    zookeeper_jvm_flags: Sequence[str] = ()
    zookeeper_tick_ms: int = 500
    zookeeper_port: int | None = None
    broker_ports: Sequence[int] = ()
    listen_host: str = LOOPBACK
    auto_create_topics: bool = False
    work_dir: str | Path | None = None
    heap_mb: int = 256
    start_timeout_ms: int = 60_000
    security: Security | None = None
    zookeeper_security: ZookeeperSecurityName | None = None


_CHROOT = re.compile(r"(/[A-Za-z0-9._-]+)*")


def check_settings(kafka: str, brokers: int, **options: Unpack[SandboxOptions]) -> Settings:
    """Check and complete the arguments of ``Sandbox``.

    Raises:
        SandboxError: an option is invalid; the message names it.
    """
    for name in options.keys() - SandboxOptions.__annotations__.keys():
        hint = did_you_mean(name, ["kafka", "brokers", *SandboxOptions.__annotations__])
        raise SandboxError(f"the sandbox has no option {name}{hint}")
    settings = Settings(kafka=kafka_version(kafka), broker_count=brokers, **options)
    check_release(settings.kafka, settings.security)
    for complaint, wrong in _complaints(settings):
        if wrong:
            raise SandboxError(complaint)
    return settings


def _complaints(settings: Settings) -> list[tuple[str, bool]]:
    ports = settings.broker_ports
    given = [*ports, *([] if settings.zookeeper_port is None else [settings.zookeeper_port])]
    impossible = [port for port in given if not 0 < port < 65_536]
    count = settings.broker_count
    return [
        (f"brokers={count}: give 0 (ZooKeeper only) to 100", not 0 <= count <= 100),
        (
            f"chroot={settings.chroot!r}: give a ZooKeeper path such as /kafka, or an empty text",
            _CHROOT.fullmatch(settings.chroot) is None,
        ),
        (
            f"zookeeper_tick_ms={settings.zookeeper_tick_ms}: give at least 10",
            settings.zookeeper_tick_ms < 10,
        ),
        (
            f"broker_ports has {len(ports)} ports for {count} brokers: give one each, or none",
            bool(ports) and len(ports) != count,
        ),
        (
            f"listen_host={settings.listen_host!r}: give {LOOPBACK} or {ANYWHERE}",
            settings.listen_host not in {LOOPBACK, ANYWHERE},
        ),
        (
            f"Kafka {settings.kafka.name} can't tell clients another address than it listens on",
            settings.listen_host != LOOPBACK and not settings.kafka.advertises,
        ),
        (
            f"ports lie between 1 and 65535, not {', '.join(map(str, impossible))}",
            bool(impossible),
        ),
        ("each server needs a port of its own", len(set(given)) != len(given)),
        (
            f"zookeeper_security={settings.zookeeper_security!r}: give {ZOOKEEPER_SECURITIES[0]}",
            settings.zookeeper_security not in {None, *ZOOKEEPER_SECURITIES},
        ),
        (f"heap_mb={settings.heap_mb}: give at least 64", settings.heap_mb < 64),
    ]


def make_work_dir(settings: Settings) -> tuple[Path, bool]:
    """Return the work folder, created if needed, and whether it is temporary.

    Raises:
        SandboxError: the folder can't be created.
    """
    try:
        if settings.work_dir is None:
            return Path(tempfile.mkdtemp(prefix="zkconsumer-sandbox-")), True
        work_dir = Path(settings.work_dir).absolute()
        work_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxError(f"can't make the sandbox's folder: {error}") from error
    return work_dir, False
