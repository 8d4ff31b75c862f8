"""A snapshot of a real cluster: groups of both kinds, and offsets in both storages."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.coordinator_cluster import IN_KAFKA
from tests.support.kafka_offsets import KafkaOffsets
from tests.support.members import settings_for
from tests.support.traffic import write
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer, ZookeeperConsumerConnector
from zkconsumer.model import TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.sandbox import Sandbox
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind, GroupState, GroupStatus
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC
from zkconsumer.status.reading.snapshot import SnapshotReader
from zkconsumer.zk.kazoo_store import connect

pytestmark = pytest.mark.sandbox

TIMEOUT_MS = 10_000
RECORDS = 7


@contextmanager
def reading(cluster: Sandbox) -> Iterator[SnapshotReader]:
    """Open a reader of the cluster."""
    dialer = BrokerDialer(
        TcpConnector(),
        client_id="tests",
        connect_timeout_ms=TIMEOUT_MS,
        request_timeout_ms=TIMEOUT_MS,
    )
    store = connect(
        cluster.zookeeper_connect,
        session_timeout_ms=TIMEOUT_MS,
        connection_timeout_ms=TIMEOUT_MS,
    )
    with closing(store), ExitStack() as cleaning:
        cleaning.callback(dialer.stop)
        reader = SnapshotReader(store, dialer, zookeeper_connect=cluster.zookeeper_connect)
        cleaning.callback(reader.close)
        yield reader


def until(
    reader: SnapshotReader, condition: Callable[[ClusterSnapshot], bool], what: str
) -> ClusterSnapshot:
    """Return the first snapshot with a condition."""

    def read() -> list[ClusterSnapshot]:
        snapshot = reader.read()
        return [snapshot] if condition(snapshot) else []

    return wait_until(read, what=what)[0]


def shown(group: GroupStatus) -> dict[int, tuple[bool, dict[str, int], int | None, int | None]]:
    """Return of each partition: is it owned, its committed offsets, and the ends of its log."""
    return {
        partition.topic_partition.partition: (
            partition.owner is not None,
            {committed.storage: committed.offset for committed in partition.committed},
            partition.log_start,
            partition.log_end,
        )
        for partition in group.partitions
    }


def all_read(cluster: Sandbox, topic: str, group: str) -> KafkaConsumer:
    """Return a member of a coordinator's group that has read and committed everything."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=cluster.bootstrap_servers,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    read = 0
    while read < 2 * RECORDS:
        read += sum(len(records) for records in consumer.poll(timeout_ms=500).values())
    consumer.commit()
    return consumer


