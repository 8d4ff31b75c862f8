"""A cluster with nearly every finding of the doctor at once, and very long names."""

from dataclasses import replace

from tests.support.diagnosed_cluster import LONG_AGO_MS, NOW_MS, DiagnosedCluster
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.doctor.diagnosis import Code
from zkconsumer.status.model import (
    BrokerStatus,
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
    MemberStatus,
    PartFailure,
    Seen,
    TopicStatus,
)
from zkconsumer.web.judgements import Judgements, Memory
from zkconsumer.web.state import ClusterState
from zkconsumer.zk.paths import GroupPaths

TOPIC = "warehouse_replenishment_forecast_corrections_of_all_regions_v2"
HOST = "ip_10_21_104_17_eu_central_1_compute_warehouse_internal_example_com"
ELSEWHERE = {
    Code.ZOOKEEPER_UNKNOWN: "only where a cluster is read through its brokers alone",
    Code.NO_BROKERS: "brokers are there",
    Code.NO_CONTROLLER: "a broker is the controller, or else a part that can't be read hides that",
    Code.COMMITS_PAUSED: "two looks that lie minutes apart",
    Code.READING_STALLED: "two looks that lie minutes apart",
    Code.REBALANCE_ENDLESS: "two looks that lie half a minute apart",
    Code.OFFSETS_DIFFER: "groups that commit to both, where one was left behind: a note",
}
"""The findings that this world can't have, and why (upgrade steps belong to another command)."""


def group_name(trouble: str) -> str:
    """Return a group name that contains the trouble, and is too long for a phone's screen."""
    return f"{trouble}_forecasting_service_of_the_central_warehouse_and_its_subsidiaries"


def snapshot_with_problems() -> ClusterSnapshot:
    """Return the cluster, in which nearly everything is wrong."""
    world = DiagnosedCluster(**{TOPIC: 2, "orders": 2, "empty": 0})
    world.live = frozenset({1, 2})
    first, second = (TopicPartition(TOPIC, number) for number in range(2))
    one_stream = {TOPIC: 1}
    _members(world)
    _owners(world)
    world.register_in(
        group_name("unequal"), group_name("unequal") + "_a", 1, **one_stream, orders=1
    )
    world.register_in(group_name("unequal"), group_name("unequal") + "_b", 2, **one_stream)
    world.register_in(group_name("spare"), group_name("spare") + "_a", 1, **{TOPIC: 3})
    world.assign(group_id=group_name("spare"))
    world.register_in(group_name("astray"), group_name("astray") + "_a", 1, **{TOPIC: 1, "gone": 1})
    world.assign(group_id=group_name("astray"))
    world.commit(first, 900, group_name("beyond"))
    world.logs[second] = (50, 100)
    world.commit(second, 3, group_name("below"))
    world.commit(TopicPartition("dropped", 0), 3, group_name("late"))
    world.create_node(GroupPaths(group_name("numberless")).offset(first), b"twelve")
    for trouble in ("split", "stopped", "abandoned"):
        world.commit(first, 50, group_name(trouble))
    _shares(world)
    snapshot = world.snapshot(*_coordinated())
    split, stopped, abandoned = (
        snapshot.groups[GroupKey(GroupKind.ZOOKEEPER, group_name(trouble))]
        for trouble in ("split", "stopped", "abandoned")
    )
    return replace(
        snapshot,
        brokers=(*snapshot.brokers, _unusable_broker()),
        topics=(*(_degraded(topic) for topic in snapshot.topics), _unreadable_topic()),
        groups={
            **snapshot.groups,
            split.key: _split(split, second),
            stopped.key: replace(stopped, last_commit_ms=LONG_AGO_MS),
            abandoned.key: replace(abandoned, state=GroupState.ABANDONED),
        },
        failures=(PartFailure(part=f"log ends of {HOST}", reason="refused", since_ms=LONG_AGO_MS),),
        clock_skew_ms=Seen(95_000, NOW_MS),
    )


def state_with_problems() -> ClusterState:
    """Return the state that the page publishes of it."""
    snapshot, memory = snapshot_with_problems(), Memory()
    memory.record(snapshot)
    return ClusterState(
        number=1,
        snapshot=snapshot,
        started_ms=LONG_AGO_MS,
        read_duration_ms=84,
        interval_ms=5_000,
        problem=None,
        judgements=Judgements(snapshot, None, memory),
    )


