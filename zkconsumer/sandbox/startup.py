"""Brings a cluster up: ZooKeeper, its chroot, all brokers at once, then a controller."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from zkconsumer.errors import SandboxError
from zkconsumer.model import Broker
from zkconsumer.sandbox.arranging import Arranger
from zkconsumer.sandbox.broker import BrokerServer
from zkconsumer.sandbox.kdc import KeyDistributionCenter
from zkconsumer.sandbox.ports import LOOPBACK, pick_free, require_free
from zkconsumer.sandbox.rendering import BrokerLayout
from zkconsumer.sandbox.secured import Arrangement, ClientAccess
from zkconsumer.sandbox.server import Launcher, Server
from zkconsumer.sandbox.settings import Settings
from zkconsumer.sandbox.tools import ToolBox
from zkconsumer.sandbox.topics import TopicAdmin
from zkconsumer.sandbox.zookeeper import ZooKeeperServer

S = TypeVar("S", bound=Server)

_PORT_TRIES = 3
_PORT_TAKEN = "ddress already in use"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCluster:
    """The parts of a started sandbox."""

    zookeeper: ZooKeeperServer
    brokers: dict[int, BrokerServer]
    topics: TopicAdmin
    tools: ToolBox
    zookeeper_connect: str
    access: ClientAccess | None
    kdc: KeyDistributionCenter | None


def require_free_ports(settings: Settings) -> None:
    """Refuse given ports that are taken, before anything is started.

    Raises:
        SandboxError: naming the port.
    """
    if settings.zookeeper_port is not None:
        require_free(settings.zookeeper_port, "ZooKeeper")
    for number, port in enumerate(settings.broker_ports):
        require_free(port, f"broker {number}")


def start_cluster(
    settings: Settings,
    launcher: Launcher,
    work_dir: Path,
    closing: list[Callable[[], None]],
) -> RunningCluster:
    """Start all servers and wait until they answer.

    Args:
        settings: what to start.
        launcher: starts Java.
        work_dir: for data and logs.
        closing: takes what has to be ended at the end, besides processes.

    Raises:
        SandboxError: one does not come up; the message has the last lines of its log.
    """
    ports = {*settings.broker_ports}
    arranger = Arranger(
        launcher, work_dir / "security", ports, settings.start_timeout_ms, closing=closing
    )
    guard = arranger.zookeeper() if settings.zookeeper_security else ({}, [], {})
    arrangement = None if settings.security is None else arranger.arrange(settings.security)
    zookeeper = _start_zookeeper(settings, launcher, work_dir / "zookeeper", ports, guard[:2])
    with zookeeper.client() as client:
        if settings.chroot:
            client.ensure(settings.chroot)  # brokers before 0.8.2 do not make it
        for path, data in (arrangement.users if arrangement else {}).items():
            client.ensure(settings.chroot + path)
            client.set(settings.chroot + path, data)
    connect = f"{LOOPBACK}:{zookeeper.port}{settings.chroot}"
    maker = _BrokerMaker(settings, launcher, work_dir, zookeeper, arrangement, ports)
    brokers = _start_brokers(settings, maker.make, ports)
    secured = ",".join(server.secured for server in brokers.values() if server.secured)
    is_secured = arrangement is not None or settings.zookeeper_security is not None

    def live_brokers() -> list[Broker]:
        return [server.address for server in brokers.values() if server.serving]

    topics = TopicAdmin(
        settings.kafka,
        settings.chroot,
        connect=zookeeper.client,
        live_brokers=live_brokers,
        timeout_ms=settings.start_timeout_ms,
    )
    topics.await_settled()
    return RunningCluster(
        zookeeper=zookeeper,
        brokers=brokers,
        topics=topics,
        tools=ToolBox(launcher, work_dir / "tools"),
        zookeeper_connect=connect,
        access=arranger.access(arrangement, guard[2], secured) if is_secured else None,
        kdc=arranger.kdc,
    )


def _start_zookeeper(
    settings: Settings,
    launcher: Launcher,
    folder: Path,
    ports: set[int],
    guard: tuple[Mapping[str, str], Sequence[str]],
) -> ZooKeeperServer:
    def make(port: int) -> ZooKeeperServer:
        properties, flags = guard
        return ZooKeeperServer(
            launcher, folder, port, settings, properties=properties, jvm_flags=flags
        )

    given = settings.zookeeper_port
    server = make(pick_free(ports) if given is None else given)
    server.launch()
    return _await_server(server, make, ports, settings, port_is_given=given is not None)


@dataclass(frozen=True, slots=True)
class _BrokerMaker:
    settings: Settings
    launcher: Launcher
    work_dir: Path
    zookeeper: ZooKeeperServer
    arrangement: Arrangement | None
    ports: set[int]

    def make(self, number: int, port: int) -> BrokerServer:
        """Make a broker; the port is that of its secured listener, where it has one."""
        settings, secured = self.settings, self.arrangement
        folder = self.work_dir / f"broker-{number}"
        layout = BrokerLayout(
            id=number,
            port=port if secured is None else pick_free(self.ports),
            listen_host=settings.listen_host,
            log_dir=folder / "data",
            zookeeper_connect=f"{LOOPBACK}:{self.zookeeper.port}{settings.chroot}",
            cluster_size=settings.broker_count,
            auto_create_topics=settings.auto_create_topics,
            secured=None if secured is None else (secured.protocol, port),
        )
        own = ({}, ()) if secured is None else (secured.broker_properties, secured.broker_jvm_flags)
        return BrokerServer(
            self.launcher,
            folder,
            layout,
            zookeeper=self.zookeeper,
            overrides={**own[0], **settings.broker_properties},
            jvm_flags=(*own[1], *settings.broker_jvm_flags),
        )


def _start_brokers(
    settings: Settings, make: Callable[[int, int], BrokerServer], ports: set[int]
) -> dict[int, BrokerServer]:
    given = settings.broker_ports
    launched = [
        make(number, given[number] if given else pick_free(ports))
        for number in range(settings.broker_count)
    ]
    for server in launched:
        server.launch()
    return {
        number: _await_server(
            server, partial(make, number), ports, settings, port_is_given=bool(given)
        )
        for number, server in enumerate(launched)
    }


def _await_server(
    server: S,
    make: Callable[[int], S],
    ports: set[int],
    settings: Settings,
    *,
    port_is_given: bool,
) -> S:
    """Wait for a launched server; on a port that was snatched meanwhile, try another one."""
    for tries_left in reversed(range(_PORT_TRIES)):
        try:
            server.await_ready(settings.start_timeout_ms)
        except SandboxError:
            if not server.message(_PORT_TAKEN):
                raise
            if port_is_given:
                raise SandboxError(f"the port given for {server.name} is taken") from None
            if tries_left == 0:
                raise
            server = make(pick_free(ports))
            server.launch()
        else:
            break
    return server
