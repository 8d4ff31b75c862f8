"""Reads a group's nodes with the sandbox's own client, not through the code under test."""

import json
from collections.abc import Collection
from typing import NamedTuple

from zkconsumer.assignment.filters import expand
from zkconsumer.assignment.group_view import GroupView
from zkconsumer.assignment.strategy import CannotAssign, Strategy, assign
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.zookeeper_client import Node, ZooKeeperClient
from zkconsumer.zk.nodes import Registration, parse_registration

Owners = dict[str, str]
"""Thread ids by ``topic-partition``; a partition without an owner is missing."""


class NodesSnapshot(NamedTuple):
    """A group's nodes at one moment.

    Attributes:
        members: consumer ids, sorted.
        owners: the owner nodes of the given topics.
        assigned: the owners that the assignor chooses for these members.
    """

    members: list[str]
    owners: Owners
    assigned: Owners


class GroupPeek:
    """Reads the nodes of one group."""

    def __init__(self, cluster: Sandbox, group: str) -> None:
        self.group = group
        address, slash, chroot = cluster.zookeeper_connect.partition("/")
        self._chroot = slash + chroot
        host, _, port = address.partition(":")
        self._address = (host, int(port))

    def tree(self) -> dict[str, Node]:
        """Return every node below ``/consumers/<group>``, by relative path."""
        found: dict[str, Node] = {}
        with self._client() as client:
            self._gather(client, "", found)
        return found

    def registrations(self) -> dict[str, bytes]:
        """Return the registration of each member, by consumer id."""
        with self._client() as client:
            return self._registrations(client)

    def owners(self, topics: Collection[str]) -> Owners:
        """Return the owners of these topics' partitions."""
        with self._client() as client:
            return self._owners(client, topics)

    def offsets(self, topic: str) -> dict[int, str]:
        """Return the texts of the topic's offset nodes."""
        with self._client() as client:
            return {
                int(name): node.data.decode()
                for name, node in self._children(client, f"offsets/{topic}")
            }

    def snapshot(self, topics: Collection[str], strategy: Strategy = "range") -> NodesSnapshot:
        """Return members and owners, and the owners that the strategy would choose."""
        with self._client() as client:
            written = self._registrations(client)
            owners = self._owners(client, topics)
            all_topics = client.children(f"{self._chroot}/brokers/topics", as_listed=True)
            partitions = {topic: self._partitions(client, topic) for topic in topics}
        members = {
            consumer_id: expand(_parsed(data), all_topics, exclude_internal=True)
            for consumer_id, data in written.items()
        }
        assigned: Owners = {}
        if members:
            response = assign(strategy, GroupView(members, partitions), next(iter(members)))
            assert not isinstance(response, CannotAssign), response
            assigned = {f"{tp}": str(thread) for tp, thread in response.items()}
        return NodesSnapshot(sorted(members), owners, assigned)

    def partitions(self, topic: str) -> tuple[int, ...]:
        """Return the topic's partitions, unsorted."""
        with self._client() as client:
            return self._partitions(client, topic)

    def _client(self) -> ZooKeeperClient:
        return ZooKeeperClient(*self._address)

    def _path(self, rest: str) -> str:
        return f"{self._chroot}/consumers/{self.group}/{rest}".rstrip("/")

    def _children(self, client: ZooKeeperClient, rest: str) -> list[tuple[str, Node]]:
        path = self._path(rest)
        named = [(name, client.get(f"{path}/{name}")) for name in client.children(path)]
        return [(name, node) for name, node in named if node is not None]

    def _gather(self, client: ZooKeeperClient, rest: str, found: dict[str, Node]) -> None:
        for name, node in self._children(client, rest):
            path = f"{rest}/{name}".lstrip("/")
            found[path] = node
            self._gather(client, path, found)

    def _registrations(self, client: ZooKeeperClient) -> dict[str, bytes]:
        return {name: node.data for name, node in self._children(client, "ids")}

    def _owners(self, client: ZooKeeperClient, topics: Collection[str]) -> Owners:
        return {
            f"{topic}-{name}": node.data.decode()
            for topic in topics
            for name, node in self._children(client, f"owners/{topic}")
        }

    def _partitions(self, client: ZooKeeperClient, topic: str) -> tuple[int, ...]:
        node = client.get(f"{self._chroot}/brokers/topics/{topic}")
        assert node is not None, f"topic {topic} is missing"
        return tuple(map(int, json.loads(node.data)["partitions"]))


def _parsed(data: bytes) -> Registration:
    registration = parse_registration(data)
    assert isinstance(registration, Registration), registration
    return registration
