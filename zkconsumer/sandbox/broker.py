"""One of the sandbox's brokers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from zkconsumer.errors import SandboxError
from zkconsumer.model import Broker
from zkconsumer.sandbox.broker_probe import request_view
from zkconsumer.sandbox.ports import LOOPBACK
from zkconsumer.sandbox.processes import ChildProcess
from zkconsumer.sandbox.rendering import (
    BROKER_MAIN,
    BrokerLayout,
    broker_properties,
)
from zkconsumer.sandbox.secured import ADVERTISED
from zkconsumer.sandbox.server import Launcher, Server
from zkconsumer.sandbox.zookeeper import ZooKeeperServer


class BrokerServer(Server):
    """A broker on a fixed port, with its partitions in ``folder``.

    Attributes:
        address: its plaintext listener.
        secured: its secured listener, as ``host:port``; None: it has none.
    """

    def __init__(
        self,
        launcher: Launcher,
        folder: Path,
        layout: BrokerLayout,
        *,
        zookeeper: ZooKeeperServer,
        overrides: Mapping[str, str],
        jvm_flags: Sequence[str] = (),
    ) -> None:
        self.address = Broker(layout.id, LOOPBACK, layout.port)
        self.secured = None if layout.secured is None else f"{ADVERTISED}:{layout.secured[1]}"
        self._zookeeper = zookeeper
        self._chroot = layout.zookeeper_connect.partition("/")[2]
        folder.mkdir(parents=True, exist_ok=True)

        def launch() -> ChildProcess:
            self._clear_registration()
            properties = broker_properties(launcher.version, layout, overrides)
            return launcher.launch_server(folder, BROKER_MAIN, properties, flags=jvm_flags)

        super().__init__(f"broker {layout.id}", folder, launch=launch, ready=self._serves)

    def _path(self, path: str) -> str:
        return f"/{self._chroot}{path}" if self._chroot else path

    def _clear_registration(self) -> None:
        """Remove a killed run's registration from ZooKeeper.

        The session of a killed run lives until it times out, and a broker that finds its own id
        registered waits for that, or gives up, depending on the version.
        """
        with self._zookeeper.client() as client:
            left = client.get(self._path(f"/brokers/ids/{self.address.id}"))
            if left is None:
                return
            controller = client.get(self._path("/controller"))
            client.delete(self._path(f"/brokers/ids/{self.address.id}"))
            if controller is not None and controller.ephemeral_owner == left.ephemeral_owner:
                client.delete(self._path("/controller"))

    def _serves(self) -> bool:
        """Return whether the broker is registered with this run's port, and responds."""
        try:
            with self._zookeeper.client() as client:
                node = client.get(self._path(f"/brokers/ids/{self.address.id}"))
        except SandboxError:
            return False
        if node is None or json.loads(node.data).get("port") != self.address.port:
            return False
        return request_view(self.address) is not None
