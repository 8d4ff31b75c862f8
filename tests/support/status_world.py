"""A cluster in memory for snapshots: ZooKeeper's nodes, brokers, and groups of both kinds."""

from tests.support.group_tree import GroupTree
from tests.support.manual_clock import ManualClock
from tests.support.scripted_cluster import ScriptedCluster
from tests.support.scripted_groups import ScriptedGroups
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.reading.deadline import ReadingLimits
from zkconsumer.status.reading.sessions import Sessions
from zkconsumer.status.reading.snapshot import SnapshotReader

LONG_MS = 10_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
B0, B1 = Broker(0, "b0", 9092), Broker(1, "b1", 9092)
BROKER = b'{"jmx_port":-1,"timestamp":"9","host":"b%d","version":1,"port":9092}'
STATE = b'{"controller_epoch":1,"leader":%d,"version":1,"leader_epoch":0,"isr":[%d]}'
MEMBER = "g_h-1400000000000-1a2b3c4d"


class StatusWorld:
    """Two brokers that lead a partition each, according to metadata and to ZooKeeper.

    Attributes:
        tree: ZooKeeper's nodes.
        cluster: the brokers.
        groups: the groups at their coordinators.
        clock: the readers' clock.
    """

    def __init__(self) -> None:
        self.tree = GroupTree()
        self.cluster = ScriptedCluster(leaders={T0: 0, T1: 1})
        self.groups = ScriptedGroups(self.cluster).groups
        self.clock = ManualClock()
        self.sessions: Sessions | None = None
        self._readers: list[SnapshotReader] = []
        for number in range(2):
            self.register(number)
        self.topic("t")

    def register(self, number: int) -> None:
        """Register a broker in ZooKeeper."""
        self.tree.write(f"/brokers/ids/{number}", BROKER % number)

    def topic(self, name: str) -> None:
        """Create the nodes of a topic with two partitions."""
        self.tree.write(f"/brokers/topics/{name}", b'{"version":1,"partitions":{"0":[0],"1":[1]}}')
        for number in range(2):
            self.tree.write(
                f"/brokers/topics/{name}/partitions/{number}/state", STATE % (number, number)
            )
            self.cluster.leaders.setdefault(TopicPartition(name, number), number)

    def zookeeper_group(self, group: str = "g") -> None:
        """Create a ZooKeeper group that owns both partitions, with one committed offset."""
        session = self.tree.join(group, MEMBER, {"t": 1})
        for tp in (T0, T1):
            self.tree.own(group, *tp, f"{MEMBER}-0", session)
        self.tree.commit(group, *T0, b"40")

    def reader(self, *, sessions: Sessions | None = None, **limits: int) -> SnapshotReader:
        """Return a snapshot reader of this cluster."""
        reader = SnapshotReader(
            self.tree.store,
            self.cluster.dialer(),
            zookeeper_connect="zk/chroot",
            limits=ReadingLimits(**{"cluster_every_ms": 0, **limits}),
            sessions=sessions,
            clock=self.clock,
        )
        self._readers.append(reader)
        return reader

    def close(self) -> None:
        """Close all readers."""
        for reader in self._readers:
            reader.close(LONG_MS)
