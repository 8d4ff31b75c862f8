"""The ZooKeeper nodes of a large cluster, as brokers and members would create them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final

from tests.support.scripted_cluster import ScriptedCluster
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.zk.kazoo_store import connect
from zkconsumer.zk.nodes import Registration, encode_registration
from zkconsumer.zk.store import CreateOp, ZkStore

BROKERS: Final = 3
MEMBERS: Final = 4
PATIENCE_MS: Final = 60_000
_AT_ONCE = 5_000
_BROKER = b'{"jmx_port":-1,"timestamp":"1400000000000","host":"b%d","version":1,"port":9092}'
_STATE = b'{"controller_epoch":1,"leader":%d,"version":1,"leader_epoch":0,"isr":[%d,%d]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeCluster:
    """A cluster's size.

    Attributes:
        topics: the number of topics.
        partitions: the number of partitions of each topic.
        groups: the number of groups, each with four members.
        topics_each: the number of topics that each group reads.
    """

    topics: int
    partitions: int
    groups: int
    topics_each: int

    def brokers(self) -> ScriptedCluster:
        """Return its brokers, which lead the same partitions as the nodes say."""
        return ScriptedCluster(
            count=BROKERS,
            leaders={
                TopicPartition(_topic(topic), partition): partition % BROKERS
                for topic in range(self.topics)
                for partition in range(self.partitions)
            },
        )

    def write(self, store: ZkStore) -> None:
        """Create all nodes; those of members are ephemeral, and go when the store is closed."""
        store.ensure_paths(["/brokers/ids", "/brokers/topics", "/config/topics", "/consumers"])
        ops = [
            *(CreateOp(f"/brokers/ids/{broker}", _BROKER % broker) for broker in range(BROKERS)),
            *(op for topic in range(self.topics) for op in self._topic_ops(_topic(topic))),
            *(op for group in range(self.groups) for op in self._group_ops(group)),
        ]
        for first in range(0, len(ops), _AT_ONCE):
            errors = store.write_many(ops[first : first + _AT_ONCE])
            assert set(errors) == {None}

    def _topic_ops(self, topic: str) -> list[CreateOp]:
        root = f"/brokers/topics/{topic}"
        replicas = ",".join(
            f'"{partition}":[{partition % BROKERS},{(partition + 1) % BROKERS}]'
            for partition in range(self.partitions)
        )
        ops = [
            CreateOp(root, f'{{"version":1,"partitions":{{{replicas}}}}}'.encode()),
            CreateOp(f"/config/topics/{topic}", b'{"version":1,"config":{}}'),
            CreateOp(f"{root}/partitions", None),
        ]
        for partition in range(self.partitions):
            leader, other = partition % BROKERS, (partition + 1) % BROKERS
            ops.append(CreateOp(f"{root}/partitions/{partition}", None))
            state = _STATE % (leader, leader, other)
            ops.append(CreateOp(f"{root}/partitions/{partition}/state", state))
        return ops

    def _group_ops(self, number: int) -> list[CreateOp]:
        group = f"group-{number:03}"
        root = f"/consumers/{group}"
        members = [
            f"{group}_host{place}-1400000000000-abcdef{place:02}" for place in range(MEMBERS)
        ]
        first = number * self.topics_each
        topics = [_topic((first + place) % self.topics) for place in range(self.topics_each)]
        data = encode_registration(
            Registration(subscription=dict.fromkeys(topics, 1), timestamp_ms=1_400_000_000_000)
        )
        ops = [CreateOp(f"{root}{folder}", None) for folder in ("", "/ids", "/owners", "/offsets")]
        ops += [CreateOp(f"{root}/ids/{member}", data, ephemeral=True) for member in members]
        for topic in topics:
            ops += [CreateOp(f"{root}/{folder}/{topic}", None) for folder in ("owners", "offsets")]
            for partition in range(self.partitions):
                owner = f"{members[partition * MEMBERS // self.partitions]}-0".encode()
                ops.append(CreateOp(f"{root}/owners/{topic}/{partition}", owner, ephemeral=True))
                ops.append(CreateOp(f"{root}/offsets/{topic}/{partition}", b"40"))
        return ops


LARGE: Final = LargeCluster(topics=500, partitions=20, groups=50, topics_each=20)
"""The cluster that tests with time limits read."""


@contextmanager
def large_cluster(zookeeper: Sandbox) -> Iterator[str]:
    """Write ``LARGE`` to a real ZooKeeper; yield the connect string."""
    host = zookeeper.zookeeper_connect.partition("/")[0]
    with closing(connected(host)) as root:
        root.ensure_paths(["/large"])
    with closing(connected(f"{host}/large")) as writer:
        LARGE.write(writer)
        yield f"{host}/large"


def connected(zookeeper_connect: str) -> ZkStore:
    """Return a client with long timeouts."""
    return connect(zookeeper_connect, session_timeout_ms=20_000, connection_timeout_ms=PATIENCE_MS)


def _topic(number: int) -> str:
    return f"topic-{number:04}"
