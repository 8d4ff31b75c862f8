"""Captures the output of the original's tools: ``python -m tests.golden.capture_scala_tools``.

It writes ``data/scala_tools.json``: each run's exit status and output, and the files and nodes that
the tools wrote.
"""

import json
import os
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TypedDict

from tests.golden.jvm import DATA
from tests.golden.scala_tool_scenes import (
    BROKEN_IMPORT,
    BROKER_1_DOWN_RUNS,
    GROUP_COMMAND,
    HEALTHY_RUNS,
    IMPORTED,
    KAFKA,
    LATER,
    NODES,
    TOPICS,
    Run,
)
from tests.interop.traffic import Writer
from tests.support.waiting import wait_until
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import jars
from zkconsumer.sandbox.cluster import Sandbox
from zkconsumer.sandbox.java import find_java
from zkconsumer.sandbox.tools import ToolResult
from zkconsumer.sandbox.zookeeper_client import ZooKeeperClient

SCALA_TOOLS = DATA / "scala_tools.json"


class GoldenRun(TypedDict):
    """The result of one run."""

    name: str
    status: int
    output: str
    errors: str


class Golden(TypedDict):
    """The whole file: brokers as ``host:port`` by id, runs, and contents of files and nodes."""

    brokers: dict[str, str]
    runs: list[GoldenRun]
    files: dict[str, str]
    nodes: dict[str, str]


class _World:
    """The cluster with its topics and groups, and a folder for files."""

    def __init__(self, cluster: Sandbox, folder: Path) -> None:
        self._cluster = cluster
        self.folder = folder
        address, slash, chroot = cluster.zookeeper_connect.partition("/")
        self._chroot = slash + chroot
        host, _, port = address.partition(":")
        self._address = host, int(port)

    def build(self) -> None:
        self._let_broker_0_control()
        with closing(Writer(self._cluster)) as writer:
            for name, topic in TOPICS.items():
                self._cluster.create_topic(name, assignment=topic.replicas, config=topic.config)
                for number, count in enumerate(topic.messages):
                    # The segments of one partition, or the partitions of one topic.
                    partition = 0 if len(topic.replicas) == 1 else number
                    if count:
                        writer.write(TopicPartition(name, partition), count)
        with self._client() as client:
            for path, text in NODES.items():
                client.ensure(self._chroot + path)
                client.set(self._chroot + path, text.encode())
        (self.folder / "imported").write_text(IMPORTED)
        (self.folder / "broken").write_text(BROKEN_IMPORT)
        (self.folder / "group.properties").write_text(
            f"zookeeper.connect={self._cluster.zookeeper_connect}\ngroup.id=updated\n"
        )

    def _let_broker_0_control(self) -> None:
        """Make broker 0, which stays up, the controller.

        A new controller keeps dead leaders in their nodes; one that stays removes them.
        """
        with self._client() as client:
            node = client.get(f"{self._chroot}/controller")
        assert node is not None
        if json.loads(node.data)["brokerid"] == 1:
            self._cluster.stop_broker(1)
            self._cluster.start_broker(1)

    def run(self, run: Run) -> GoldenRun:
        words = {
            "zookeeper": self._cluster.zookeeper_connect,
            "brokers": self._cluster.bootstrap_servers,
            "folder": str(self.folder),
        }
        arguments = [argument.format_map(words) for argument in run.arguments]
        if run.main_class == GROUP_COMMAND:
            result = run_later(run.main_class, arguments)
        else:
            result = self._cluster.run_scala_tool(run.main_class, *arguments)
        return {
            "name": run.name,
            "status": result.status,
            "output": result.output,
            "errors": _essential_errors(result.errors),
        }

    def nodes(self) -> dict[str, str]:
        """Return the nodes that the tools wrote."""
        found: dict[str, str] = {}
        with self._client() as client:
            for group in ("imported", "broken", "updated", "deleted", "deleted-topic", "healthy"):
                self._gather(client, f"/consumers/{group}", found)
            self._gather(client, "/anywhere", found)
        return found

    def _gather(self, client: ZooKeeperClient, path: str, found: dict[str, str]) -> None:
        node = client.get(self._chroot + path)
        if node is not None:
            found[path] = node.data.decode()
        for child in client.children(self._chroot + path):
            self._gather(client, f"{path}/{child}", found)

    def lost_broker_1(self) -> bool:
        """Whether the controller has noticed the loss of broker 1."""
        with self._client() as client:
            node = client.get(f"{self._chroot}/brokers/topics/single/partitions/0/state")
        return node is not None and json.loads(node.data)["leader"] == -1

    def _client(self) -> ZooKeeperClient:
        return ZooKeeperClient(*self._address)


def _essential_errors(errors: str) -> str:
    """Return the errors without stack traces and log4j's warnings about its configuration."""
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("\tat ", "log4j:")))


def run_later(main_class: str, arguments: list[str]) -> ToolResult:
    """Run a tool of the later version until it ends."""
    path = os.pathsep.join(map(str, jars.class_path(LATER)))
    done = subprocess.run(
        [find_java(os.environ), "-cp", path, main_class, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return ToolResult(done.returncode, done.stdout, done.stderr)


def main() -> None:
    """Write the file again."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Sandbox(kafka=KAFKA, brokers=2) as cluster,
    ):
        world = _World(cluster, Path(folder))
        world.build()
        runs = [world.run(run) for run in HEALTHY_RUNS]
        cluster.kill_broker(1)
        wait_until(world.lost_broker_1, what="the broker to be missed")
        runs += [world.run(run) for run in BROKER_1_DOWN_RUNS]
        golden: Golden = {
            "brokers": {
                str(broker.id): f"{broker.host}:{broker.port}" for broker in cluster.brokers
            },
            "runs": runs,
            "files": {name: (world.folder / name).read_text() for name in ("one", "two")},
            "nodes": world.nodes(),
        }
    SCALA_TOOLS.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
