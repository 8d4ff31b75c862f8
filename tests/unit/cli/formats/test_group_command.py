"""Coordinator groups as the original describes them (from the source of Kafka 0.9.0.1)."""

from collections.abc import Sequence
from dataclasses import replace

from zkconsumer.cli.formats.group_command import HEADER, describe_group_text
from zkconsumer.cli.formats.offset_checker import checker_text
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.model import (
    BrokerStatus,
    ClusterSnapshot,
    CommittedOffset,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
    MemberStatus,
    PartitionStatus,
    TopicStatus,
)

CLUSTER = ClusterSnapshot(taken_ms=0, zookeeper_connect="")


def group_partition(
    topic: str, number: int, owner: str | None, *offsets: CommittedOffset, log_end: int | None = 9
) -> GroupPartition:
    """Build a partition of the group."""
    tp = TopicPartition(topic, number)
    return GroupPartition(tp, owner, committed=offsets, log_end=log_end)


def group(state: GroupState, partitions: Sequence[GroupPartition] = ()) -> GroupStatus:
    """Build a coordinator's group of two members."""
    return GroupStatus(
        group_id="g",
        kind=GroupKind.COORDINATOR,
        seen_ms=0,
        state=state,
        members=(
            MemberStatus(member_id="c-1", client_id="c", host="/10.0.0.1"),
            MemberStatus(member_id="c-2", client_id="c", host="/10.0.0.2"),
        ),
        partitions=tuple(partitions),
    )


def test_a_group_is_described_by_member_and_partition() -> None:
    """Only offsets in Kafka count, and partitions that no member owns are left out."""
    in_kafka, in_zookeeper = CommittedOffset(4, "kafka", 0), CommittedOffset(5, "zookeeper", 0)
    described = group(
        GroupState.STABLE,
        [
            group_partition("t", 0, "c-2", in_kafka),
            group_partition("t", 1, "c-1", in_zookeeper),
            group_partition("t", 2, None, in_kafka),
            group_partition("u", 0, "c-1", in_kafka, in_zookeeper, log_end=None),
        ],
    )
    assert describe_group_text(CLUSTER, described, "g").splitlines() == [
        HEADER,
        "g, u, 0, 4, unknown, unknown, c_/10.0.0.1",
        "g, t, 1, unknown, 9, unknown, c_/10.0.0.1",
        "g, t, 0, 4, 9, 5, c_/10.0.0.2",
    ]


def test_a_rebalancing_or_empty_group_is_not_described() -> None:
    """The original prints one sentence for a group that is rebalancing or has no members."""
    text = "Consumer group `g` does not exist or is rebalancing.\n"
    assert describe_group_text(CLUSTER, group(GroupState.REBALANCING), "g") == text
    assert describe_group_text(CLUSTER, group(GroupState.EMPTY), "g") == text


def test_of_offsets_in_both_stores_kafka_s_are_shown() -> None:
    """For a ZooKeeper group that commits to both, the offsets in Kafka are shown."""
    tp = TopicPartition("t", 0)
    cluster = ClusterSnapshot(
        taken_ms=0,
        zookeeper_connect="",
        topics=(
            TopicStatus(
                name="t",
                seen_ms=0,
                partitions=(PartitionStatus(topic_partition=tp, leader=7, log_end=9),),
            ),
        ),
    )
    both = (CommittedOffset(4, "kafka", 0), CommittedOffset(5, "zookeeper", 0))
    described = GroupStatus(
        group_id="g",
        kind=GroupKind.ZOOKEEPER,
        seen_ms=0,
        partitions=(GroupPartition(tp, "g_a-0", committed=both),),
    )
    gone = "Could not parse broker info due to Broker id 7 does not exist"
    assert describe_group_text(cluster, described, "g", ["t"]).splitlines() == [HEADER, gone]
    back = replace(cluster, brokers=(BrokerStatus(broker=Broker(7, "h", 1), seen_ms=0),))
    rows = describe_group_text(back, described, "g", ["t"]).splitlines()
    assert rows == [HEADER, "g, t, 0, 4, 9, 5, g_a-0"]
    assert checker_text(back, described).splitlines()[1].split()[3:] == ["4", "9", "5", "g_a-0"]
    # Without topics only the header is printed.
    assert describe_group_text(cluster, described, "g", topics=[]).splitlines()[1] == HEADER
