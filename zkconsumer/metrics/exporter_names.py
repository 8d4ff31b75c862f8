"""The metrics of kafka_exporter, with its names and labels, for existing dashboards and alerts.

Three things differ, without changing the result of an expression that uses its labels:

- Groups have one more label, ``kind``: the same id can be in use in ZooKeeper and at a coordinator.
- Groups of both kinds are in all metrics; in kafka_exporter those in ZooKeeper have only
  ``kafka_consumergroupzookeeper_lag_zookeeper``, which is here, too.
- Unknown values have no sample. In kafka_exporter they are -1, which distorts sums.

Source: danielqsj/kafka_exporter ``kafka_exporter.go``. Pure.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from zkconsumer.metrics.families import Measure, Sample
from zkconsumer.metrics.measured import (
    Find,
    GroupMeasures,
    Measured,
    of_cluster,
    of_groups,
    of_partitions,
)
from zkconsumer.status.lag import PartitionLag
from zkconsumer.status.model import GroupKind, GroupPartition

GROUP_LABELS = ("consumergroup", "kind")
_TOPIC_LABELS = ("topic", "partition")

_Value: TypeAlias = Callable[[GroupMeasures, GroupPartition, PartitionLag], int | None]
"""Returns a value of a group's partition; None if it is unknown."""


def _broker_info(seen: Measured) -> Iterator[Sample]:
    for status in seen.snapshot.brokers:
        broker = status.broker
        yield Sample((str(broker.id), f"{broker.host}:{broker.port}"), 1)


def _partition_counts(seen: Measured) -> Iterator[Sample]:
    for topic in seen.snapshot.topics:
        yield Sample((topic.name,), len(topic.partitions))


def _of_group_partitions(value: _Value) -> Find:
    """Return a function that yields a sample for each partition of each group."""

    def find(seen: Measured) -> Iterator[Sample]:
        for group in seen.groups:
            name, kind = group.labels
            for partition, lag in group.partitions():
                if (found := value(group, partition, lag)) is not None:
                    topic, number = partition.topic_partition
                    yield Sample((name, topic, str(number), kind), found)

    return find


def _topic_sums(value: _Value) -> Find:
    """Return a function that yields the sum of the known values of each topic of each group."""

    def find(seen: Measured) -> Iterator[Sample]:
        for group in seen.groups:
            sums: dict[str, int] = {}
            for partition, lag in group.partitions():
                if (found := value(group, partition, lag)) is not None:
                    topic = partition.topic_partition.topic
                    sums[topic] = sums.get(topic, 0) + found
            name, kind = group.labels
            for topic, total in sums.items():
                yield Sample((name, topic, kind), total)

    return find


def _committed(group: GroupMeasures, partition: GroupPartition, _: PartitionLag) -> int | None:
    committed = partition.effective(group.group.kind)
    return None if committed is None else committed.offset


def _lag(_group: GroupMeasures, _: GroupPartition, lag: PartitionLag) -> int | None:
    return lag.records


def _zookeeper_lags(seen: Measured) -> Iterator[Sample]:
    for group in seen.groups:
        if group.group.kind is not GroupKind.ZOOKEEPER:
            continue
        for partition in group.group.partitions:
            committed = partition.committed_in("zookeeper")
            if committed is not None and partition.log_end is not None:
                topic, number = partition.topic_partition
                lag = max(0, partition.log_end - committed.offset)
                yield Sample((group.group.group_id, topic, str(number)), lag)


EXPORTER_MEASURES: tuple[Measure[Measured], ...] = (
    Measure(
        "kafka_brokers",
        "Number of brokers that are registered.",
        (),
        of_cluster(lambda seen: len(seen.snapshot.brokers)),
    ),
    Measure(
        "kafka_broker_info",
        "1 for each broker that is registered, with its id and address.",
        ("id", "address"),
        _broker_info,
    ),
    Measure(
        "kafka_topic_partitions",
        "Number of partitions of this topic.",
        ("topic",),
        _partition_counts,
    ),
    Measure(
        "kafka_topic_partition_current_offset",
        "The offset that the next record of this partition gets.",
        _TOPIC_LABELS,
        of_partitions(lambda partition: partition.log_end),
    ),
    Measure(
        "kafka_topic_partition_oldest_offset",
        "The first offset that this partition still has.",
        _TOPIC_LABELS,
        of_partitions(lambda partition: partition.log_start),
    ),
    Measure(
        "kafka_topic_partition_leader",
        "The id of the broker that leads this partition; no sample if it has no leader.",
        _TOPIC_LABELS,
        of_partitions(lambda partition: partition.leader),
    ),
    Measure(
        "kafka_topic_partition_replicas",
        "Number of replicas of this partition.",
        _TOPIC_LABELS,
        of_partitions(lambda partition: len(partition.replicas)),
    ),
    Measure(
        "kafka_topic_partition_in_sync_replica",
        "Number of in-sync replicas of this partition.",
        _TOPIC_LABELS,
        of_partitions(lambda partition: len(partition.in_sync)),
    ),
    Measure(
        "kafka_topic_partition_leader_is_preferred",
        "1 if the first replica of this partition leads it.",
        _TOPIC_LABELS,
        of_partitions(lambda partition: int(partition.preferred)),
    ),
    Measure(
        "kafka_topic_partition_under_replicated_partition",
        "1 if a replica of this partition is not in sync.",
        _TOPIC_LABELS,
        of_partitions(lambda partition: int(partition.under_replicated)),
    ),
    Measure(
        "kafka_consumergroup_members",
        "Number of members of this group.",
        GROUP_LABELS,
        of_groups(lambda group: len(group.group.members)),
    ),
    Measure(
        "kafka_consumergroup_current_offset",
        "The offset that this group has committed: the next to read.",
        ("consumergroup", "topic", "partition", "kind"),
        _of_group_partitions(_committed),
        per_partition=True,
    ),
    Measure(
        "kafka_consumergroup_current_offset_sum",
        "The sum of the offsets that this group has committed for this topic.",
        ("consumergroup", "topic", "kind"),
        _topic_sums(_committed),
    ),
    Measure(
        "kafka_consumergroup_lag",
        "Number of records that this group has still to read in this partition.",
        ("consumergroup", "topic", "partition", "kind"),
        _of_group_partitions(_lag),
        per_partition=True,
    ),
    Measure(
        "kafka_consumergroup_lag_sum",
        "Number of records that this group has still to read in this topic, as far as known.",
        ("consumergroup", "topic", "kind"),
        _topic_sums(_lag),
    ),
    Measure(
        "kafka_consumergroupzookeeper_lag_zookeeper",
        "Number of records that a ZooKeeper group has still to read, by its offset in ZooKeeper.",
        ("consumergroup", "topic", "partition"),
        _zookeeper_lags,
        per_partition=True,
    ),
)
