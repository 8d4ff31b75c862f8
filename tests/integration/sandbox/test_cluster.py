"""Every operation of the sandbox, on three real brokers 0.8.2.2."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient

from tests.support.clusters import fresh_name
from tests.support.waiting import wait_until
from zkconsumer.errors import SandboxError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.broker_probe import BrokerKnowledge, leads, request_view
from zkconsumer.sandbox.zookeeper_client import Node, ZooKeeperClient

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def trio() -> Iterator[Sandbox]:
    """Three brokers whose deaths ZooKeeper notices after two seconds."""
    quick = {"zookeeper.session.timeout.ms": "2000"}
    with Sandbox(kafka="0.8.2.2", brokers=3, broker_properties=quick) as sandbox:
        yield sandbox


def node(sandbox: Sandbox, path: str) -> Node | None:
    """A node below the cluster's chroot."""
    address, _, chroot = sandbox.zookeeper_connect.partition("/")
    host, _, port = address.partition(":")
    with ZooKeeperClient(host, int(port)) as client:
        return client.get(f"/{chroot}{path}")


def registered(sandbox: Sandbox, broker_id: int) -> bool:
    """Whether ZooKeeper lists the broker."""
    return node(sandbox, f"/brokers/ids/{broker_id}") is not None


def knowledge(broker: Broker) -> BrokerKnowledge:
    """What a running broker knows."""
    known = request_view(broker)
    assert known is not None
    return known


def leader(sandbox: Sandbox, broker_id: int, topic: str, partition: int = 0) -> int | None:
    """Who leads the partition, as a broker sees it."""
    leaders = knowledge(sandbox.brokers[broker_id]).leaders
    return leaders.get(TopicPartition(topic, partition))


def test_all_brokers_are_registered_under_the_chroot(trio: Sandbox) -> None:
    """The registrations hold the addresses that the sandbox names."""
    assert trio.zookeeper_connect.endswith("/kafka")
    assert trio.bootstrap_servers == ",".join(f"127.0.0.1:{one.port}" for one in trio.brokers)
    for broker in trio.brokers:
        found = node(trio, f"/brokers/ids/{broker.id}")
        assert found is not None
        content = json.loads(found.data)
        assert (content["host"], content["port"]) == ("127.0.0.1", broker.port)
        assert found.ephemeral_owner != 0


def test_a_new_topic_is_led_where_promised(trio: Sandbox) -> None:
    """Partition p is led by broker p modulo 3, and every broker knows when the call returns."""
    topic = fresh_name("topic")
    trio.create_topic(topic, partitions=4, replication=2)
    for broker in trio.brokers:
        leaders = knowledge(broker).leaders
        assert [leaders[TopicPartition(topic, number)] for number in range(4)] == [0, 1, 2, 0]
    assert leads(trio.brokers[1], TopicPartition(topic, 1))
    assert not leads(trio.brokers[2], TopicPartition(topic, 1))


def test_a_topic_takes_an_assignment_and_settings(trio: Sandbox) -> None:
    """Replicas lie where they were put and the settings are in ZooKeeper."""
    topic = fresh_name("topic")
    trio.create_topic(topic, assignment={0: [2, 0], 1: [2]}, config={"retention.ms": "1000"})
    assert leader(trio, 0, topic, 0) == 2
    assert leader(trio, 0, topic, 1) == 2
    found = node(trio, f"/config/topics/{topic}")
    assert found is not None
    assert json.loads(found.data) == {"version": 1, "config": {"retention.ms": "1000"}}


def test_the_original_agrees_on_the_topics(trio: Sandbox) -> None:
    """``TopicCommand`` describes a topic of the sandbox as one of its own."""
    topic = fresh_name("topic")
    trio.create_topic(topic, partitions=2, replication=3)
    reported = trio.run_scala_tool(
        "kafka.admin.TopicCommand",
        *("--zookeeper", trio.zookeeper_connect, "--describe", "--topic", topic),
    )
    assert reported.status == 0
    assert "PartitionCount:2\tReplicationFactor:3" in reported.lines[0]
    assert "Partition: 1\tLeader: 1\tReplicas: 1,2,0" in reported.lines[2]


