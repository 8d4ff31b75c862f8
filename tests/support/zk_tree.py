"""Reads and writes the nodes of a sandbox's ZooKeeper with a client that is not under test.

Every call uses a new session: an idle one would expire while a test waits.
"""

import json

from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.zookeeper_client import Node, ZooKeeperClient
from zkconsumer.zk.json_dialect import Malformed


class ZkTree:
    """The nodes below ``chroot``, by default the cluster's; all paths are relative to it."""

    def __init__(self, cluster: Sandbox, chroot: str | None = None) -> None:
        address, _, own_chroot = cluster.zookeeper_connect.partition("/")
        host, _, port = address.partition(":")
        self.host, self.port = host, int(port)
        self.chroot = f"/{own_chroot}" if chroot is None else chroot
        self.connect = f"{address}{self.chroot}"

    def get(self, path: str) -> Node | None:
        """Return a node, or None."""
        with self._client() as client:
            return client.get(self.chroot + path)

    def put(self, path: str, data: bytes = b"") -> None:
        """Create or change a persistent node, and create its parents."""
        with self._client() as client:
            client.ensure(self.chroot + path.rpartition("/")[0])
            if not client.create(self.chroot + path, data):
                client.set(self.chroot + path, data)

    def delete(self, path: str) -> bool:
        """Delete a node without children; return whether it existed."""
        with self._client() as client:
            return client.delete(self.chroot + path)

    def delete_tree(self, path: str) -> None:
        """Delete a node and everything below it."""
        for name in self.children(path):
            self.delete_tree(f"{path}/{name}")
        self.delete(path)

    def children(self, path: str) -> list[str]:
        """Return the names of a node's children, sorted."""
        with self._client() as client:
            return client.children(self.chroot + path)

    def members(self, group: str) -> list[str]:
        """Return the registered consumer ids."""
        return self.children(f"/consumers/{group}/ids")

    def owners(self, group: str, topic: str) -> dict[int, tuple[str, int]]:
        """Return thread id and session of every partition's owner."""
        base = f"{self.chroot}/consumers/{group}/owners/{topic}"
        owners: dict[int, tuple[str, int]] = {}
        with self._client() as client:
            for name in client.children(base):
                node = client.get(f"{base}/{name}")
                if node is not None:
                    owners[int(name)] = (node.data.decode(), node.ephemeral_owner)
        return owners

    def offset(self, group: str, tp: TopicPartition) -> int | None:
        """Return the committed offset of a partition, or None."""
        node = self.get(offset_path(group, tp))
        return None if node is None else int(node.data)

    def offsets(self, group: str) -> dict[TopicPartition, int]:
        """Return all committed offsets of a group."""
        base = f"{self.chroot}/consumers/{group}/offsets"
        offsets: dict[TopicPartition, int] = {}
        with self._client() as client:
            for topic in client.children(base):
                for name in client.children(f"{base}/{topic}"):
                    node = client.get(f"{base}/{topic}/{name}")
                    if node is not None:
                        offsets[TopicPartition(topic, int(name))] = int(node.data)
        return offsets

    def leaders(self, topic: str) -> dict[int, int]:
        """Return the leader of every partition, as the controller wrote it; -1: none."""
        base = f"{self.chroot}/brokers/topics/{topic}/partitions"
        leaders: dict[int, int] = {}
        with self._client() as client:
            for name in client.children(base):
                node = client.get(f"{base}/{name}/state")
                if node is not None:
                    leaders[int(name)] = json.loads(node.data)["leader"]
        return leaders

    def in_sync(self, topic: str) -> dict[int, set[int]]:
        """Return the in-sync replicas of every partition."""
        base = f"{self.chroot}/brokers/topics/{topic}/partitions"
        replicas: dict[int, set[int]] = {}
        with self._client() as client:
            for name in client.children(base):
                node = client.get(f"{base}/{name}/state")
                if node is not None:
                    replicas[int(name)] = set(json.loads(node.data)["isr"])
        return replicas

    def _client(self) -> ZooKeeperClient:
        return ZooKeeperClient(self.host, self.port)


def offset_path(group: str, tp: TopicPartition) -> str:
    """Return the path of a committed offset's node."""
    return f"/consumers/{group}/offsets/{tp.topic}/{tp.partition}"


def owner_path(group: str, tp: TopicPartition) -> str:
    """Return the path of an owner node."""
    return f"/consumers/{group}/owners/{tp.topic}/{tp.partition}"


def malformed(value: object) -> str:
    """Return the reason of a value, which must be malformed."""
    assert isinstance(value, Malformed), value
    return value.reason
