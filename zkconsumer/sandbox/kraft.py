"""Runs one KRaft node, broker and controller in one; of Kafka 4 by default.

It has no ZooKeeper, so it is not a ``Sandbox``; it shares the sandbox's process supervision and
Kafka's own command-line tools.
"""

import os
import tempfile
from pathlib import Path
from typing import Final, Self

from zkconsumer.errors import SandboxError
from zkconsumer.model import Broker
from zkconsumer.sandbox import jars
from zkconsumer.sandbox.broker_probe import request_view
from zkconsumer.sandbox.java import find_java
from zkconsumer.sandbox.ports import LOOPBACK, pick_free
from zkconsumer.sandbox.processes import SupervisedProcesses
from zkconsumer.sandbox.rendering import BROKER_MAIN, render_properties
from zkconsumer.sandbox.server import Launcher, Server
from zkconsumer.sandbox.tools import ScalaTool, ToolBox, ToolResult
from zkconsumer.sandbox.versions import KafkaVersion

KRAFT: Final = KafkaVersion(
    name="4.1.0",
    scala="2.13",
    extra=(
        "org.apache.kafka:kafka-tools:4.1.0",
        # Without these a node's errors are not logged.
        "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3",
        "org.apache.logging.log4j:log4j-1.2-api:2.24.3",
    ),
    # Kafka 4 reads our logging settings, which are in the form of log4j 1.
    jvm_flags=("-Dlog4j1.compatibility=true",),
)
"""The default release; not in ``VERSIONS``, whose releases all come with a ZooKeeper."""

_CLUSTER_ID: Final = "4L6g3nShT-eMCtK--X86sw"
_HEAP_MB: Final = 320
_LIMIT_MS: Final = 60_000
"""The time limit of starting, and of a tool."""


def node_properties(folder: Path, port: int, controller_port: int) -> dict[str, str]:
    """Return the settings of the node; its internal topics are small and have one replica."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(folder / "data"),
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "2",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "log.cleaner.enable": "false",
        "num.network.threads": "2",
        "num.io.threads": "4",
    }


class KraftNode:
    """A KRaft node as a context manager; it ends with this process.

    Args:
        version: the release: 3.3 or later.
    """

    def __init__(self, version: KafkaVersion = KRAFT) -> None:
        self._version = version
        self._processes: SupervisedProcesses | None = None
        self._tools: ToolBox | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self._processes = SupervisedProcesses()
        try:
            self._start(self._processes)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the node, and remove its data. Idempotent."""
        processes, self._processes, self._tools = self._processes, None, None
        if processes is not None:
            processes.close()

    @property
    def bootstrap_servers(self) -> str:
        """The address of the node as ``host:port``."""
        return f"{LOOPBACK}:{self._port}"

    @property
    def _node(self) -> Broker:
        return Broker(1, LOOPBACK, self._port)

    def start_tool(self, main_class: str, *arguments: str, stdin: bytes = b"") -> ScalaTool:
        """Start one of Kafka's tools.

        Raises:
            SandboxError: the node does not run, or Java could not be started.
        """
        if self._tools is None:
            raise SandboxError("the node does not run: use it in a with statement")
        return self._tools.start(main_class, *arguments, stdin=stdin)

    def run_tool(self, main_class: str, *arguments: str, stdin: bytes = b"") -> ToolResult:
        """Run one of Kafka's tools to its end.

        Raises:
            SandboxError: the tool failed, or took longer than a minute.
        """
        with self.start_tool(main_class, *arguments, stdin=stdin) as tool:
            result = tool.wait(_LIMIT_MS)
        if result.status != 0:
            last = (result.output + result.errors)[-500:]
            raise SandboxError(f"{main_class} failed with status {result.status}: {last}")
        return result

    def _start(self, processes: SupervisedProcesses) -> None:
        class_path = tuple(jars.class_path(self._version.name))
        folder = Path(tempfile.mkdtemp(prefix="zkconsumer-kraft-"))
        processes.remove_at_end(folder)
        launcher = Launcher(
            processes=processes,
            java=find_java(os.environ),
            version=self._version,
            class_path=class_path,
            heap_mb=_HEAP_MB,
        )
        taken: set[int] = set()
        self._port = pick_free(taken)
        settings = node_properties(folder, self._port, pick_free(taken))
        self._tools = ToolBox(launcher, folder / "tools")
        self._format(folder, settings)
        home = folder / "node"
        home.mkdir()
        server = Server(
            f"the Kafka {self._version.name} node",
            home,
            launch=lambda: launcher.launch_server(home, BROKER_MAIN, settings),
            ready=lambda: request_view(self._node) is not None,
        )
        server.launch()
        server.await_ready(_LIMIT_MS)

    def _format(self, folder: Path, settings: dict[str, str]) -> None:
        """Format the log folder, without which the node does not start."""
        file = folder / "format.properties"
        file.write_text(render_properties(settings), "ascii")
        self.run_tool("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(file))
