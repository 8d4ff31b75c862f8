"""The sandbox's ZooKeeper: the server that ships with the Kafka version."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.ports import LOOPBACK
from zkconsumer.sandbox.processes import ChildProcess
from zkconsumer.sandbox.rendering import ZOOKEEPER_MAIN, zookeeper_properties
from zkconsumer.sandbox.server import Launcher, Server
from zkconsumer.sandbox.settings import Settings
from zkconsumer.sandbox.zookeeper_client import ZooKeeperClient

_WATCH_CLASSES = "-verbose:class"
_LOADED_AFTER_DATA = "org.apache.zookeeper.server.SessionTrackerImpl "


class ZooKeeperServer(Server):
    """A single ZooKeeper server on a fixed port, with its data in ``folder``."""

    def __init__(
        self,
        launcher: Launcher,
        folder: Path,
        port: int,
        settings: Settings,
        *,
        properties: Mapping[str, str],
        jvm_flags: Sequence[str],
    ) -> None:
        self.port = port
        self._opens_early = launcher.version.zookeeper_opens_early
        folder.mkdir(parents=True, exist_ok=True)

        def launch() -> ChildProcess:
            rendered = zookeeper_properties(
                launcher.version,
                port=port,
                listen_host=settings.listen_host,
                data_dir=folder / "data",
                tick_ms=settings.zookeeper_tick_ms,
            )
            rendered |= {**properties, **settings.zookeeper_properties}
            flags = [
                *jvm_flags,
                *settings.zookeeper_jvm_flags,
                *([_WATCH_CLASSES] if self._opens_early else []),
            ]
            return launcher.launch_server(folder, ZOOKEEPER_MAIN, rendered, flags=flags)

        super().__init__("ZooKeeper", folder, launch=launch, ready=self._responds)

    def client(self, session: tuple[int, bytes] | None = None) -> ZooKeeperClient:
        """Return a client of the sandbox; see ``ZooKeeperClient``."""
        return ZooKeeperClient(LOOPBACK, self.port, session=session)

    def _responds(self) -> bool:
        """Return whether the server serves requests.

        In ZooKeeper 3.4.10 and later, a connection that opens and closes while the server still
        loads its data causes an endless loop: the server opens its port first, and then fails to
        close connections that it can't register yet. So no connection is opened before the data is
        loaded, of which the only sign is that the classes for the next step are loaded.
        """
        if self._opens_early and not self.printed(_LOADED_AFTER_DATA):
            return False
        try:
            with ZooKeeperClient(LOOPBACK, self.port, timeout_ms=2_000):
                return True
        except SandboxError:
            return False
