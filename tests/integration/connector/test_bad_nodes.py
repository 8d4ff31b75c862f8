"""Garbage in ZooKeeper is skipped and logged once, or named in an error.

Broken brokers and topics are put under another chroot, whose nodes point at the real broker: the
real controller would fail on them.
"""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member, settings_for
from tests.support.served_page import served
from tests.support.strangers import stranger
from tests.support.traffic import partitions_of, write
from tests.support.waiting import PROMPT_MS, wait_until
from tests.support.zk_tree import ZkTree, offset_path, owner_path
from zkconsumer import PartitionFailed, RebalanceFailed, ZookeeperConsumerConnector
from zkconsumer.clock import SystemClock
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import ThreadScope

pytestmark = pytest.mark.sandbox

FEW_TRIES = {
    "rebalance_max_retries": 3,
    "rebalance_backoff_ms": 100,
    "zookeeper_session_timeout_ms": 1000,  # the tries outlast it, whatever the two above say
}


def skipped(caplog: pytest.LogCaptureFixture) -> int:
    """Return how many unreadable nodes were logged as skipped."""
    return sum("can't be read" in message for message in caplog.messages)


class MirroredChroot(ZkTree):
    """A second chroot with the real cluster's broker and one of its topics."""

    def __init__(self, cluster: Sandbox) -> None:
        super().__init__(cluster, f"/{fresh_name('mirror')}")
        self._real = ZkTree(cluster)
        self._cluster = cluster
        self.topic = fresh_name("mirrored")
        cluster.create_topic(self.topic, partitions=2)
        self.copy_topic(self.topic)
        self.copy_broker()

    def copy_topic(self, topic: str) -> None:
        """Copy a topic's node from the real chroot."""
        node = self._real.get(f"/brokers/topics/{topic}")
        assert node is not None
        self.put(f"/brokers/topics/{topic}", node.data)

    def copy_broker(self) -> None:
        """Copy the broker's node from the real chroot."""
        node = self._real.get("/brokers/ids/0")
        assert node is not None
        self.put("/brokers/ids/0", node.data)

    def await_read(self, member: Member) -> None:
        """Write to both partitions and wait until the member got the messages."""
        for tp in partitions_of(self.topic, 2):
            write(self._cluster, tp, [b"value"])
        wait_until(lambda: len(member.deliveries) == 2, what="both partitions")


