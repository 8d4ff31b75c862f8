"""Starts a cluster: ZooKeeper, its chroot, all brokers at once; waits for a controller."""

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
    """Check that the given ports are free, before anything is started.

    Raises:
        SandboxError: a port is taken; names it.
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
    """Start all servers, and wait until they respond.

    Args:
        settings: the settings of the sandbox.
        launcher: starts Java.
        work_dir: the folder of data and logs.
        closing: closes other resources than processes at the end.

    Raises:
        SandboxError: a server does not start; the message has the last lines of its log.
    """
    ports = {*settings.broker_ports}
    arranger = Arranger(
        launcher, work_dir / "security", ports, settings.start_timeout_ms, closing=closing
    )
    guard = arranger.zookeeper() if settings.zookeeper_security else ({}, [], {})
    arrangement = None if settings.security is None else arranger.arrange(settings.security)
    startup = _Startup(settings, launcher, work_dir, ports)
    zookeeper = startup.start_zookeeper(*guard[:2])
    with zookeeper.client() as client:
        if settings.chroot:
            client.ensure(settings.chroot)  # brokers before 0.8.2 don't create it
        for path, data in (arrangement.users if arrangement else {}).items():
            client.ensure(settings.chroot + path)
            client.set(settings.chroot + path, data)
    brokers = startup.start_brokers(zookeeper, arrangement)
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
        zookeeper_connect=f"{LOOPBACK}:{zookeeper.port}{settings.chroot}",
        access=arranger.access(arrangement, guard[2], secured) if is_secured else None,
        kdc=arranger.kdc,
    )


@dataclass(frozen=True, slots=True)
class _Startup:
    """Starts servers; retries on another port if the chosen one was taken in the meantime."""

    settings: Settings
    launcher: Launcher
    work_dir: Path
    ports: set[int]

    def start_zookeeper(
        self, properties: Mapping[str, str], flags: Sequence[str]
    ) -> ZooKeeperServer:
        """Start ZooKeeper; return when it serves."""

        def make(port: int) -> ZooKeeperServer:
            folder = self.work_dir / "zookeeper"
            return ZooKeeperServer(
                self.launcher, folder, port, self.settings, properties=properties, jvm_flags=flags
            )

        given = self.settings.zookeeper_port
        server = make(pick_free(self.ports) if given is None else given)
        server.launch()
        return self._await_server(server, make, port_is_given=given is not None)

    def start_brokers(
        self, zookeeper: ZooKeeperServer, arrangement: Arrangement | None
    ) -> dict[int, BrokerServer]:
        """Start all brokers at once; return when each serves."""

        def make(number: int, port: int) -> BrokerServer:
            return self._broker(number, port, zookeeper, arrangement)

        given = self.settings.broker_ports
        launched = [
            make(number, given[number] if given else pick_free(self.ports))
            for number in range(self.settings.broker_count)
        ]
        for server in launched:
            server.launch()
        return {
            number: self._await_server(server, partial(make, number), port_is_given=bool(given))
            for number, server in enumerate(launched)
        }

    def _broker(
        self, number: int, port: int, zookeeper: ZooKeeperServer, secured: Arrangement | None
    ) -> BrokerServer:
        """Create a broker; the port is that of its secured listener, if it has one."""
        settings, folder = self.settings, self.work_dir / f"broker-{number}"
        layout = BrokerLayout(
            id=number,
            port=port if secured is None else pick_free(self.ports),
            listen_host=settings.listen_host,
            log_dir=folder / "data",
            zookeeper_connect=f"{LOOPBACK}:{zookeeper.port}{settings.chroot}",
            cluster_size=settings.broker_count,
            auto_create_topics=settings.auto_create_topics,
            secured=None if secured is None else (secured.protocol, port),
        )
        own = ({}, ()) if secured is None else (secured.broker_properties, secured.broker_jvm_flags)
        return BrokerServer(
            self.launcher,
            folder,
            layout,
            zookeeper=zookeeper,
            overrides={**own[0], **settings.broker_properties},
            jvm_flags=(*own[1], *settings.broker_jvm_flags),
        )

    def _await_server(self, server: S, make: Callable[[int], S], *, port_is_given: bool) -> S:
        for tries_left in reversed(range(_PORT_TRIES)):
            try:
                server.await_ready(self.settings.start_timeout_ms)
            except SandboxError:
                if not server.message(_PORT_TAKEN):
                    raise
                if port_is_given:
                    raise SandboxError(f"the port given for {server.name} is taken") from None
                if tries_left == 0:
                    raise
                server = make(pick_free(self.ports))
                server.launch()
            else:
                break
        return server
