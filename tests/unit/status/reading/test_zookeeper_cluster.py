"""Brokers and topics as read from ZooKeeper, and the problems of their nodes."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.manual_clock import ManualClock
from tests.support.refusing import RefusingStore
from zkconsumer.errors import RegistryError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.model import BrokerStatus, PartitionStatus, TopicStatus
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.node_batches import NodeBatches
from zkconsumer.status.reading.zookeeper_cluster import read_brokers, read_topics

NOW_MS = 77
CREATED_MS = 5
BROKER = b'{"jmx_port":%d,"timestamp":"9","host":"h%d","version":1,"port":9092}'
STATE = b'{"controller_epoch":1,"leader":%d,"version":1,"leader_epoch":0,"isr":[1]}'


def world(nodes: dict[str, bytes]) -> tuple[NodeBatches, RefusingStore]:
    """Create a ZooKeeper with these nodes."""
    server = MemoryZkServer(wall_ms=lambda: CREATED_MS)
    writer = server.connect()
    for path, data in nodes.items():
        writer.create(path, data, ephemeral=False)
    store = client = RefusingStore(server)
    return NodeBatches(store, Deadline(ManualClock(), 10_000)), client


def test_an_empty_cluster_is_read() -> None:
    """An empty cluster is read without an error."""
    batches, _ = world({})
    assert read_brokers(batches, NOW_MS) == ()
    assert read_topics(batches, NOW_MS) == ()


def test_brokers_are_read() -> None:
    """Brokers are sorted by id, with the controller, and unusable ones have a problem."""
    batches, _ = world(
        {
            "/brokers/ids/10": BROKER % (-1, 10),
            "/brokers/ids/2": BROKER % (9999, 2),
            "/brokers/ids/3": b"{}",
            "/brokers/ids/x": b"",
            "/controller": b'{"version":1,"brokerid":2,"timestamp":"1"}',
        }
    )
    two, three, ten = read_brokers(batches, NOW_MS)
    assert two == BrokerStatus(
        broker=Broker(2, "h2", 9092),
        seen_ms=NOW_MS,
        is_controller=True,
        jmx_port=9999,
        registered_ms=9,
        created_ms=CREATED_MS,
    )
    assert (three.broker, three.created_ms) == (Broker(3, "", -1), CREATED_MS)
    assert three.problem is not None
    assert "broker 3" in three.problem
    assert (ten.broker, ten.jmx_port, ten.is_controller) == (Broker(10, "h10", 9092), None, False)


def test_topics_are_read() -> None:
    """Topics have replicas, leaders, configs, and whether they are being deleted."""
    batches, _ = world(
        {
            "/brokers/topics/b": b'{"version":1,"partitions":{"1":[2,1],"0":[1]}}',
            "/brokers/topics/b/partitions/0/state": STATE % 1,
            "/brokers/topics/b/partitions/1/state": STATE % -1,
            "/brokers/topics/a": b'{"version":1,"partitions":{}}',
            "/config/topics/b": b'{"version":1,"config":{"retention.ms":"1"}}',
            "/config/topics/a": b"garbage",
            "/admin/delete_topics/a": b"",
        }
    )
    assert read_topics(batches, NOW_MS) == (
        TopicStatus(name="a", seen_ms=NOW_MS, deleting=True),
        TopicStatus(
            name="b",
            seen_ms=NOW_MS,
            config={"retention.ms": "1"},
            partitions=(
                PartitionStatus(
                    topic_partition=TopicPartition("b", 0), leader=1, replicas=(1,), in_sync=(1,)
                ),
                PartitionStatus(
                    topic_partition=TopicPartition("b", 1),
                    leader=None,
                    replicas=(2, 1),
                    in_sync=(1,),
                ),
            ),
        ),
    )


def test_malformed_and_refused_nodes_hide_nothing_else() -> None:
    """Malformed and refused nodes are problems, and hide nothing else."""
    batches, client = world(
        {
            "/brokers/ids/1": BROKER % (-1, 1),
            "/brokers/ids/2": BROKER % (-1, 2),
            "/brokers/topics/a": b'{"version":1,"partitions":{"0":[1],"1":[1],"2":[1]}}',
            "/brokers/topics/a/partitions/0/state": STATE % 1,
            "/brokers/topics/a/partitions/1/state": b"{}",
            "/brokers/topics/b": b"[]",
            "/brokers/topics/c": b'{"version":1,"partitions":{"0":[1]}}',
            "/brokers/topics/c/partitions/0/state": STATE % 1,
            "/brokers/topics/d": b"",
        }
    )
    client.refuses = lambda path: (
        path
        in {
            "/brokers/ids/2",
            "/brokers/topics/c/partitions/0/state",
            "/brokers/topics/d",
            "/config/topics/a",
        }
    )
    one, two = read_brokers(batches, NOW_MS)
    assert (one.problem, two.broker) == (None, Broker(2, "", -1))
    assert "access denied" in str(two.problem)
    a, b, c, d = read_topics(batches, NOW_MS)
    assert [partition.leader for partition in a.partitions] == [1, None, None]
    assert a.partitions[0].problem is None
    assert "'leader'" in str(a.partitions[1].problem)
    assert "no state node" in str(a.partitions[2].problem)
    assert b.problem
    assert (c.problem, c.partitions[0].leader) == (None, None)
    assert "access denied" in str(c.partitions[0].problem)
    assert "access denied" in str(d.problem)
    assert all(topic.partitions == () for topic in (b, d))


def test_a_refused_list_is_an_error() -> None:
    """A refused list of topics is an error: an empty one would mean that there are none."""
    batches, client = world({"/brokers/topics/a": b""})
    client.refuses = lambda path: path == "/brokers/topics"
    with pytest.raises(RegistryError, match="/brokers/topics: access denied"):
        read_topics(batches, NOW_MS)


def test_many_topics_take_a_handful_of_batches() -> None:
    """The number of round trips does not grow with the number of topics."""
    nodes = {
        f"/brokers/topics/t{number}": b'{"version":1,"partitions":{"0":[1]}}'
        for number in range(300)
    }
    batches, client = world(nodes)
    assert len(read_topics(batches, NOW_MS)) == 300
    assert client.batches == {"children": 2, "get": 2}
