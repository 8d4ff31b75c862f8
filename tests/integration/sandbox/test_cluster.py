"""Every operation of the sandbox, on three real brokers 0.8.2.2."""

import json
from typing import Any

import pytest
from kazoo.client import KazooClient

from tests.support.clusters import fresh_name, frozen, without
from tests.support.waiting import wait_until
from zkconsumer.errors import SandboxError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.broker_probe import BrokerKnowledge, leads, request_view
from zkconsumer.sandbox.zookeeper_client import Node, ZooKeeperClient

pytestmark = pytest.mark.sandbox


def node(sandbox: Sandbox, path: str) -> Node | None:
    """Return a node below the cluster's chroot."""
    address, _, chroot = sandbox.zookeeper_connect.partition("/")
    host, _, port = address.partition(":")
    with ZooKeeperClient(host, int(port)) as client:
        return client.get(f"/{chroot}{path}")


def registered(sandbox: Sandbox, broker_id: int) -> bool:
    """Return whether the broker is registered in ZooKeeper."""
    return node(sandbox, f"/brokers/ids/{broker_id}") is not None


def metadata_of(broker: Broker) -> BrokerKnowledge:
    """Return the metadata that a running broker has."""
    known = request_view(broker)
    assert known is not None
    return known


def leader(sandbox: Sandbox, broker_id: int, topic: str, partition: int = 0) -> int | None:
    """Return the partition's leader, as one broker knows it."""
    leaders = metadata_of(sandbox.brokers[broker_id]).leaders
    return leaders.get(TopicPartition(topic, partition))


def test_all_brokers_are_registered_under_the_chroot(cluster3: Sandbox) -> None:
    """The registrations have the addresses that the sandbox reports."""
    assert cluster3.zookeeper_connect.endswith("/kafka")
    assert cluster3.bootstrap_servers == ",".join(
        f"127.0.0.1:{broker.port}" for broker in cluster3.brokers
    )
    for broker in cluster3.brokers:
        found = node(cluster3, f"/brokers/ids/{broker.id}")
        assert found is not None
        content = json.loads(found.data)
        assert (content["host"], content["port"]) == ("127.0.0.1", broker.port)
        assert found.ephemeral_owner != 0


def test_a_new_topic_is_led_where_promised(cluster3: Sandbox) -> None:
    """Broker p modulo 3 leads partition p, and every broker knows that when the call returns."""
    topic = fresh_name("topic")
    cluster3.create_topic(topic, partitions=4, replication=2)
    for broker in cluster3.brokers:
        leaders = metadata_of(broker).leaders
        assert [leaders[TopicPartition(topic, number)] for number in range(4)] == [0, 1, 2, 0]
    assert leads(cluster3.brokers[1], TopicPartition(topic, 1))
    assert not leads(cluster3.brokers[2], TopicPartition(topic, 1))


def test_a_topic_is_created_with_an_assignment_and_settings(cluster3: Sandbox) -> None:
    """Replicas are where they were assigned, and the settings are in ZooKeeper."""
    topic = fresh_name("topic")
    cluster3.create_topic(topic, assignment={0: [2, 0], 1: [2]}, config={"retention.ms": "1000"})
    assert leader(cluster3, 0, topic, 0) == 2
    assert leader(cluster3, 0, topic, 1) == 2
    found = node(cluster3, f"/config/topics/{topic}")
    assert found is not None
    assert json.loads(found.data) == {"version": 1, "config": {"retention.ms": "1000"}}


def test_the_original_agrees_on_the_topics(cluster3: Sandbox) -> None:
    """``TopicCommand`` describes the sandbox's topic like one of its own."""
    topic = fresh_name("topic")
    cluster3.create_topic(topic, partitions=2, replication=3)
    reported = cluster3.run_scala_tool(
        "kafka.admin.TopicCommand",
        *("--zookeeper", cluster3.zookeeper_connect, "--describe", "--topic", topic),
    )
    assert reported.status == 0
    assert "PartitionCount:2\tReplicationFactor:3" in reported.lines[0]
    assert "Partition: 1\tLeader: 1\tReplicas: 1,2,0" in reported.lines[2]


