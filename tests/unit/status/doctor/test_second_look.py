"""Suspicions that one snapshot can't decide: when to take a second, and what clears them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.diagnosed_cluster import LONG_AGO_MS, NOW_MS, DiagnosedCluster, healthy
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.narrowing import restrict_to
from zkconsumer.status.doctor.second_reading import Suspicion, suspicions
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupStatus,
    PartFailure,
)

KEY = GroupKey(GroupKind.ZOOKEEPER, "g")
AROUND = Circumstances(settle_ms=30_000, silence_ms=75_000)
T0 = TopicPartition("t", 0)


def suspected(snapshot: ClusterSnapshot) -> list[Suspicion]:
    """Return the suspicions about the group."""
    return list(suspicions(snapshot, [KEY, GroupKey(GroupKind.COORDINATOR, "none")], AROUND))


def with_first(change: Callable[[GroupPartition], GroupPartition]) -> ClusterSnapshot:
    """Return a healthy group without a lag, except for the first partition after this change."""
    snapshot = healthy().snapshot()
    group = snapshot.groups[KEY]
    partitions = tuple(
        change(partition) if partition.topic_partition == T0 else partition._replace(log_end=90)
        for partition in group.partitions
    )
    return replace(snapshot, groups={KEY: replace(group, partitions=partitions)})


def committed(offset: int, at_ms: int | None) -> tuple[CommittedOffset, ...]:
    """Return a committed offset."""
    return (CommittedOffset(offset, "kafka" if at_ms is None else "zookeeper", NOW_MS, at_ms),)


def test_a_group_at_rest_has_no_suspicion() -> None:
    """A group without a lag, without members, or that does not exist, has no suspicion."""
    assert suspected(with_first(lambda partition: partition._replace(log_end=90))) == []
    assert suspected(DiagnosedCluster(t=1).snapshot()) == []


def test_a_rebalance_is_suspected_until_it_ends() -> None:
    """A rebalance is suspected until all partitions have owners, or the group is gone."""
    world = healthy()
    world.remove("/consumers/g/owners/t/0")
    for tp in list(world.snapshot().groups[KEY].partitions):
        world.commit(tp.topic_partition, 100)
    (suspicion,) = suspected(world.snapshot())
    assert (suspicion.key, suspicion.why, suspicion.wait_ms) == (KEY, "is rebalancing", 30_000)
    assert not suspicion.cleared(world.snapshot())
    assert suspicion.cleared(healthy().snapshot())
    assert suspicion.cleared(DiagnosedCluster(t=1).snapshot())


@pytest.mark.parametrize(
    ("change", "is_suspected"),
    [
        (lambda partition: partition, True),
        (lambda item: item._replace(committed=committed(90, NOW_MS - 75_000)), False),
        (lambda item: item._replace(committed=committed(90, NOW_MS - 75_001)), True),
        (lambda item: item._replace(committed=committed(90, None)), True),
        (lambda item: item._replace(committed=committed(100, LONG_AGO_MS)), False),
        (lambda item: item._replace(committed=()), True),
        (lambda item: item._replace(committed=(), log_start=100), False),
        (lambda item: item._replace(committed=(), log_start=None), False),
        (lambda item: item._replace(owner=None), False),
        (lambda item: item._replace(log_end=None), False),
    ],
)
def test_an_offset_with_a_lag_and_no_recent_commit_is_suspected(
    change: Callable[[GroupPartition], GroupPartition], is_suspected: bool
) -> None:
    """An offset is suspected of standing still if it has a lag and no recent commit."""
    found = suspected(with_first(change))
    assert [suspicion.wait_ms for suspicion in found if suspicion.stalled] == [
        75_000
    ] * is_suspected


def test_only_an_offset_that_moves_clears_the_suspicion() -> None:
    """Only an offset that moves, or another owner, clears the suspicion."""
    (suspicion,) = suspected(with_first(lambda partition: partition))
    moves = [
        lambda item: item._replace(committed=committed(91, NOW_MS)),
        lambda item: item._replace(owner="other-0"),
    ]
    stays = [
        lambda item: item._replace(committed=committed(90, NOW_MS)),
        lambda item: item._replace(log_end=200),
    ]
    assert [suspicion.cleared(with_first(change)) for change in moves] == [True, True]
    assert [suspicion.cleared(with_first(change)) for change in stays] == [False, False]


def test_a_snapshot_about_a_group_has_its_topics_and_its_twin() -> None:
    """A snapshot about a group has its topics, other topics that are healthy, and its twin."""
    world = healthy()
    world.topics |= {"sick": 1, "fine": 1}
    twin = GroupStatus(group_id="g", kind=GroupKind.COORDINATOR, seen_ms=NOW_MS)
    other = GroupStatus(group_id="h", kind=GroupKind.COORDINATOR, seen_ms=NOW_MS)
    whole = world.snapshot(twin, other)
    whole = replace(
        whole,
        topics=tuple(
            topic
            if topic.name == "fine"
            else replace(
                topic, partitions=tuple(replace(each, leader=None) for each in topic.partitions)
            )
            for topic in whole.topics
        ),
    )
    failures = {
        name: PartFailure(part=str(name), reason="", since_ms=0, group_id=name)
        for name in (None, "g", "h")
    }
    seen = restrict_to(replace(whole, failures=tuple(failures.values())), [KEY])
    assert seen.failures == (failures[None], failures["g"])
    assert [topic.name for topic in seen.topics] == ["fine", "t", "u"]
    assert set(seen.groups) == {KEY, twin.key}
