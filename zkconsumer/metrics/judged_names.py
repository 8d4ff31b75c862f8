"""The metrics of kafka-lag-exporter and of Burrow, with their names: lag in time, statuses. Pure.

All have the exporters' labels and one more, ``kind``; see ``exporter_names``. Abandoned groups have
no lag in time, so that no alert fires for them; their lag in records remains.

Source: seglo/kafka-lag-exporter ``Metrics.scala``; linkedin/Burrow
``core/internal/httpserver/prometheus.go``, with the numbers of ``BurrowStatus`` (NOTFOUND 0, OK 1,
WARN 2, ERR 3, STOP 4, STALL 5, REWIND 6).
"""

from collections.abc import Iterator, Mapping

from zkconsumer.metrics.families import Measure, Sample
from zkconsumer.metrics.measured import GroupMeasures, Measured, of_groups
from zkconsumer.status.model import GroupKind, GroupState, MemberStatus

_PARTITION_LABELS = (
    "cluster_name",
    "group",
    "topic",
    "partition",
    "member_host",
    "consumer_id",
    "client_id",
    "kind",
)
_LAG_LABELS = ("cluster_name", "group", "kind")
_BURROW_LABELS = ("cluster", "consumer_group", "kind")


def _lag_seconds(seen: Measured) -> Iterator[Sample]:
    for group_status in seen.groups:
        group = group_status.group
        if group.state is GroupState.ABANDONED:
            continue  # its lag in time grows for ever, and is of no interest
        members = group.members_by_id
        for partition, lag in group_status.partitions():
            if lag.time is not None:
                topic, number = lag.topic_partition
                host, member_id, client_id = _of_whom(partition.owner, group.kind, members)
                labels = (
                    *(group_status.cluster, group.group_id, topic, str(number)),
                    *(host, member_id, client_id, group.kind),
                )
                yield Sample(labels, lag.time.ms / 1000)


def _of_whom(
    owner: str | None, kind: GroupKind, members: Mapping[str, MemberStatus]
) -> tuple[str, str, str]:
    """Return host, member id and client id of an owner; empty if unknown."""
    if owner is None:
        return "", "", ""
    member_id = owner
    if kind is GroupKind.ZOOKEEPER:
        # In ZooKeeper the owner is a thread of a member: the member's id, and a number.
        member_id = owner.rpartition("-")[0] or owner
    member = members.get(member_id)
    if member is None:
        return "", member_id, ""
    return member.host or "", member_id, member.client_id or ""


def _max_lag(group: GroupMeasures) -> int | None:
    worst = group.lag.worst
    return None if worst is None else worst.records


def _max_lag_seconds(group: GroupMeasures) -> float | None:
    worst = None if group.group.state is GroupState.ABANDONED else group.lag.worst_time
    return None if worst is None or worst.time is None else worst.time.ms / 1000


def _burrow_partition_status(seen: Measured) -> Iterator[Sample]:
    for group in seen.groups:
        cluster, name, kind = group.cluster_labels
        for partition in group.outcome.partitions:
            topic, number = partition.topic_partition
            labels = (cluster, name, topic, str(number), kind)
            yield Sample(labels, int(partition.status))


JUDGED_MEASURES: tuple[Measure[Measured], ...] = (
    Measure(
        "kafka_consumergroup_group_lag_seconds",
        "The age of the next record that this group has to read in this partition, by its "
        "timestamp or (zkconsumer_group_estimated_lags) estimated from the growth of the log.",
        _PARTITION_LABELS,
        _lag_seconds,
        per_partition=True,
    ),
    Measure(
        "kafka_consumergroup_group_max_lag_seconds",
        "The largest lag in time that this group has in any partition.",
        _LAG_LABELS,
        of_groups(_max_lag_seconds, with_cluster=True),
    ),
    Measure(
        "kafka_consumergroup_group_max_lag",
        "The largest lag in records that this group has in any partition.",
        _LAG_LABELS,
        of_groups(_max_lag, with_cluster=True),
    ),
    Measure(
        "kafka_consumergroup_group_sum_lag",
        "The number of records that this group has still to read in all partitions, as far as "
        "known.",
        _LAG_LABELS,
        of_groups(lambda group: group.lag.total, with_cluster=True),
    ),
    Measure(
        "burrow_kafka_consumer_status",
        "Burrow's status of this group: 0 NOTFOUND (abandoned), 1 OK, 2 WARN, 3 ERR.",
        _BURROW_LABELS,
        of_groups(lambda group: int(group.outcome.status), with_cluster=True),
    ),
    Measure(
        "burrow_kafka_consumer_lag_total",
        "The sum of the lags of this group in records; an unknown lag counts as 0.",
        _BURROW_LABELS,
        of_groups(lambda group: group.outcome.total_lag, with_cluster=True),
    ),
    Measure(
        "burrow_kafka_topic_partition_status",
        "Burrow's status of a partition of a group: 1 OK, 2 WARN, 4 STOP, 5 STALL, 6 REWIND.",
        ("cluster", "consumer_group", "topic", "partition", "kind"),
        _burrow_partition_status,
        per_partition=True,
    ),
)
