"""The output of ``kafka.admin.TopicCommand --list`` and ``--describe`` of Kafka 0.8.2.2."""

from collections.abc import Collection, Iterable
from enum import Enum

from zkconsumer.cli.formats.java_text import properties_order
from zkconsumer.status.model import PartitionStatus, TopicStatus


class DescriptionFilter(Enum):
    """Filters of a description; the names are those of the options."""

    EVERYTHING = ""
    UNDER_REPLICATED = "--under-replicated-partitions"
    UNAVAILABLE = "--unavailable-partitions"
    OVERRIDDEN = "--topics-with-overrides"


def topic_list_text(topics: Iterable[TopicStatus]) -> str:
    """Return a line for each topic."""
    return "".join(
        f"{topic.name} - marked for deletion\n" if topic.deleting else f"{topic.name}\n"
        for topic in topics
    )


def describe_text(
    topics: Iterable[TopicStatus],
    *,
    live_brokers: Collection[int],
    only: DescriptionFilter = DescriptionFilter.EVERYTHING,
) -> str:
    """Return the topics with their partitions, filtered.

    Args:
        topics: the topics, in order; the original prints nothing for a missing topic.
        live_brokers: the ids of the registered brokers.
        only: the filter.
    """
    lines = []
    for topic in topics:
        if only is DescriptionFilter.EVERYTHING or (
            only is DescriptionFilter.OVERRIDDEN and topic.config
        ):
            lines.append(_topic_line(topic))
        if only is not DescriptionFilter.OVERRIDDEN:
            lines += [
                _partition_line(partition)
                for partition in topic.partitions
                if is_listed(partition, only, live_brokers)
            ]
    return "".join(line + "\n" for line in lines)


def is_listed(
    partition: PartitionStatus, only: DescriptionFilter, live_brokers: Collection[int]
) -> bool:
    """Return whether a filter lets a partition pass."""
    if only is DescriptionFilter.UNDER_REPLICATED:
        return partition.under_replicated
    return only is not DescriptionFilter.UNAVAILABLE or partition.leader not in live_brokers


def _topic_line(topic: TopicStatus) -> str:
    # The original counts the replicas of one partition and assumes the same for all.
    replication = len(topic.partitions[0].replicas) if topic.partitions else 0
    settings = topic.config
    # The original always knows the settings.
    config = "unknown"
    if settings is not None:
        config = ",".join(f"{key}={settings[key]}" for key in properties_order(settings))
    return (
        f"Topic:{topic.name}\tPartitionCount:{len(topic.partitions)}"
        f"\tReplicationFactor:{replication}\tConfigs:{config}"
    )


def _partition_line(status: PartitionStatus) -> str:
    topic, partition = status.topic_partition
    leader = -1 if status.leader is None else status.leader
    return (
        f"\tTopic: {topic}\tPartition: {partition}\tLeader: {leader}"
        f"\tReplicas: {_joined(status.replicas)}\tIsr: {_joined(status.in_sync)}"
    )


def _joined(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))
