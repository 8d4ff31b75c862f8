"""Snapshots of a cluster that is read through its brokers only."""

from collections.abc import Iterator

import pytest

from tests.support.scripted_broker import Answer, ScriptedAction
from tests.support.scripted_groups import ScriptedGroup
from tests.support.status_world import LONG_MS, T0, T1, StatusWorld
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import GroupKey, GroupKind, GroupState
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC
from zkconsumer.status.reading.deadline import ReadingLimits
from zkconsumer.status.reading.kept import CLUSTER_PART_ALONE
from zkconsumer.status.reading.snapshot import SnapshotReader
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.versions import BrokerGeneration

GROUP = GroupKey(GroupKind.COORDINATOR, "app")


@pytest.fixture
def world() -> Iterator[StatusWorld]:
    """A cluster with a group at broker 1, and one in a ZooKeeper that is not configured."""
    world = StatusWorld()
    world.zookeeper_group()
    world.cluster.leaders[TopicPartition(OFFSETS_TOPIC, 0)] = 0
    world.groups["app"] = ScriptedGroup(
        coordinator=1, members={"m": {"t": (0, 1)}}, offsets={T0: 60, T1: 100}
    )
    yield world
    world.close()


@pytest.fixture
def reader(world: StatusWorld) -> Iterator[SnapshotReader]:
    """A reader without a ZooKeeper."""
    made = SnapshotReader(
        None,
        world.cluster.dialer(timeout_ms=500),
        bootstrap=world.cluster.bootstrap,
        limits=ReadingLimits(cluster_ms=1_000, cluster_every_ms=0),
        clock=world.clock,
    )
    yield made
    made.close(LONG_MS)


def test_a_reader_needs_a_zookeeper_or_a_broker(world: StatusWorld) -> None:
    """Without both it is refused."""
    with pytest.raises(ConfigError, match="neither a ZooKeeper nor a broker"):
        SnapshotReader(None, world.cluster.dialer())


def test_groups_logs_and_leaders_are_those_that_brokers_know(reader: SnapshotReader) -> None:
    """Values of ZooKeeper are None, and none of them counts as a failure."""
    snapshot = reader.read()
    assert snapshot.failures == ()
    assert (snapshot.zookeeper_connect, snapshot.address) == (None, "b0:9092,b1:9092")
    assert (snapshot.live_sessions, snapshot.clock_skew_ms) == (None, None)
    assert [broker.broker.id for broker in snapshot.brokers] == [0, 1]
    assert set(snapshot.groups) == {GROUP}
    group = snapshot.groups[GROUP]
    assert group.state is GroupState.STABLE
    first, second = group.partitions
    assert (
        first.owner,
        first.log_end,
        [committed_offset.offset for committed_offset in first.committed],
    ) == ("m", 100, [60])
    assert second.topic_partition == T1


def test_a_partial_read_leaves_zookeeper_groups_out(
    world: StatusWorld, reader: SnapshotReader
) -> None:
    """A coordinator's group is read again, while there is no ZooKeeper to read others from."""
    reader.read()
    world.groups["app"].offsets = {T0: 61, T1: 100}
    snapshot = reader.read_groups([GROUP, GroupKey(GroupKind.ZOOKEEPER, "g")])
    assert set(snapshot.groups) == {GROUP}
    assert snapshot.groups[GROUP].partitions[0].committed[0].offset == 61
    assert snapshot.failures == ()
    assert snapshot.zookeeper == "none"


def test_a_partial_read_includes_log_ends_of_unowned_partitions(
    world: StatusWorld, reader: SnapshotReader
) -> None:
    """Only the group's committed offsets tell which partitions these are."""
    world.groups["app"] = ScriptedGroup(coordinator=1, state="Empty", offsets={T0: 60})
    before = reader.read().groups[GROUP].partitions[0].log_at_ms
    world.clock.advance(5)
    [found] = reader.read_groups([GROUP]).groups[GROUP].partitions
    assert before is not None
    assert found.log_at_ms is not None
    assert found.log_at_ms > before


@pytest.mark.parametrize(
    ("generation", "state", "zookeeper"),
    [
        (None, GroupState.EMPTY, "none"),
        (BrokerGeneration.V0_9, GroupState.UNKNOWN, "unknown"),
    ],
)
def test_a_group_with_offsets_only_may_have_members_in_zookeeper(
    world: StatusWorld,
    reader: SnapshotReader,
    generation: BrokerGeneration | None,
    state: GroupState,
    zookeeper: str,
) -> None:
    """Its state is unknown on brokers that may have a ZooKeeper which is not configured."""
    world.groups["app"] = ScriptedGroup(
        coordinator=1, protocol_type="", state="Empty", offsets={T0: 60}
    )
    for broker in world.cluster.brokers:
        broker.become(generation)
    snapshot = reader.read()
    assert snapshot.zookeeper == zookeeper
    assert snapshot.groups[GROUP].state is state
    assert reader.read_groups([GROUP]).groups[GROUP].state is state


def test_brokers_that_can_not_list_groups_are_failures(
    world: StatusWorld, reader: SnapshotReader
) -> None:
    """Their groups are in ZooKeeper, which is not configured: an empty list would be wrong."""

    def without(response: Answer) -> Answer:
        return lambda frame: (
            ScriptedAction.CLOSE if frame.api_key is ApiKey.LIST_GROUPS else response(frame)
        )

    for broker in world.cluster.brokers:
        broker.become(BrokerGeneration.V0_8_2)
        broker.response = without(broker.response)
    snapshot = reader.read()
    assert {failure.part for failure in snapshot.failures} == {
        "groups of broker 0",
        "groups of broker 1",
    }
    assert all("give --zookeeper" in failure.reason for failure in snapshot.failures)
    assert snapshot.topics


def test_brokers_that_are_away_are_named(world: StatusWorld, reader: SnapshotReader) -> None:
    """What was known of the cluster stays, with its age."""
    reader.read()
    for broker in world.cluster.brokers:
        broker.down = True
    snapshot = reader.read()
    assert [broker_status.broker.id for broker_status in snapshot.brokers] == [0, 1]
    [failure] = [
        part_failure
        for part_failure in snapshot.failures
        if part_failure.part == CLUSTER_PART_ALONE
    ]
    assert "b0:9092" in failure.reason
    assert GROUP in snapshot.groups


def test_brokers_that_hang_cost_their_time_limit_only(
    world: StatusWorld, reader: SnapshotReader
) -> None:
    """The read ends, and its failure names the brokers."""
    world.cluster.actions.update(dict.fromkeys(range(2), ScriptedAction.SILENCE))
    snapshot = reader.read()
    [failure] = snapshot.failures
    assert failure.part == CLUSTER_PART_ALONE
    assert "broker" in failure.reason
