"""The sandbox: a real ZooKeeper and real brokers on loopback, as a context manager."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Self, Unpack

from zkconsumer.errors import SandboxError
from zkconsumer.model import Broker
from zkconsumer.sandbox import jars
from zkconsumer.sandbox.broker import BrokerServer
from zkconsumer.sandbox.java import find_java
from zkconsumer.sandbox.kdc import KeyDistributionCenter
from zkconsumer.sandbox.processes import SupervisedProcesses
from zkconsumer.sandbox.secured import ClientAccess
from zkconsumer.sandbox.server import Launcher
from zkconsumer.sandbox.settings import SandboxOptions, check_settings, make_work_dir
from zkconsumer.sandbox.startup import RunningCluster, require_free_ports, start_cluster
from zkconsumer.sandbox.tools import ScalaTool, ToolResult
from zkconsumer.sandbox.topics import Assignment, spread
from zkconsumer.sandbox.versions import DEFAULT_KAFKA


class Sandbox:
    """A cluster for tests, demos and experiments; it ends with this process.

    The body of ``with Sandbox(kafka="0.8.2.2", brokers=3) as cluster: ...`` runs once ZooKeeper and
    all brokers respond. Brokers are numbered from 0. A server that is started again keeps its port
    and its data. Ports that were not given are chosen below the range of outgoing connections, so
    that they stay free while a server is down. Thread: any.

    Args:
        kafka: the release of the brokers; their ZooKeeper comes with it.
        brokers: the number of brokers; 0 starts ZooKeeper alone.
        options: see ``SandboxOptions``.

    Raises:
        SandboxError: an option is invalid.
    """

    def __init__(
        self, kafka: str = DEFAULT_KAFKA, brokers: int = 1, **options: Unpack[SandboxOptions]
    ) -> None:
        self._settings = check_settings(kafka, brokers, **options)
        self._processes: SupervisedProcesses | None = None
        self._running: RunningCluster | None = None
        self._closing: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Self:
        """Start everything; ``close`` must follow.

        Raises:
            SandboxError: Java or a jar is missing, a port is taken, or a server does not start.
        """
        if self._processes is not None:
            raise SandboxError("the sandbox runs already")
        require_free_ports(self._settings)
        java = find_java(os.environ)
        class_path = tuple(jars.class_path(self._settings.kafka.name))
        self._processes = SupervisedProcesses()
        try:
            launcher = Launcher(
                processes=self._processes,
                java=java,
                version=self._settings.kafka,
                class_path=class_path,
                heap_mb=self._settings.heap_mb,
            )
            work_dir, temporary = make_work_dir(self._settings)
            if temporary:
                self._processes.remove_at_end(work_dir)
            self._running = start_cluster(self._settings, launcher, work_dir, self._closing)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Kill all servers and tools and remove a temporary work folder. Idempotent."""
        processes, self._processes, self._running = self._processes, None, None
        while self._closing:
            self._closing.pop()()
        if processes is not None:
            processes.close()

    @property
    def _cluster(self) -> RunningCluster:
        if self._running is None:
            raise SandboxError("the sandbox does not run: use it in a with statement")
        return self._running

    def _broker(self, broker_id: int) -> BrokerServer:
        try:
            return self._cluster.brokers[broker_id]
        except KeyError:
            known = ", ".join(map(str, self._cluster.brokers)) or "none"
            raise SandboxError(f"the sandbox has no broker {broker_id}, only: {known}") from None

    # --- Addresses and access ------------------------------------------------------------------

    @property
    def kafka(self) -> str:
        """The release of the brokers."""
        return self._settings.kafka.name

    @property
    def zookeeper_connect(self) -> str:
        """The connect string, chroot included, such as ``127.0.0.1:2181/kafka``."""
        return self._cluster.zookeeper_connect

    @property
    def brokers(self) -> tuple[Broker, ...]:
        """All brokers by id, running or not."""
        return tuple(server.address for server in self._cluster.brokers.values())

    @property
    def bootstrap_servers(self) -> str:
        """The brokers as ``host:port``, joined by commas."""
        return ",".join(f"{broker.host}:{broker.port}" for broker in self.brokers)

    @property
    def access(self) -> ClientAccess:
        """The settings of clients, with ``security`` or ``zookeeper_security``.

        ``Sandbox.bootstrap_servers`` and ``Sandbox.brokers`` are those of the plaintext listener,
        which is for the sandbox itself and for traffic between brokers.

        Raises:
            SandboxError: the sandbox is not secured.
        """
        access = self._cluster.access
        if access is None:
            raise SandboxError("the sandbox is not secured: give it security='tls', say")
        return access

    @property
    def kdc(self) -> KeyDistributionCenter:
        """The KDC of ``security="kerberos"``.

        Raises:
            SandboxError: the sandbox has no KDC.
        """
        kdc = self._cluster.kdc
        if kdc is None:
            raise SandboxError("the sandbox has no KDC: give it security='kerberos'")
        return kdc

    # --- Topics --------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication: int = 1,
        *,
        assignment: Assignment | None = None,
        config: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic; return when all live brokers know its leaders, and these serve.

        Args:
            name: the name of the topic.
            partitions: the number of partitions; the preferred leader of partition *p* is number
                ``p % N`` of the running brokers.
            replication: the number of replicas of each partition.
            assignment: the broker ids of each partition, instead of the two numbers.
            config: the topic's own settings.

        Raises:
            SandboxError: the topic exists, the numbers are invalid, or it took too long.
        """
        replicas = assignment or self._spread(range(partitions), replication)
        self._cluster.topics.create(name, replicas, config or {})

    def has_topic(self, name: str) -> bool:
        """Return whether a topic exists."""
        return self._cluster.topics.exists(name)

    def add_partitions(self, name: str, total: int) -> None:
        """Grow a topic to ``total`` partitions; return when the new ones have leaders.

        Raises:
            SandboxError: there is no such topic, it has that many partitions already, or it took
                too long.
        """
        present = self._cluster.topics.partitions(name)
        if total <= len(present):
            raise SandboxError(f"topic {name} has {len(present)} partitions: it can only grow")
        replication = len(next(iter(present.values()), [0]))
        new = self._spread(range(len(present), total), replication)
        self._cluster.topics.grow(name, new)

    def delete_topic(self, name: str) -> None:
        """Delete a topic; return when it is gone from ZooKeeper and from every live broker.

        Raises:
            SandboxError: there is no such topic, it took too long, or the brokers are of 0.8.0,
                which can't delete topics.
        """
        self._cluster.topics.delete(name)

    def _spread(self, partitions: range, replication: int) -> Assignment:
        ids = [server.address.id for server in self._cluster.brokers.values() if server.serving]
        if not partitions:
            raise SandboxError("a topic needs at least one partition")
        if not 1 <= replication <= len(ids):
            raise SandboxError(
                f"replication={replication}: {len(ids)} brokers are running: every replica needs "
                "a broker of its own"
            )
        return spread(partitions, ids, replication)

    # --- Brokers -------------------------------------------------------------------------------

    def kill_broker(self, broker_id: int) -> None:
        """Kill a broker, as a crash does; its registration stays until it times out."""
        self._broker(broker_id).kill()

    def stop_broker(self, broker_id: int) -> None:
        """Shut a broker down: it hands over its leadership (0.8.2 and later) and deregisters."""
        self._broker(broker_id).stop()

    def start_broker(self, broker_id: int) -> None:
        """Start a stopped or killed broker again, on its port and data.

        The call returns when the broker serves, and all live brokers name the same live leaders.

        Raises:
            SandboxError: the server runs already, or does not start.
        """
        broker = self._broker(broker_id)
        broker.launch()
        broker.await_ready(self._settings.start_timeout_ms)
        self._cluster.topics.await_settled()

    def pause_broker(self, broker_id: int) -> None:
        """Freeze a broker: its connections stay open, but it does not respond."""
        self._broker(broker_id).pause()

    def resume_broker(self, broker_id: int) -> None:
        """Resume a frozen broker."""
        self._broker(broker_id).resume()

    def broker_pid(self, broker_id: int) -> int | None:
        """Return a broker's process id; None while it does not run."""
        return self._broker(broker_id).pid

    # --- ZooKeeper -----------------------------------------------------------------------------

    def kill_zookeeper(self) -> None:
        """Kill ZooKeeper, as a crash does."""
        self._cluster.zookeeper.kill()

    def stop_zookeeper(self) -> None:
        """Shut ZooKeeper down."""
        self._cluster.zookeeper.stop()

    def start_zookeeper(self) -> None:
        """Start ZooKeeper again with its nodes and sessions; return when it responds.

        Raises:
            SandboxError: the server runs already, or does not start.
        """
        self._cluster.zookeeper.launch()
        self._cluster.zookeeper.await_ready(self._settings.start_timeout_ms)

    def pause_zookeeper(self) -> None:
        """Freeze ZooKeeper: its connections stay open, but it does not respond."""
        self._cluster.zookeeper.pause()

    def resume_zookeeper(self) -> None:
        """Resume a frozen ZooKeeper."""
        self._cluster.zookeeper.resume()

    def expire_session(self, session_id: int, password: bytes) -> None:
        """Expire a client's session: its ephemeral nodes are gone when this returns.

        The sandbox joins the session with the client's own id and password, and closes it.

        Raises:
            SandboxError: ZooKeeper has no such session, or the password is wrong.
        """
        self._cluster.zookeeper.client((session_id, password)).close()

    # --- The original's tools ------------------------------------------------------------------

    def scala_tool(
        self, main_class: str, *arguments: str, stdin: bytes = b"", flags: Sequence[str] = ()
    ) -> ScalaTool:
        """Start one of the original's tools, such as ``kafka.tools.ConsoleConsumer``.

        Args:
            main_class: the full name of the tool's class.
            arguments: the tool's command line.
            stdin: the tool's standard input.
            flags: flags for the JVM.
        """
        return self._cluster.tools.start(main_class, *arguments, stdin=stdin, flags=flags)

    def run_scala_tool(
        self, main_class: str, *arguments: str, stdin: bytes = b"", timeout_ms: int = 60_000
    ) -> ToolResult:
        """Run one of the original's tools to its end.

        Raises:
            SandboxError: the tool exceeded the time limit, and was killed.
        """
        with self.scala_tool(main_class, *arguments, stdin=stdin) as tool:
            return tool.wait(timeout_ms)
