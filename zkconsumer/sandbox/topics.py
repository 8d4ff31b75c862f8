"""Creates, grows and deletes topics, and waits until every broker knows of the change.

It writes the same ZooKeeper nodes as the original's ``TopicCommand`` (Kafka 0.8 to 2.x): a node of
settings, then the assignment of replicas, on which the controller acts. The command itself takes
1.5 s each time to start, has another name in 0.8.0, and does not support ZooKeeper from 3.0 on; the
nodes work with all versions. (Controllers that assign topic ids add one to a topic without an id.)

The original assigns the first partition to a random broker, this module to the first: partition *p*
of a new topic has its preferred leader on broker number ``p % N``, so that tests can rely on it.
"""

import json
from collections.abc import Callable, Mapping, Sequence

from zkconsumer.errors import SandboxError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.sandbox.broker_probe import BrokerKnowledge, leads, request_view
from zkconsumer.sandbox.versions import KafkaVersion
from zkconsumer.sandbox.waiting import await_result
from zkconsumer.sandbox.zookeeper_client import ZooKeeperClient
from zkconsumer.topic_name import is_topic_name

_MOST_CHARS = 249
"""Kafka 0.8 accepts 255, but can't create the folder, whose name adds the partition number."""

Assignment = Mapping[int, Sequence[int]]
"""The broker ids that hold each partition, the preferred leader first."""


def spread(partitions: range, broker_ids: Sequence[int], replication: int) -> dict[int, list[int]]:
    """Assign replicas to brokers in turn: partition *p* starts at broker number ``p % N``."""
    count = len(broker_ids)
    return {
        partition: [broker_ids[(partition + step) % count] for step in range(replication)]
        for partition in partitions
    }