def test_a_topic_grows(trio: Sandbox) -> None:
    """From two to eight partitions, replicated as the first ones; it never shrinks."""
    topic = fresh_name("topic")
    trio.create_topic(topic, partitions=2, replication=2)
    trio.add_partitions(topic, 8)
    leaders = knowledge(trio.brokers[0]).leaders
    assert [leaders[TopicPartition(topic, number)] for number in range(8)] == [
        number % 3 for number in range(8)
    ]
    with pytest.raises(SandboxError, match="has 8 partitions: it can only grow"):
        trio.add_partitions(topic, 8)


def test_a_deleted_topic_is_gone_and_can_come_again(trio: Sandbox) -> None:
    """ZooKeeper and all brokers have forgotten it when the call returns."""
    topic = fresh_name("topic")
    trio.create_topic(topic, partitions=3, replication=3)
    trio.delete_topic(topic)
    assert node(trio, f"/brokers/topics/{topic}") is None
    assert all(topic not in knowledge(broker).topics for broker in trio.brokers)
    trio.create_topic(topic, partitions=1)
    assert leader(trio, 2, topic) == 0


@pytest.mark.parametrize(
    ("name", "partitions", "replication", "reason"),
    [
        ("no/slash", 1, 1, "'no/slash' is no topic name"),
        ("..", 1, 1, "is no topic name"),
        ("fine", 0, 1, "at least one partition"),
        ("fine", 1, 4, "replication=4: 3 brokers are running: every replica needs"),
        ("fine", 1, 0, "replication=0"),
    ],
)
def test_a_topic_that_makes_no_sense_is_refused(
    trio: Sandbox, name: str, partitions: int, replication: int, reason: str
) -> None:
    """Before anything is written."""
    with pytest.raises(SandboxError, match=reason):
        trio.create_topic(name, partitions, replication)


def test_topics_that_exist_or_do_not_are_reported(trio: Sandbox) -> None:
    """Creating twice, growing and deleting nothing: the message names the topic."""
    topic = fresh_name("topic")
    trio.create_topic(topic)
    with pytest.raises(SandboxError, match=f"topic {topic} exists already: delete it first"):
        trio.create_topic(topic)
    absent = fresh_name("topic")
    with pytest.raises(SandboxError, match=f"there is no topic {absent}"):
        trio.add_partitions(absent, 2)
    with pytest.raises(SandboxError, match=f"there is no topic {absent}"):
        trio.delete_topic(absent)


def test_a_killed_broker_loses_its_leadership_and_comes_back(trio: Sandbox) -> None:
    """Its registration lasts until its session ends; restarted, it keeps port and partitions."""
    replicated, alone = fresh_name("topic"), fresh_name("topic")
    trio.create_topic(replicated, assignment={0: [1, 2]})
    trio.create_topic(alone, assignment={0: [1]})
    before = trio.brokers
    trio.kill_broker(1)
    assert registered(trio, 1)
    wait_until(lambda: leader(trio, 0, replicated) == 2, what="the other replica to lead")
    trio.start_broker(1)
    assert trio.brokers == before
    wait_until(lambda: leads(trio.brokers[1], TopicPartition(alone, 0)), what="broker 1 to lead")


def test_a_killed_broker_may_come_back_at_once(trio: Sandbox) -> None:
    """It need not wait for its old session to end."""
    trio.kill_broker(0)
    trio.start_broker(0)
    assert registered(trio, 0)


