"""Properties of the snapshot's values."""

import pytest

from tests.support.status import group_of, snapshot_of
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import GroupKey, GroupKind, PartitionStatus

TP = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("leader", "replicas", "in_sync", "reported"),
    [
        (1, (1, 2), (1, 2), (False, False, True)),
        (2, (1, 2), (2, 1), (False, False, False)),
        (2, (1, 2), (2,), (False, True, False)),
        (None, (1, 2), (), (True, True, False)),
        (None, (), (), (True, False, False)),
        (1, (), (), (False, False, False)),
    ],
)
def test_a_partition_reports_its_leader_and_replicas(
    leader: int | None,
    replicas: tuple[int, ...],
    in_sync: tuple[int, ...],
    reported: tuple[bool, bool, bool],
) -> None:
    """A partition is leaderless, under-replicated, or led by its preferred replica."""
    partition = PartitionStatus(
        topic_partition=TP, leader=leader, replicas=replicas, in_sync=in_sync
    )
    assert (partition.leaderless, partition.under_replicated, partition.preferred) == reported


def test_the_same_id_can_be_two_groups() -> None:
    """The same id can be a group in ZooKeeper and one of a coordinator."""
    groups = [group_of(kind=kind) for kind in GroupKind]
    snapshot = snapshot_of(*groups, at_ms=0)
    assert [str(key) for key in snapshot.groups] == ["zookeeper group g", "coordinator group g"]
    assert snapshot.groups[GroupKey(GroupKind.COORDINATOR, "g")] is groups[1]


def test_a_snapshot_lists_the_partitions_of_each_topic() -> None:
    """A snapshot lists the partitions of each topic, for assignors."""
    ends = {TP: 1, TopicPartition("t", 3): 1, TopicPartition("u", 1): 1}
    assert snapshot_of(at_ms=0, log_ends=ends).partition_ids() == {"t": (0, 3), "u": (1,)}