class TopicAdmin:
    """Changes the topics of one cluster.

    Args:
        version: the version of the brokers.
        chroot: the cluster's path in ZooKeeper, empty or with its leading slash.
        connect: opens a ZooKeeper client.
        live_brokers: returns the running brokers.
        timeout_ms: the time limit of a change.
    """

    def __init__(
        self,
        version: KafkaVersion,
        chroot: str,
        *,
        connect: Callable[[], ZooKeeperClient],
        live_brokers: Callable[[], Sequence[Broker]],
        timeout_ms: int,
    ) -> None:
        self._version = version
        self._chroot = chroot
        self._connect = connect
        self._live_brokers = live_brokers
        self._timeout_ms = timeout_ms

    def create(self, topic: str, assignment: Assignment, config: Mapping[str, str]) -> None:
        """Create a topic; return when every broker knows all its leaders.

        Raises:
            SandboxError: the name is not allowed, the topic exists, or the brokers did not create
                it in time.
        """
        if not is_topic_name(topic) or len(topic) > _MOST_CHARS:
            raise SandboxError(
                f"{topic!r} is not a topic name: use letters, digits, '.', '_', '-', at most "
                f"{_MOST_CHARS} of them"
            )
        if config and not self._version.topic_config:
            raise SandboxError(f"Kafka {self._version.name} has no topic-level settings")
        with self._connect() as client:
            if self._version.topic_config:
                settings = {"version": 1, "config": dict(config)}
                client.ensure(self._path("/config/topics"))
                path = self._path(f"/config/topics/{topic}")
                if not client.create(path, _json(settings)):
                    client.set(path, _json(settings))
            client.ensure(self._path("/brokers/topics"))
            if not client.create(self._topic_path(topic), _assignment_json(assignment)):
                raise SandboxError(
                    f"topic {topic} exists already: delete it first, or use it as it is"
                )
        self.await_leaders(topic, len(assignment))

    def exists(self, topic: str) -> bool:
        """Return whether ZooKeeper has the topic."""
        with self._connect() as client:
            return client.get(self._topic_path(topic)) is not None

    def partitions(self, topic: str) -> dict[int, list[int]]:
        """Return the assignment of a topic in ZooKeeper.

        Raises:
            SandboxError: there is no such topic.
        """
        with self._connect() as client:
            node = client.get(self._topic_path(topic))
        if node is None:
            raise SandboxError(f"there is no topic {topic}")
        return {int(key): list(ids) for key, ids in json.loads(node.data)["partitions"].items()}

    def grow(self, topic: str, assignment: Assignment) -> None:
        """Add partitions to a topic; return when every broker knows all leaders.

        Args:
            topic: the topic.
            assignment: the new partitions only.

        Raises:
            SandboxError: there is no such topic, or the brokers did not add the partitions in time.
        """
        whole = self.partitions(topic) | {key: list(ids) for key, ids in assignment.items()}
        with self._connect() as client:
            # Other fields of the node, such as a topic id, must stay.
            node = client.get(self._topic_path(topic))
            content = {"version": 1} if node is None else json.loads(node.data)
            content["partitions"] = {str(key): ids for key, ids in sorted(whole.items())}
            client.set(self._topic_path(topic), _json(content))
        self.await_leaders(topic, len(whole))

    def delete(self, topic: str) -> None:
        """Delete a topic; return when it is gone from ZooKeeper and from every broker.

        Raises:
            SandboxError: there is no such topic, this Kafka can't delete topics, or the brokers did
                not delete it in time.
        """
        if not self._version.deletes_topics:
            raise SandboxError(
                f"Kafka {self._version.name} can't delete topics: 0.8.1 and later can"
            )
        self.partitions(topic)
        request = self._path(f"/admin/delete_topics/{topic}")
        with self._connect() as client:
            client.ensure(self._path("/admin/delete_topics"))
            client.create(request)

            def gone() -> bool:
                return (
                    client.get(self._topic_path(topic)) is None
                    and client.get(request) is None
                    and all(topic not in knowledge.topics for knowledge in self._all_knowledge())
                )

            await_result(
                gone,
                timeout_ms=self._timeout_ms,
                complaint=lambda: f"topic {topic} is still there after {self._timeout_ms} ms",
            )

    def await_leaders(self, topic: str, partition_count: int) -> None:
        """Wait until all live brokers name the same live leaders, and these serve as leaders.

        Raises:
            SandboxError: it took too long; the message says what was missing.
        """
        missing = "no broker responded"

        def led() -> bool:
            nonlocal missing
            brokers = {broker.id: broker for broker in self._live_brokers()}
            wanted = [TopicPartition(topic, number) for number in range(partition_count)]
            views = self._all_knowledge()
            for partition in wanted:
                named = {view.leaders.get(partition) for view in views}
                leader = named.pop() if len(named) == 1 else None
                if leader is None or leader not in brokers:
                    missing = f"the brokers do not agree on a live leader of {partition}"
                    return False
                if not leads(brokers[leader], partition):
                    missing = f"{brokers[leader]} does not lead {partition} yet"
                    return False
            return True

        await_result(
            led,
            timeout_ms=self._timeout_ms,
            complaint=lambda: f"topic {topic} not ready after {self._timeout_ms} ms: {missing}",
        )

    def await_settled(self) -> None:
        """Wait until there is a controller and all live brokers name the same live leaders.

        A partition without a live broker that could lead it is ignored.

        Raises:
            SandboxError: it took too long; the message says what was missing.
        """
        brokers = list(self._live_brokers())
        missing = ""
        with self._connect() as client:

            def settled() -> bool:
                nonlocal missing
                missing = self._unsettled(client, brokers)
                return not missing

            await_result(
                settled,
                timeout_ms=self._timeout_ms,
                complaint=lambda: f"not ready after {self._timeout_ms} ms: {missing}",
            )

    def _unsettled(self, client: ZooKeeperClient, brokers: Sequence[Broker]) -> str:
        """Return the first missing condition; empty if the cluster is settled."""
        if brokers and client.get(self._path("/controller")) is None:
            return "there is no controller"
        topics = set(client.children(self._path("/brokers/topics")))
        topics -= set(client.children(self._path("/admin/delete_topics")))
        first: BrokerKnowledge | None = None
        for broker in brokers:
            view = request_view(broker)
            if view is None:
                return f"{broker} did not respond"
            if complaint := _unled(view, topics, {broker.id for broker in brokers}):
                return f"{broker} {complaint}"
            first = first or view
            for topic_partition, leader in view.leaders.items():
                if topic_partition.topic in topics and first.leaders.get(topic_partition) != leader:
                    return f"the brokers name different leaders of {topic_partition}"
        return ""

    def _all_knowledge(self) -> list[BrokerKnowledge]:
        requested = [request_view(broker) for broker in self._live_brokers()]
        return [knowledge for knowledge in requested if knowledge is not None]

    def _path(self, path: str) -> str:
        return self._chroot + path

    def _topic_path(self, topic: str) -> str:
        return self._path(f"/brokers/topics/{topic}")


def _unled(view: BrokerKnowledge, topics: set[str], live: set[int]) -> str:
    """Return what a broker does not know of the topics yet; empty if it knows all."""
    if not topics <= view.topics:
        return f"does not know topic {min(topics - view.topics)}"
    for topic_partition, partition in view.partitions.items():
        if (
            topic_partition.topic in topics
            and partition.leader not in live
            and not live.isdisjoint(partition.isr)
        ):
            return f"knows no live leader of {topic_partition}"
    return ""


def _assignment_json(assignment: Assignment) -> bytes:
    partitions = {str(key): list(ids) for key, ids in sorted(assignment.items())}
    return _json({"version": 1, "partitions": partitions})


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
