"""Full snapshots: what they contain, what is kept of earlier ones, and what is never requested."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.scripted_broker import MODERN, ScriptedAction
from tests.support.scripted_cluster import END_OFFSET
from tests.support.scripted_groups import ScriptedGroup
from tests.support.status_world import B0, B1, T0, T1, StatusWorld
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    ClusterSnapshot,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
)
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC
from zkconsumer.status.reading.snapshot import SnapshotReader
from zkconsumer.status.set_back import CLOCK_SET_BACK_MS
from zkconsumer.status.silence import ABANDONED_AFTER_MS
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.versions import VersionRange

SHORT_MS = 1_000


@pytest.fixture
def world() -> Iterator[StatusWorld]:
    """A world for each test."""
    made = StatusWorld()
    yield made
    made.close()


def zookeeper_group(snapshot: ClusterSnapshot, group: str = "g") -> GroupStatus:
    """Return a group of ZooKeeper."""
    return snapshot.groups[GroupKey(GroupKind.ZOOKEEPER, group)]


def coordinator_group(snapshot: ClusterSnapshot, group: str = "g") -> GroupStatus:
    """Return a group of a coordinator."""
    return snapshot.groups[GroupKey(GroupKind.COORDINATOR, group)]


def committed(group: GroupStatus) -> dict[TopicPartition, dict[str, int]]:
    """Return a group's committed offsets by partition and storage."""
    return {
        partition.topic_partition: {entry.storage: entry.offset for entry in partition.committed}
        for partition in group.partitions
    }


def failing(snapshot: ClusterSnapshot) -> list[str]:
    """Return the parts that could not be read."""
    return [failure.part for failure in snapshot.failures]


def test_a_snapshot_of_a_whole_cluster(world: StatusWorld) -> None:
    """It has groups of both kinds, with log start and end offsets."""
    world.topic(OFFSETS_TOPIC)
    world.zookeeper_group()
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0,)}}, offsets={T1: 7})
    snapshot = world.reader().read()
    assert (snapshot.failures, snapshot.zookeeper_connect) == ((), "zk/chroot")
    assert snapshot.taken_ms == world.clock.wall_ms()
    assert [broker.broker for broker in snapshot.brokers] == [B0, B1]
    partitions = [partition for topic in snapshot.topics for partition in topic.partitions]
    assert len(partitions) == 4
    assert {
        (partition.log_start, partition.log_end, partition.problem) for partition in partitions
    } == {(0, END_OFFSET, None)}
    group = zookeeper_group(snapshot)
    assert (group.state, group.coordinator) == (GroupState.STABLE, None)
    assert committed(group) == {T0: {"zookeeper": 40}, T1: {}}
    assert {
        (partition.log_start, partition.log_end, partition.log_at_ms)
        for partition in group.partitions
    } == {(0, END_OFFSET, world.clock.wall_ms())}
    other = coordinator_group(snapshot, "c")
    assert (other.state, other.coordinator) == (GroupState.STABLE, B1)
    assert [
        (partition[0], partition.owner, partition.log_end) for partition in other.partitions
    ] == [
        (T0, "m", END_OFFSET),
        (T1, None, END_OFFSET),
    ]
    assert committed(other) == {T0: {}, T1: {"kafka": 7}}


def test_a_zookeeper_group_with_offsets_in_kafka(world: StatusWorld) -> None:
    """It is one group, although a coordinator lists it, too, since it stores its offsets."""
    world.topic(OFFSETS_TOPIC)
    world.zookeeper_group()
    gone = TopicPartition("gone", 3)
    world.groups["g"] = ScriptedGroup(1, protocol_type="", offsets={T0: 41, gone: 1})
    snapshot = world.reader().read()
    assert list(snapshot.groups) == [GroupKey(GroupKind.ZOOKEEPER, "g")]
    group = zookeeper_group(snapshot)
    assert group.coordinator == B1
    assert committed(group) == {
        gone: {"kafka": 1},
        T0: {"zookeeper": 40, "kafka": 41},
        T1: {},
    }


def test_groups_of_both_kinds_may_have_the_same_id(world: StatusWorld) -> None:
    """Both are shown, with the offsets that they share in Kafka."""
    world.topic(OFFSETS_TOPIC)
    world.zookeeper_group()
    world.groups["g"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}}, offsets={T0: 41})
    snapshot = world.reader().read()
    assert committed(zookeeper_group(snapshot))[T0] == {"zookeeper": 40, "kafka": 41}
    assert committed(coordinator_group(snapshot))[T0] == {"kafka": 41}
    assert {partition.owner for partition in coordinator_group(snapshot).partitions} == {"m"}