def test_a_topic_grows(cluster3: Sandbox) -> None:
    """New partitions are replicated like the first ones; a topic never shrinks."""
    topic = fresh_name("topic")
    cluster3.create_topic(topic, partitions=2, replication=2)
    cluster3.add_partitions(topic, 8)
    leaders = metadata_of(cluster3.brokers[0]).leaders
    assert [leaders[TopicPartition(topic, number)] for number in range(8)] == [
        number % 3 for number in range(8)
    ]
    with pytest.raises(SandboxError, match="has 8 partitions: it can only grow"):
        cluster3.add_partitions(topic, 8)


def test_a_deleted_topic_is_gone_and_can_be_created_again(cluster3: Sandbox) -> None:
    """ZooKeeper and all brokers have deleted it when the call returns."""
    topic = fresh_name("topic")
    cluster3.create_topic(topic, partitions=3, replication=3)
    cluster3.delete_topic(topic)
    assert node(cluster3, f"/brokers/topics/{topic}") is None
    assert all(topic not in metadata_of(broker).topics for broker in cluster3.brokers)
    cluster3.create_topic(topic, partitions=1)
    assert leader(cluster3, 2, topic) == 0


@pytest.mark.parametrize(
    ("name", "partitions", "replication", "reason"),
    [
        ("no/slash", 1, 1, "'no/slash' is not a topic name"),
        ("..", 1, 1, "is not a topic name"),
        ("fine", 0, 1, "at least one partition"),
        ("fine", 1, 4, "replication=4: 3 brokers are running: every replica needs"),
        ("fine", 1, 0, "replication=0"),
    ],
)
def test_an_invalid_topic_is_refused(
    cluster3: Sandbox, name: str, partitions: int, replication: int, reason: str
) -> None:
    """It is refused before anything is written."""
    with pytest.raises(SandboxError, match=reason):
        cluster3.create_topic(name, partitions, replication)


def test_topics_that_exist_or_do_not_are_reported(cluster3: Sandbox) -> None:
    """Creating a topic twice, and growing or deleting a missing one, are errors with its name."""
    topic = fresh_name("topic")
    cluster3.create_topic(topic)
    with pytest.raises(SandboxError, match=f"topic {topic} exists already: delete it first"):
        cluster3.create_topic(topic)
    absent = fresh_name("topic")
    with pytest.raises(SandboxError, match=f"there is no topic {absent}"):
        cluster3.add_partitions(absent, 2)
    with pytest.raises(SandboxError, match=f"there is no topic {absent}"):
        cluster3.delete_topic(absent)


def test_a_killed_broker_loses_its_leadership_and_comes_back(cluster3: Sandbox) -> None:
    """Its registration lasts until its session ends; restarted, it keeps port and partitions."""
    replicated, alone = fresh_name("topic"), fresh_name("topic")
    cluster3.create_topic(replicated, assignment={0: [1, 2]})
    cluster3.create_topic(alone, assignment={0: [1]})
    before = cluster3.brokers
    with without(cluster3, 1):
        assert registered(cluster3, 1)
        wait_until(lambda: leader(cluster3, 0, replicated) == 2, what="the other replica to lead")
    assert cluster3.brokers == before
    wait_until(
        lambda: leads(cluster3.brokers[1], TopicPartition(alone, 0)), what="broker 1 to lead"
    )


def test_a_killed_broker_may_come_back_at_once(cluster3: Sandbox) -> None:
    """It need not wait for its old session to end."""
    with without(cluster3, 0):
        pass
    assert registered(cluster3, 0)


def test_topics_are_created_on_running_brokers(cluster3: Sandbox) -> None:
    """A stopped broker gets no replicas."""
    topic = fresh_name("topic")
    with without(cluster3, 0, end=Sandbox.stop_broker):
        cluster3.create_topic(topic, partitions=2)
        assert [leader(cluster3, 2, topic, number) for number in range(2)] == [1, 2]
    assert leader(cluster3, 0, topic, 0) == 1