def test_topics_are_made_on_the_brokers_that_run(trio: Sandbox) -> None:
    """A stopped broker gets no replicas."""
    trio.stop_broker(0)
    topic = fresh_name("topic")
    trio.create_topic(topic, partitions=2)
    assert [leader(trio, 2, topic, number) for number in range(2)] == [1, 2]
    trio.start_broker(0)
    assert leader(trio, 0, topic, 0) == 1


def test_a_stopped_broker_hands_over_and_signs_off(trio: Sandbox) -> None:
    """Nobody has to wait for a session to end."""
    topic = fresh_name("topic")
    trio.create_topic(topic, assignment={0: [2, 1]})
    trio.stop_broker(2)
    assert not registered(trio, 2)
    assert leader(trio, 0, topic) == 1
    trio.start_broker(2)
    assert registered(trio, 2)


def test_a_paused_broker_keeps_still_until_resumed(trio: Sandbox) -> None:
    """Its port accepts connections, but no answer comes."""
    broker = trio.brokers[1]
    trio.pause_broker(1)
    assert request_view(broker, timeout_ms=300) is None
    trio.resume_broker(1)
    assert request_view(broker) is not None


def test_a_broker_that_does_not_run_cannot_be_ended(trio: Sandbox) -> None:
    """And one that runs can't be started; an unknown one is named with the known ones."""
    with pytest.raises(SandboxError, match="broker 0 runs already"):
        trio.start_broker(0)
    trio.kill_broker(0)
    for operation in (trio.kill_broker, trio.stop_broker, trio.pause_broker, trio.resume_broker):
        with pytest.raises(SandboxError, match="broker 0 does not run"):
            operation(0)
    trio.start_broker(0)
    with pytest.raises(SandboxError, match="no broker 7, only: 0, 1, 2"):
        trio.kill_broker(7)


@pytest.mark.parametrize("end", ["kill_zookeeper", "stop_zookeeper"])
def test_a_restarted_zookeeper_keeps_nodes_and_sessions(trio: Sandbox, end: str) -> None:
    """The brokers stay registered with their sessions, and topics can be made again."""
    topic = fresh_name("topic")
    trio.create_topic(topic)
    before = node(trio, "/brokers/ids/1")
    getattr(trio, end)()
    trio.start_zookeeper()
    assert node(trio, f"/brokers/topics/{topic}") is not None
    assert node(trio, "/brokers/ids/1") == before
    trio.create_topic(fresh_name("topic"))


def test_a_paused_zookeeper_keeps_still_until_resumed(trio: Sandbox) -> None:
    """Nothing answers meanwhile; nothing is lost."""
    port = int(trio.zookeeper_connect.partition("/")[0].rpartition(":")[2])
    trio.pause_zookeeper()
    try:
        with pytest.raises(SandboxError, match="did not answer"):
            ZooKeeperClient("127.0.0.1", port, timeout_ms=300)
    finally:
        trio.resume_zookeeper()
    assert registered(trio, 0)


def test_a_session_can_be_made_to_expire(trio: Sandbox) -> None:
    """Its ephemeral nodes are gone at once, and its owner hears that it was lost."""
    states: list[str] = []
    new_client: Any = KazooClient  # kazoo has no types
    client = new_client(trio.zookeeper_connect, timeout=30)
    client.add_listener(states.append)
    client.start()
    try:
        client.create("/ephemeral", ephemeral=True)
        session_id, password = client.client_id
        trio.expire_session(session_id, password)
        assert node(trio, "/ephemeral") is None
        wait_until(lambda: "LOST" in states, what="the loss of the session")
        with pytest.raises(SandboxError, match=f"session 0x{session_id:x} has expired"):
            trio.expire_session(session_id, password)
    finally:
        client.stop()
        client.close()


def test_a_sandbox_that_was_closed_says_so() -> None:
    """Instead of answering with what is no more."""
    sandbox = Sandbox(brokers=0)
    with pytest.raises(SandboxError, match="the sandbox does not run"):
        _ = sandbox.zookeeper_connect
    sandbox.close()