def test_coordinators_are_not_looked_up_without_an_offsets_topic(world: StatusWorld) -> None:
    """The lookup would make the cluster create that topic."""
    world.zookeeper_group()
    reader = world.reader()
    assert reader.read().failures == ()
    assert world.cluster.requested(ApiKey.FIND_COORDINATOR) == []
    world.topic(OFFSETS_TOPIC)
    reader.read()
    assert len(world.cluster.requested(ApiKey.FIND_COORDINATOR)) == 1
    reader.read()
    assert len(world.cluster.requested(ApiKey.FIND_COORDINATOR)) == 1


def test_a_group_without_offsets_in_kafka_is_read_less_often(world: StatusWorld) -> None:
    """It is not skipped for ever, as it may store its offsets there later."""
    world.topic(OFFSETS_TOPIC)
    world.zookeeper_group()
    reader = world.reader(quiet_ms=1_000)

    def requests_so_far() -> int:
        reader.read()
        return len(world.cluster.requested(ApiKey.OFFSET_FETCH))

    assert [requests_so_far(), requests_so_far()] == [1, 1]
    world.clock.advance(1_000)
    world.groups["g"] = ScriptedGroup(0, listed=False, offsets={T0: 41})
    assert [requests_so_far(), requests_so_far()] == [2, 3]


def test_a_group_that_has_not_committed_so_far_is_read_each_time(world: StatusWorld) -> None:
    """Its first offsets are shown at once; a group without offsets and members is skipped."""
    world.topic(OFFSETS_TOPIC)
    world.zookeeper_group()
    world.tree.delete("/consumers/g/offsets/t/0")
    world.tree.write("/consumers/left", b"")
    reader = world.reader()
    reader.read()
    world.groups["g"] = ScriptedGroup(0, listed=False, offsets={T0: 41})
    assert committed(zookeeper_group(reader.read())) == {T0: {"kafka": 41}, T1: {}}
    requested = world.cluster.requested(ApiKey.OFFSET_FETCH)
    assert len(requested) == 3


def test_offsets_of_a_group_without_known_partitions(world: StatusWorld) -> None:
    """Before 0.10.2 the request must name partitions: it names all that exist."""
    world.topic(OFFSETS_TOPIC)
    for broker in world.cluster.brokers:
        broker.serves = {**MODERN, ApiKey.OFFSET_FETCH: VersionRange(0, 1)}
    world.tree.write("/consumers/g", b"")
    world.groups["g"] = ScriptedGroup(0, listed=False, offsets={T1: 41})
    group = zookeeper_group(world.reader().read())
    assert committed(group) == {T1: {"kafka": 41}}
    assert group.state is GroupState.EMPTY


def test_a_coordinator_that_moved_is_looked_up_again(world: StatusWorld) -> None:
    """Known offsets stay meanwhile, and a failure says that they could not be read."""
    world.topic(OFFSETS_TOPIC)
    world.zookeeper_group()
    world.groups["g"] = ScriptedGroup(0, listed=False, offsets={T0: 41})
    reader = world.reader()
    reader.read()
    world.groups["g"] = ScriptedGroup(1, listed=False, offsets={T0: 42})
    moved = reader.read()
    assert failing(moved) == ["offsets of group g in Kafka"]
    assert committed(zookeeper_group(moved))[T0]["kafka"] == 41
    found = reader.read()
    assert failing(found) == []
    assert committed(zookeeper_group(found))[T0]["kafka"] == 42
    assert zookeeper_group(found).coordinator == B1


def test_what_a_broker_that_is_away_reported_is_kept(world: StatusWorld) -> None:
    """It is with its age, and failures say since when they last."""
    world.topic(OFFSETS_TOPIC)
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}}, offsets={T1: 7})
    reader = world.reader()
    reader.read()
    reported_ms = world.clock.wall_ms()
    world.cluster.brokers[1].down = True
    world.cluster.brokers[1].break_all()
    world.clock.advance(1_000)
    first_ms = world.clock.wall_ms()
    reader.read()
    world.clock.advance(1_000)
    snapshot = reader.read()
    assert failing(snapshot) == [
        "groups of broker 1",
        "log ends of broker 1",
        "offsets of group c in Kafka",
    ]
    assert {failure.since_ms for failure in snapshot.failures} == {first_ms}
    [topic] = [topic_status for topic_status in snapshot.topics if topic_status.name == "t"]
    assert [(partition.log_end, partition.offsets_at_ms) for partition in topic.partitions] == [
        (END_OFFSET, world.clock.wall_ms()),
        (END_OFFSET, reported_ms),
    ]
    assert "b1:9092" in str(topic.partitions[1].problem)
    group = coordinator_group(snapshot, "c")
    assert (group.seen_ms, committed(group)[T1]) == (reported_ms, {"kafka": 7})
    world.cluster.brokers[1].down = False
    assert reader.read().failures == ()


