"""What the offset checker's text has beside the original's captured runs."""

from zkconsumer.cli.formats.offset_checker import HEADER, checker_text
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.model import (
    BrokerStatus,
    ClusterSnapshot,
    GroupKind,
    GroupStatus,
    PartitionStatus,
    TopicStatus,
)


def cluster(*leaders: int | None) -> ClusterSnapshot:
    """Broker 1 alone, and a topic with these leaders that nobody asked for their ends."""
    partitions = tuple(
        PartitionStatus(topic_partition=TopicPartition("t", number), leader=leader)
        for number, leader in enumerate(leaders)
    )
    return ClusterSnapshot(
        taken_ms=0,
        zookeeper_connect="",
        brokers=(BrokerStatus(broker=Broker(1, "h", 9), seen_ms=0),),
        topics=(TopicStatus(name="t", seen_ms=0, partitions=partitions),),
    )


def test_each_broker_that_is_gone_is_told_once() -> None:
    """Then the original remembers that there is none; a partition of it has no row."""
    group = GroupStatus(group_id="g", kind=GroupKind.ZOOKEEPER, seen_ms=0)
    lines = checker_text(cluster(None, 1, None, 7, 7), group, topics=["t"], broker_info=True)
    gone = "Could not parse broker info due to null"
    assert lines.splitlines() == [
        HEADER,
        gone,
        "g               t                              1   -1              unknown"
        "         unknown         none",
        gone,
        "BROKER INFO",
        "1 -> h:9",
    ]


def test_a_topic_that_is_gone_has_no_rows() -> None:
    """As in the original."""
    group = GroupStatus(group_id="g", kind=GroupKind.ZOOKEEPER, seen_ms=0)
    assert checker_text(cluster(1), group, topics=["x"]) == HEADER + "\n"