def test_a_stopped_broker_moves_its_leadership_and_unregisters(cluster3: Sandbox) -> None:
    """Nobody has to wait for a session to end."""
    topic = fresh_name("topic")
    cluster3.create_topic(topic, assignment={0: [2, 1]})
    with without(cluster3, 2, end=Sandbox.stop_broker):
        assert not registered(cluster3, 2)
        # The controller informs the other brokers a moment later.
        wait_until(lambda: leader(cluster3, 0, topic) == 1, what="the other replica to lead")
    assert registered(cluster3, 2)


def test_a_paused_broker_does_not_respond_until_resumed(cluster3: Sandbox) -> None:
    """Its port accepts connections meanwhile."""
    broker = cluster3.brokers[1]
    with frozen(cluster3, 1):
        assert request_view(broker, timeout_ms=300) is None
    assert request_view(broker) is not None


def test_a_broker_that_does_not_run_cannot_be_stopped(cluster3: Sandbox) -> None:
    """A running one can't be started; the error about an unknown one lists the known ones."""
    with pytest.raises(SandboxError, match="broker 0 runs already"):
        cluster3.start_broker(0)
    with without(cluster3, 0):
        for operation in (
            cluster3.kill_broker,
            cluster3.stop_broker,
            cluster3.pause_broker,
            cluster3.resume_broker,
        ):
            with pytest.raises(SandboxError, match="broker 0 does not run"):
                operation(0)
    with pytest.raises(SandboxError, match="no broker 7, only: 0, 1, 2"):
        cluster3.kill_broker(7)


@pytest.mark.parametrize("end", ["kill_zookeeper", "stop_zookeeper"])
def test_a_restarted_zookeeper_keeps_nodes_and_sessions(cluster3: Sandbox, end: str) -> None:
    """The brokers stay registered with their sessions, and topics can be created again."""
    topic = fresh_name("topic")
    cluster3.create_topic(topic)
    before = node(cluster3, "/brokers/ids/1")
    getattr(cluster3, end)()
    cluster3.start_zookeeper()
    assert node(cluster3, f"/brokers/topics/{topic}") is not None
    assert node(cluster3, "/brokers/ids/1") == before
    cluster3.create_topic(fresh_name("topic"))


def test_a_paused_zookeeper_does_not_respond_until_resumed(cluster3: Sandbox) -> None:
    """Nothing is lost meanwhile."""
    port = int(cluster3.zookeeper_connect.partition("/")[0].rpartition(":")[2])
    cluster3.pause_zookeeper()
    try:
        with pytest.raises(SandboxError, match="did not respond"):
            ZooKeeperClient("127.0.0.1", port, timeout_ms=300)
    finally:
        cluster3.resume_zookeeper()
    assert registered(cluster3, 0)


def test_a_session_can_be_made_to_expire(cluster3: Sandbox) -> None:
    """Its ephemeral nodes are deleted at once, and its client is notified of the loss."""
    states: list[str] = []
    new_client: Any = KazooClient  # kazoo has no types
    client = new_client(cluster3.zookeeper_connect, timeout=30)
    client.add_listener(states.append)
    client.start()
    try:
        client.create("/ephemeral", ephemeral=True)
        session_id, password = client.client_id
        cluster3.expire_session(session_id, password)
        assert node(cluster3, "/ephemeral") is None
        wait_until(lambda: "LOST" in states, what="the loss of the session")
        with pytest.raises(SandboxError, match=f"session 0x{session_id:x} has expired"):
            cluster3.expire_session(session_id, password)
    finally:
        client.stop()
        client.close()


def test_a_sandbox_that_does_not_run_is_an_error() -> None:
    """It reports no address that would be wrong."""
    sandbox = Sandbox(brokers=0)
    with pytest.raises(SandboxError, match="the sandbox does not run"):
        _ = sandbox.zookeeper_connect
    sandbox.close()
