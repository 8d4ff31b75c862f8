"""Cases of the offset checker's output that the captured runs of the original lack."""

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
    """Build a cluster of broker 1 and a topic with these leaders, whose log ends are not known."""
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


def test_each_missing_broker_is_reported_once() -> None:
    """As in the original, a missing broker is reported once and its partitions have no row."""
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


def test_a_missing_topic_has_no_rows() -> None:
    """A topic that does not exist leaves only the header, as in the original."""
    group = GroupStatus(group_id="g", kind=GroupKind.ZOOKEEPER, seen_ms=0)
    assert checker_text(cluster(1), group, topics=["x"]) == HEADER + "\n"