def test_a_broker_that_hangs_is_awaited_once(world: StatusWorld) -> None:
    """A broker that did not respond about logs gets no request for groups."""
    world.cluster.actions[1] = ScriptedAction.SILENCE
    snapshot = world.reader(brokers_ms=SHORT_MS).read()
    assert failing(snapshot) == ["groups of broker 1", "log ends of broker 1"]
    assert world.cluster.requested(ApiKey.LIST_GROUPS) == [0]


def test_what_zookeeper_reported_is_kept_while_it_is_away(world: StatusWorld) -> None:
    """Log ends are read nevertheless."""
    world.zookeeper_group()
    reader = world.reader()
    before = reader.read()
    world.tree.server.disconnect(world.tree.store.session_id)
    world.clock.advance(1_000)
    snapshot = reader.read()
    assert failing(snapshot) == ["brokers and topics in ZooKeeper", "groups in ZooKeeper"]
    assert snapshot.brokers == before.brokers
    assert zookeeper_group(snapshot).members == zookeeper_group(before).members
    assert zookeeper_group(snapshot).seen_ms == world.clock.wall_ms() - 1_000
    assert snapshot.topics[0].partitions[0].offsets_at_ms == world.clock.wall_ms()
    world.tree.server.reconnect(world.tree.store.session_id)
    assert reader.read().failures == ()


def test_the_first_snapshot_may_be_empty(world: StatusWorld) -> None:
    """Its failures say why."""
    world.tree.server.disconnect(world.tree.store.session_id)
    snapshot = world.reader().read()
    assert (snapshot.brokers, snapshot.topics, snapshot.groups) == ((), (), {})
    assert len(snapshot.failures) == 2


def test_deleted_topics_and_groups_vanish(world: StatusWorld) -> None:
    """So does what was known of them; a group's offset of a deleted topic stays."""
    world.topic(OFFSETS_TOPIC)
    world.zookeeper_group()
    world.zookeeper_group("h")
    world.groups["c"] = ScriptedGroup(1, offsets={T0: 7}, members={"m": {"t": (0,)}})
    reader = world.reader()
    assert len(reader.read().groups) == 3
    world.tree.delete("/consumers/h")
    world.tree.delete("/brokers/topics/t")
    del world.groups["c"]
    snapshot = reader.read()
    assert list(snapshot.groups) == [GroupKey(GroupKind.ZOOKEEPER, "g")]
    assert [topic.name for topic in snapshot.topics] == [OFFSETS_TOPIC]
    assert {partition.log_end for partition in zookeeper_group(snapshot).partitions} == {None}
    assert committed(zookeeper_group(snapshot))[T0] == {"zookeeper": 40}


def test_a_leader_that_is_not_registered_is_a_problem(world: StatusWorld) -> None:
    """No request is sent for its partitions."""
    world.tree.delete("/brokers/ids/1")
    snapshot = world.reader().read()
    assert snapshot.failures == ()
    zero, one = snapshot.topics[0].partitions
    assert (zero.log_end, zero.problem) == (END_OFFSET, None)
    assert (one.log_end, one.problem) == (None, "its leader, broker 1, is not registered")


def test_a_broker_without_an_address_is_a_problem(world: StatusWorld) -> None:
    """Each of its partitions says why, unless the address is known from elsewhere."""
    world.tree.write("/brokers/ids/1", b"{}")
    snapshot = world.reader().read()
    zero, one = snapshot.topics[0].partitions
    assert (zero.log_end, zero.problem, one.log_end) == (END_OFFSET, None, None)
    assert str(one.problem).startswith("its leader, broker 1, can't be reached: no usable host")
    knowing = SnapshotReader(
        world.tree.store,
        world.cluster.dialer(),
        zookeeper_connect="zk/chroot",
        addresses=lambda _: {0: B0, 1: B1},
    )
    with closing(knowing):
        [topic] = knowing.read().topics
    assert [(partition.log_end, partition.problem) for partition in topic.partitions] == [
        (END_OFFSET, None)
    ] * 2


def test_groups_of_a_coordinator_that_restarts_are_kept(world: StatusWorld) -> None:
    """They are for a while; then another coordinator has them, or they vanish."""
    for name in ("c", "d"):
        world.groups[name] = ScriptedGroup(1, members={"m": {"t": (0, 1)}})
    reader = world.reader()
    reader.read()
    world.tree.delete("/brokers/ids/1")
    away = reader.read()
    assert [group.group_id for group in away.groups.values()] == ["c", "d"]
    assert failing(away) == ["groups of broker 1"]
    world.groups["c"] = ScriptedGroup(0, members={"m": {"t": (0, 1)}})
    taken_over = reader.read()
    assert coordinator_group(taken_over, "c").coordinator == B0
    assert coordinator_group(taken_over, "d").coordinator == B1
    world.clock.advance(600_000)
    later = reader.read()
    assert [group.group_id for group in later.groups.values()] == ["c"]
    assert failing(later) == []


