"""The nodes of a sandbox's ZooKeeper, seen and changed by a client that is not under test.

Every call opens and ends a session of its own: an idle one would expire while a test waits.
"""

import json

from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.zookeeper_client import Node, ZooKeeperClient
from zkconsumer.zk.nodes import Malformed


class ZkTree:
    """Paths are relative to ``chroot``, which is that of the cluster unless another is given."""

    def __init__(self, cluster: Sandbox, chroot: str | None = None) -> None:
        address, _, own_chroot = cluster.zookeeper_connect.partition("/")
        host, _, port = address.partition(":")
        self.host, self.port = host, int(port)
        self.chroot = f"/{own_chroot}" if chroot is None else chroot
        self.connect = f"{address}{self.chroot}"

    def get(self, path: str) -> Node | None:
        """The node, None where there is none."""
        with self._client() as client:
            return client.get(self.chroot + path)

    def put(self, path: str, data: bytes = b"") -> None:
        """Make or change a persistent node, and make those above it."""
        with self._client() as client:
            client.ensure(self.chroot + path.rpartition("/")[0])
            if not client.create(self.chroot + path, data):
                client.set(self.chroot + path, data)

    def delete(self, path: str) -> bool:
        """Delete a node without children; says whether it was there."""
        with self._client() as client:
            return client.delete(self.chroot + path)

    def delete_tree(self, path: str) -> None:
        """Delete a node and all below it."""
        for name in self.children(path):
            self.delete_tree(f"{path}/{name}")
        self.delete(path)

    def children(self, path: str) -> list[str]:
        """The names of a node's children, sorted."""
        with self._client() as client:
            return client.children(self.chroot + path)

    def members(self, group: str) -> list[str]:
        """The consumer ids that are registered."""
        return self.children(f"/consumers/{group}/ids")

    def owners(self, group: str, topic: str) -> dict[int, tuple[str, int]]:
        """Thread id and session of every partition's owner."""
        base = f"{self.chroot}/consumers/{group}/owners/{topic}"
        found: dict[int, tuple[str, int]] = {}
        with self._client() as client:
            for name in client.children(base):
                node = client.get(f"{base}/{name}")
                if node is not None:
                    found[int(name)] = (node.data.decode(), node.ephemeral_owner)
        return found

    def offset(self, group: str, tp: TopicPartition) -> int | None:
        """The committed offset of a partition."""
        node = self.get(offset_path(group, tp))
        return None if node is None else int(node.data)

    def offsets(self, group: str) -> dict[TopicPartition, int]:
        """Every committed offset of a group."""
        base = f"{self.chroot}/consumers/{group}/offsets"
        found: dict[TopicPartition, int] = {}
        with self._client() as client:
            for topic in client.children(base):
                for name in client.children(f"{base}/{topic}"):
                    node = client.get(f"{base}/{topic}/{name}")
                    if node is not None:
                        found[TopicPartition(topic, int(name))] = int(node.data)
        return found

    def leaders(self, topic: str) -> dict[int, int]:
        """The leader of every partition as the controller wrote it; -1 where there is none."""
        base = f"{self.chroot}/brokers/topics/{topic}/partitions"
        found: dict[int, int] = {}
        with self._client() as client:
            for name in client.children(base):
                node = client.get(f"{base}/{name}/state")
                if node is not None:
                    found[int(name)] = json.loads(node.data)["leader"]
        return found

    def in_sync(self, topic: str) -> dict[int, set[int]]:
        """The in-sync replicas of every partition."""
        base = f"{self.chroot}/brokers/topics/{topic}/partitions"
        found: dict[int, set[int]] = {}
        with self._client() as client:
            for name in client.children(base):
                node = client.get(f"{base}/{name}/state")
                if node is not None:
                    found[int(name)] = set(json.loads(node.data)["isr"])
        return found

    def _client(self) -> ZooKeeperClient:
        return ZooKeeperClient(self.host, self.port)


def offset_path(group: str, tp: TopicPartition) -> str:
    """Where a committed offset lies."""
    return f"/consumers/{group}/offsets/{tp.topic}/{tp.partition}"


def owner_path(group: str, tp: TopicPartition) -> str:
    """Where an owner node lies."""
    return f"/consumers/{group}/owners/{tp.topic}/{tp.partition}"


def malformed(value: object) -> str:
    """The reason of a value that must be malformed."""
    assert isinstance(value, Malformed), value
    return value.reason