@pytest.mark.parametrize(
    ("registration", "reason"),
    [
        (b"topic", "not JSON"),  # the bare name, which pykafka writes
        (b"", "the node is empty"),
        (b'{"version":1,"subscription":{"topic":0},"pattern":"static"}', "stream count"),
        (b'{"version":1,"pattern":"static","timestamp":"1"}', "subscription"),
        (b"[1]", "JSON, but a list"),
        (b"\xff\x00", "not JSON"),
    ],
)
def test_a_member_with_a_garbage_registration_is_skipped(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture, registration: bytes, reason: str
) -> None:
    """It gets no partitions, we get all; the log names it and the reason once per member."""
    topic, group = fresh_name("shared"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    tree = ZkTree(cluster)
    tree.put(f"/consumers/{group}/ids/stranger", registration)
    with Member(cluster, group, {topic: 1}) as member:
        assert set(member.claims()) == set(partitions)
        with Member(cluster, group, {topic: 1}):
            wait_until(lambda: len(member.claims()) == 1, what="another rebalance")
        wait_until(lambda: len(member.claims()) == 2, what="yet another one")
    lines = [record.getMessage() for record in caplog.records if "stranger" in record.getMessage()]
    assert len(lines) == 2  # one from each of ours
    assert all("its registration can't be read, so it gets no partitions" in line for line in lines)
    assert all(reason in line for line in lines)


@pytest.mark.parametrize(
    ("stranger", "own"),
    [
        ({"subscription": {r"(\w+)+!": 1}, "pattern": "white_list"}, 2),
        ({"subscription": {"((.{200}){200}){200}": 1}, "pattern": "white_list"}, 2),
        ({"subscription": {"%s": 2147483647}, "pattern": "static"}, 0),
    ],
    ids=["exponential filter", "large filter", "streams without end"],
)
def test_a_hostile_registration_takes_bounded_time_and_memory(
    cluster: Sandbox, stranger: dict[str, object], own: int
) -> None:
    """The topic's name would take years of backtracking; as text its streams sort before ours."""
    topic, group = fresh_name("hostile") + "w" * 30, fresh_name("group")
    cluster.create_topic(topic, partitions=2)
    fields = {"version": 1, **stranger, "timestamp": "1"}
    text = json.dumps(fields).replace("%s", topic)
    ZkTree(cluster).put(f"/consumers/{group}/ids/{group}_", text.encode())
    with Member(cluster, group, {topic: 1}) as member:
        assert len(member.claims()) == own


def test_a_page_beside_hostile_registrations_reads_and_ends(
    cluster: Sandbox, tmp_path: Path
) -> None:
    """It stays responsive, shows other groups correctly, and ends soon after SIGTERM."""
    topic = fresh_name("hostile") + "w" * 30
    group, other = fresh_name("group"), fresh_name("other")
    cluster.create_topic(topic, partitions=2)
    tree = ZkTree(cluster)
    fields = {"version": 1, "pattern": "white_list", "timestamp": "1"}
    for number in range(5):
        for regex in (r"(\w+)+!", "((.{200}){200}){200}", "(?=.*w)" * 3_000 + ".*"):
            name = f"{group}_h-1426000000000-{number}{len(regex):07}"
            registration = {**fields, "subscription": {f"{regex}|{number}": 1}}
            tree.put(f"/consumers/{group}/ids/{name}", json.dumps(registration).encode())
    tree.put(offset_path(other, TopicPartition(topic, 0)), b"0")

    def groups() -> dict[str, Any]:
        found = page.get("/api/groups").json["groups"]
        return {
            group_found["group_id"]: group_found
            for group_found in found
            if group_found["group_id"] in {group, other}
        }

    with served(cluster.zookeeper_connect, tmp_path / "log", "--interval-ms", "500") as page:
        wait_until(lambda: len(groups()) == 2, what="both groups are read")
        began_ms = SystemClock().now_ms()
        assert page.get("/healthz").status == 200
        assert page.get(f"/groups/zookeeper/{group}").status == 200
        assert SystemClock().now_ms() - began_ms < PROMPT_MS
        assert page.end(signal.SIGTERM) == 0  # within 15 s


def test_a_numeric_timestamp_is_read_and_logged(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """That member keeps its share; the log warns that Scala members fail on the registration."""
    topic, group = fresh_name("shared"), fresh_name("group")
    cluster.create_topic(topic, partitions=2)
    registration = {
        "version": 1,
        "subscription": {topic: 1},
        "pattern": "static",
        "timestamp": 1_795_227_905_398,
    }
    path = f"/consumers/{group}/ids/zz"  # sorts after ours, so the second partition is its share
    ZkTree(cluster).put(path, json.dumps(registration).encode())
    with Member(cluster, group, {topic: 1}) as member:
        assert set(member.claims()) == {TopicPartition(topic, 0)}
        assert skipped(caplog) == 0
    assert "member zz: Scala members of this group fail on its registration" in caplog.text
    assert "1795227905398 is not a 32-bit integer" in caplog.text


@pytest.mark.parametrize(
    ("number", "registration", "reason"),
    [
        (77, b'{"version":1,"port":9092}', "no usable host and port"),
        (77, b'{"version":1,"host":"h","port":"9092"}', "no usable host and port"),
        (77, b"", "the node is empty"),
        (77, b'{"host":null,"port":-1,"endpoints":["SSL://h:9093"]}', "no PLAINTEXT listener"),
    ],
)
def test_a_broker_with_a_broken_registration_is_not_used(
    cluster: Sandbox,
    caplog: pytest.LogCaptureFixture,
    number: int,
    registration: bytes,
    reason: str,
) -> None:
    """The log names the broker and the reason; the other broker is used."""
    mirror = MirroredChroot(cluster)
    mirror.put(f"/brokers/ids/{number}", registration)
    with Member(mirror.connect, fresh_name("group"), {mirror.topic: 1}) as member:
        mirror.await_read(member)
        assert skipped(caplog) == 1
    assert f"broker {number}: its registration can't be read and is not used" in caplog.text
    assert reason in caplog.text


def test_a_broker_without_host_but_with_a_plaintext_endpoint_is_used(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """Later brokers register like this if their plaintext listener has another name."""
    mirror = MirroredChroot(cluster)
    (broker,) = cluster.brokers
    registration = {
        "version": 4,
        "host": None,
        "port": -1,
        "endpoints": [f"INSIDE://{broker.host}:{broker.port}"],
        "listener_security_protocol_map": {"INSIDE": "PLAINTEXT"},
        "timestamp": "1",
        "jmx_port": -1,
    }
    mirror.put("/brokers/ids/0", json.dumps(registration).encode())
    with Member(mirror.connect, fresh_name("group"), {mirror.topic: 1}) as member:
        mirror.await_read(member)
        assert skipped(caplog) == 0


def test_without_any_broker_a_member_waits_for_one(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """Joining succeeds, as in the original; the first broker that registers is used."""
    mirror = MirroredChroot(cluster)
    mirror.delete("/brokers/ids/0")
    with Member(mirror.connect, fresh_name("group"), {mirror.topic: 1}) as member:
        assert member.claims() == {}
        assert "no broker is registered in ZooKeeper: waiting for one" in caplog.text
        mirror.copy_broker()
        mirror.await_read(member)


@pytest.mark.parametrize(
    ("node", "skips", "reason"),
    [
        (b'{"version":1,"partitions":{}}', 0, "does not exist or has no partitions"),
        (b"not json", 1, "its node can't be read"),
        (b"", 1, "its node can't be read"),
        (b'{"version":1}', 1, "its field 'partitions' is not an object"),
        (b'{"version":1,"partitions":{"x":[0]}}', 1, "is not a number"),
    ],
)
def test_a_topic_with_a_broken_node_is_left_out(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture, node: bytes, skips: int, reason: str
) -> None:
    """The log names it and the reason; other topics are read, and this one once it is repaired."""
    mirror, broken = MirroredChroot(cluster), fresh_name("broken")
    cluster.create_topic(broken)
    tp = TopicPartition(broken, 0)
    mirror.put(f"/brokers/topics/{broken}", node)
    topics = {broken: 1, mirror.topic: 1}
    with Member(mirror.connect, fresh_name("group"), topics) as member:
        mirror.await_read(member)
        assert skipped(caplog) == skips
        assert f"topic {broken}" in caplog.text
        assert reason in caplog.text
        mirror.copy_topic(broken)
        write(cluster, tp, [b"mended"])
        wait_until(lambda: member.values(tp) == [b"mended"], what="the mended topic")


def test_a_persistent_node_in_place_of_the_registration_is_named(cluster: Sandbox) -> None:
    """It will not vanish by itself: the error says to delete it."""
    topic, group = fresh_name("occupied"), fresh_name("group")
    cluster.create_topic(topic)
    tree, path = ZkTree(cluster), f"/consumers/{group}/ids/{group}_fixed"
    tree.put(path, b"garbage")
    with pytest.raises(RebalanceFailed, match="after 3 tries") as caught:
        Member(cluster, group, {topic: 1}, consumer_id="fixed", **FEW_TRIES)
    assert f"{path} is a persistent node" in str(caught.value)
    tree.delete(path)
    with Member(cluster, group, {topic: 1}, consumer_id="fixed") as member:
        assert len(member.claims()) == 1


def test_a_registration_that_an_operator_deleted_comes_back(cluster: Sandbox) -> None:
    """It is created again at once, in the same session; owned partitions are not affected."""
    topic, group = fresh_name("deleted"), fresh_name("group")
    cluster.create_topic(topic, partitions=2)
    tree = ZkTree(cluster)
    with Member(cluster, group, {topic: 1}) as member:
        path, claims = f"/consumers/{group}/ids/{member.connector.consumer_id}", member.claims()
        assert tree.delete(path)
        node = wait_until(lambda: tree.get(path), what="the registration")
        assert node is not None
        assert node.ephemeral_owner == member.session_id
        assert member.claims() == claims


def test_an_owner_node_that_an_operator_deleted_is_claimed_again(cluster: Sandbox) -> None:
    """The next rebalance claims it again, and reading continues at the former position."""
    topic, group = fresh_name("disowned"), fresh_name("group")
    kept, lost = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    for tp in (kept, lost):
        write(cluster, tp, [b"value"] * 5)
    tree = ZkTree(cluster)
    with Member(cluster, group, {topic: 1}) as member:
        wait_until(lambda: len(member.deliveries) == 10, what="everything")
        claims = member.claims()
        assert tree.delete(owner_path(group, lost))
        with Member(cluster, group, {}):
            owner = (f"{member.connector.consumer_id}-0", member.session_id)
            wait_until(
                lambda: tree.owners(group, topic) == {0: owner, 1: owner}, what="the owner node"
            )
            write(cluster, lost, [b"one more"])
            wait_until(lambda: member.got(lost) == list(range(6)), what="what came since")
            assert member.claims()[kept] is claims[kept]
            assert member.got(kept) == list(range(5))


def test_a_partition_is_claimed_as_soon_as_its_owner_node_is_gone(cluster: Sandbox) -> None:
    """The member watches the node, and does not wait for its next try a minute later."""
    topic, group = fresh_name("freed"), fresh_name("group")
    cluster.create_topic(topic)
    (tp,) = partitions_of(topic, 1)
    tree, path, scope = ZkTree(cluster), owner_path(group, tp), ThreadScope("joining")
    tree.put(path.rpartition("/")[0])
    config = settings_for(cluster, group, rebalance_backoff_ms=60_000)
    with stranger(cluster) as other, ZookeeperConsumerConnector(config) as connector:
        assert other.create(path, b"somebody", ephemeral=True)

        def join() -> None:
            connector.create_message_streams({topic: 1})

        scope.spawn("join", join, stop=lambda: None)
        core = connector._parts.member.control._core
        wait_until(lambda: core.state.name == "BACKING_OFF", what="the first refusal")
        tree.delete(path)
        assert scope.close(10_000) == []
        assert scope.first_error() is None
        assert tree.owners(group, topic) == {
            0: (f"{connector.consumer_id}-0", connector._parts.context.store.session_id)
        }


def test_a_failed_join_may_be_tried_again(cluster: Sandbox) -> None:
    """The same connector can create its streams once the reported cause is gone."""
    topic, group = fresh_name("again"), fresh_name("group")
    cluster.create_topic(topic)
    (tp,) = partitions_of(topic, 1)
    tree, path = ZkTree(cluster), owner_path(group, tp)
    tree.put(path.rpartition("/")[0])
    config = settings_for(cluster, group, consumer_timeout_ms=10_000, **FEW_TRIES)
    with stranger(cluster) as other, ZookeeperConsumerConnector(config) as connector:
        assert other.create(path, b"somebody", ephemeral=True)
        with pytest.raises(RebalanceFailed):
            connector.create_message_streams({topic: 1})
        wait_until(lambda: tree.members(group) == [], what="it to leave the group")
        tree.delete(path)
        [stream] = connector.create_message_streams({topic: 1})[topic]
        write(cluster, tp, [b"value"])
        assert next(stream).value == b"value"
        assert tree.members(group) == [connector.consumer_id]


def test_a_garbage_owner_node_does_not_affect_owned_partitions(cluster: Sandbox) -> None:
    """The stream raises for the blocked new partition, which is read once the node is gone."""
    topic, group = fresh_name("half"), fresh_name("group")
    old, new = partitions_of(topic, 2)
    cluster.create_topic(topic)
    tree, path = ZkTree(cluster), owner_path(group, new)
    with Member(cluster, group, {topic: 1}, **FEW_TRIES) as member:
        claims = member.claims()
        tree.put(path, b"garbage")
        cluster.add_partitions(topic, 2)
        wait_until(lambda: member.errors, what="the error in the stream")
        (error,) = member.errors
        assert isinstance(error, PartitionFailed)
        assert f"delete {path}" in str(error)
        write(cluster, old, [b"value"])
        write(cluster, new, [b"value"])
        wait_until(lambda: member.got(old) == [0], what="a message of the old partition")
        assert member.claims() == claims
        tree.delete(path)
        wait_until(lambda: member.got(new) == [0], what="the new partition")
        assert len(member.errors) == 1