def test_a_group_that_is_not_described_has_no_state(world: StatusWorld) -> None:
    """Whether it is stable or dead is unknown."""
    world.groups["c"] = ScriptedGroup(1, error=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    group = coordinator_group(world.reader().read(), "c")
    assert (group.state, group.is_complete) == (GroupState.UNKNOWN, False)


def test_unassigned_partitions_of_a_member_s_topics_are_shown(world: StatusWorld) -> None:
    """They have no owner."""
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": ()}})
    group = coordinator_group(world.reader().read(), "c")
    assert [(partition[0], partition.owner) for partition in group.partitions] == [
        (T0, None),
        (T1, None),
    ]
    assert isinstance(group.partitions[0], GroupPartition)


def test_topics_are_read_less_often(world: StatusWorld) -> None:
    """They change less often than groups."""
    reader = world.reader(cluster_every_ms=1_000)
    reader.read()
    world.zookeeper_group()
    world.topic("u")
    world.clock.advance(999)
    soon = reader.read()
    assert [topic.name for topic in soon.topics] == ["t"]
    assert zookeeper_group(soon).state is GroupState.STABLE
    world.clock.advance(1)
    assert [topic.name for topic in reader.read().topics] == ["t", "u"]


def test_after_the_clock_was_set_back_values_are_current(world: StatusWorld) -> None:
    """Values of ZooKeeper, Kafka and logs have the new time."""
    world.topic(OFFSETS_TOPIC)
    world.zookeeper_group()
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}}, offsets={T1: 7})
    reader = world.reader()
    reader.read()
    world.clock.set_back(3_600_000)
    world.clock.advance(1_000)
    world.tree.commit("g", *T0, b"41")
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}}, offsets={T1: 8})
    snapshot = reader.read()
    now_ms = world.clock.wall_ms()
    assert committed(zookeeper_group(snapshot))[T0] == {"zookeeper": 41}
    assert committed(coordinator_group(snapshot, "c"))[T1] == {"kafka": 8}
    assert {group.seen_ms for group in snapshot.groups.values()} == {now_ms}
    assert {
        partition.offsets_at_ms for topic in snapshot.topics for partition in topic.partitions
    } == {now_ms}


def test_after_the_clock_was_set_back_ages_are_kept(world: StatusWorld) -> None:
    """A silent group is abandoned when it would have been, and failures keep their age."""
    world.topic(OFFSETS_TOPIC)
    world.groups["silent"] = ScriptedGroup(0, state="Empty", offsets={T0: 7})
    world.groups["away"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}})
    reader = world.reader()
    reader.read()
    world.tree.delete("/brokers/ids/1")
    world.clock.advance(ABANDONED_AFTER_MS // 4)
    reader.read()
    world.clock.set_back(3_600_000)
    for age_ms, state in ((ABANDONED_AFTER_MS // 4, "empty"), (ABANDONED_AFTER_MS, "abandoned")):
        world.clock.advance(age_ms - ABANDONED_AFTER_MS // 4)
        snapshot = reader.read()
        group = coordinator_group(snapshot, "silent")
        assert (group.state, group.offsets_unchanged_since_ms) == (
            state,
            world.clock.wall_ms() - age_ms,
        )
        away = snapshot.groups.get(GroupKey(GroupKind.COORDINATOR, "away"))
        if state == "empty":
            assert away is not None
            assert away.seen_ms == world.clock.wall_ms() - age_ms
            assert "groups of broker 1" in failing(snapshot)
            assert {failure.since_ms for failure in snapshot.failures} == {world.clock.wall_ms()}
        else:
            assert away is None


@pytest.mark.parametrize("back_ms", [1, CLOCK_SET_BACK_MS - 1])
def test_a_clock_that_is_slewed_is_not_followed_back(world: StatusWorld, back_ms: int) -> None:
    """Times of snapshots never decrease, unless the clock is really set back."""
    reader = world.reader()
    before = reader.read()
    world.clock.set_back(back_ms)
    assert reader.read().taken_ms == before.taken_ms
    world.clock.set_back(CLOCK_SET_BACK_MS - back_ms)
    now = reader.read()
    assert now.taken_ms == world.clock.wall_ms() == before.taken_ms - CLOCK_SET_BACK_MS
    assert now.monotonic_ms == before.monotonic_ms
    world.clock.set_back(-5_000)
    assert reader.read().taken_ms == world.clock.wall_ms()