def _members(world: DiagnosedCluster) -> None:
    one_stream = {TOPIC: 1}
    world.register_in(
        group_name("stale"), f"{group_name('stale')}_{HOST}-1399996300000-0a", 9, **one_stream
    )
    for trouble, data in (
        ("unreadable", b"{"),
        (
            "hidden",
            b'{"version":1,"subscription":{"orders":1},"pattern":"static","timestamp":1399996400000}',
        ),
        (
            "unknown",
            b'{"version":1,"subscription":{"(a)\\\\1":1},"pattern":"white_list","timestamp":"1"}',
        ),
    ):
        world.create_node(GroupPaths(group_name(trouble)).member(f"{trouble}_{HOST}"), data, 1)
    world.create_node(GroupPaths(group_name("foreign")).member(f"{HOST}:4a"), TOPIC.encode(), 1)
    ahead = f"{group_name('ahead')}-{NOW_MS + 7_200_000}-0a"
    world.register_in(group_name("ahead"), ahead, 1, **one_stream)
    world.assign(group_id=group_name("ahead"))


def _shares(world: DiagnosedCluster) -> None:
    """Let two members own partitions that no strategy would assign to them."""
    name = group_name("mixed")
    for number in (1, 2):
        world.register_in(name, f"{name}_{number}", number, **{TOPIC: 1, "orders": 1})
    for topic, owners in ((TOPIC, (2, 1)), ("orders", (1, 2))):
        for partition, number in enumerate(owners):
            world.own(TopicPartition(topic, partition), f"{name}_{number}-0", number, name)


def _owners(world: DiagnosedCluster) -> None:
    first, second = (TopicPartition(TOPIC, number) for number in range(2))
    for trouble, session in (("persistent", 0), ("dead", 9), ("other", 2)):
        name = group_name(trouble)
        world.register_in(name, f"{name}_a", 1, **{TOPIC: 1})
        world.own(first, f"{name}_a-0", session, name)
        world.own(second, f"{name}_a-0", 1, name)
    for trouble, owner in (("nobody", "_left-0"), ("threadless", "_a-7")):
        name = group_name(trouble)
        world.register_in(name, f"{name}_a", 1, **{TOPIC: 1})
        world.own(first, f"{name}{owner}", 1, name)
        world.own(second, f"{name}_a-0", 1, name)
    name = group_name("unsubscribed")
    world.register_in(name, f"{name}_a", 1, orders=1)
    world.assign(group_id=name)
    world.own(first, f"{name}_a-0", 1, name)


def _coordinated() -> list[GroupStatus]:
    member = MemberStatus(member_id=f"consumer-{HOST}-1", streams={TOPIC: 1})
    broker = Broker(0, "h", 9092)
    return [
        GroupStatus(
            group_id=group_name("lost"),
            kind=GroupKind.COORDINATOR,
            seen_ms=NOW_MS,
            reported_state="Dead",
        ),
        GroupStatus(
            group_id=group_name("spare"),
            kind=GroupKind.COORDINATOR,
            seen_ms=NOW_MS,
            state=GroupState.STABLE,
            members=(member,),
            coordinator=broker,
        ),
        GroupStatus(
            group_id=group_name("partly"),
            kind=GroupKind.COORDINATOR,
            seen_ms=NOW_MS,
            state=GroupState.STABLE,
            coordinator=broker,
            problems=(f"{HOST} did not say what it assigned",),
        ),
    ]


def _split(group: GroupStatus, other: TopicPartition) -> GroupStatus:
    """Add the offset of one more partition to a group, in Kafka."""
    in_kafka = GroupPartition(other, committed=(CommittedOffset(70, "kafka", NOW_MS),))
    return replace(group, partitions=(*group.partitions, in_kafka))


def _unusable_broker() -> BrokerStatus:
    return BrokerStatus(
        broker=Broker(7, HOST, 9092), seen_ms=NOW_MS, problem="refused a connection"
    )


def _unreadable_topic() -> TopicStatus:
    return TopicStatus(
        name=f"{TOPIC}_damaged", seen_ms=NOW_MS, problem="its node is no JSON object"
    )


def _degraded(topic: TopicStatus) -> TopicStatus:
    """Remove the leader of the topic's first partition, and an in-sync replica of the second."""
    if topic.name != "orders":
        return topic
    none, lacking = topic.partitions
    return replace(
        topic,
        partitions=(replace(none, leader=None, in_sync=()), replace(lacking, in_sync=(0,))),
    )