@pytest.mark.parametrize("version", ["0.8.2.2", "0.9.0.1", "3.9.1"])
def test_groups_of_both_kinds(broker_of: BrokerOf, version: str) -> None:
    """Members, owners and offsets are read from ZooKeeper and from Kafka."""
    cluster = broker_of(version)
    has_coordinators = not version.startswith("0.8")
    topic = fresh_name("status")
    cluster.create_topic(topic, partitions=2)
    for number in range(2):
        write(cluster, TopicPartition(topic, number), [b"value"] * RECORDS)
    in_zookeeper, in_kafka, coordinated = (fresh_name("status") for _ in range(3))
    kept: dict[str, object] = {"consumer_timeout_ms": TIMEOUT_MS, "auto_commit_interval_ms": 50}
    with reading(cluster) as reader, ExitStack() as members:
        before = reader.read()
        assert before.failures == ()
        assert [broker.is_controller for broker in before.brokers] == [True]
        has_offsets_topic = OFFSETS_TOPIC in before.partition_ids()
        assert (OFFSETS_TOPIC in reader.read().partition_ids()) == has_offsets_topic
        places: dict[str, Mapping[str, object]] = {in_zookeeper: {}, in_kafka: IN_KAFKA}
        for name, more in places.items():
            config = settings_for(cluster, name, **{**kept, **more})
            connector = members.enter_context(ZookeeperConsumerConnector(config))
            [stream] = connector.create_message_streams({topic: 1})[topic]
            for _ in range(2 * RECORDS):
                next(stream)
        if has_coordinators:
            members.enter_context(closing(all_read(cluster, topic, coordinated)))
        KafkaOffsets(cluster, in_kafka).coordinator()
        keys = [
            GroupKey(GroupKind.ZOOKEEPER, in_zookeeper),
            GroupKey(GroupKind.ZOOKEEPER, in_kafka),
            GroupKey(GroupKind.COORDINATOR, coordinated),
        ][: 3 if has_coordinators else 2]

        def settled(snapshot: ClusterSnapshot) -> bool:
            groups = [snapshot.groups.get(key) for key in keys]
            return all(
                group is not None
                and group.state is GroupState.STABLE
                and all(partition.committed and partition.log_end for partition in group.partitions)
                for group in groups
            )

        snapshot = until(reader, settled, "all groups")
    for key, storage in ((keys[0], "zookeeper"), (keys[1], "kafka")):
        group = snapshot.groups[key]
        assert [set(entry[1]) for entry in shown(group).values()] == [{storage}] * 2
        assert {partition.owner for partition in group.partitions} == {
            f"{group.members[0].member_id}-0"
        }
        assert {partition.owner_session for partition in group.partitions} == {
            group.members[0].session_id
        }
    assert snapshot.failures == ()
    bad = [
        diagnosis
        for diagnosis in examine(snapshot, Circumstances())
        if diagnosis.severity >= Severity.WARNING
    ]
    assert [diagnosis for diagnosis in bad if diagnosis.group in keys] == []
    for key in keys[2:]:
        whole = (True, {"kafka": RECORDS}, 0, RECORDS)
        assert shown(snapshot.groups[key]) == dict.fromkeys(range(2), whole)
        [member] = snapshot.groups[key].members
        assert (member.streams, member.assignor) == ({topic: 1}, "range")


def test_a_group_id_that_old_and_new_consumers_use(broker_of: BrokerOf) -> None:
    """The doctor reports it; a snapshot of only these two groups shows who leaves."""
    cluster = broker_of("0.9.0.1")
    topic, name = fresh_name("both"), fresh_name("both")
    cluster.create_topic(topic, partitions=2)
    for number in range(2):
        write(cluster, TopicPartition(topic, number), [b"value"] * RECORDS)
    old, new = GroupKey(GroupKind.ZOOKEEPER, name), GroupKey(GroupKind.COORDINATOR, name)
    with reading(cluster) as reader, ExitStack() as members:
        connector = members.enter_context(ZookeeperConsumerConnector(settings_for(cluster, name)))
        connector.create_message_streams({topic: 1})
        consumer = members.enter_context(closing(all_read(cluster, topic, name)))

        def both_stable(snapshot: ClusterSnapshot) -> bool:
            groups = [snapshot.groups.get(key) for key in (old, new)]
            return all(group is not None and group.state is GroupState.STABLE for group in groups)

        snapshot = until(reader, both_stable, "both groups")
        found = {
            diagnosis.code
            for diagnosis in examine(snapshot, Circumstances())
            if diagnosis.group == old
        }
        assert Code.GROUP_OLD_AND_NEW in found
        read_ms = snapshot.brokers[0].seen_ms
        consumer.close()
        connector.shutdown()

        def both_left() -> list[ClusterSnapshot]:
            on_snapshot = reader.read_groups([old, new])
            members_left = on_snapshot.groups[old].members
            if new in on_snapshot.groups:
                members_left += on_snapshot.groups[new].members
            return [] if members_left else [on_snapshot]

        (on_snapshot,) = wait_until(both_left, what="both to have left")
        assert on_snapshot.groups[old].state is GroupState.EMPTY  # its offsets in Kafka keep it
        assert (on_snapshot.failures, on_snapshot.brokers[0].seen_ms) == ((), read_ms)
