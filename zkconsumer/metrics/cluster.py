"""The metrics of a whole cluster, from one snapshot. Pure.

They have the names of three exporters, for existing dashboards and alerts. Metrics whose names
begin with ``zkconsumer_`` add what those lack: whether the cluster can be read, how old each part
is, the state of groups.
"""

from collections.abc import Iterable, Iterator

from zkconsumer.metrics.exporter_names import EXPORTER_MEASURES, GROUP_LABELS
from zkconsumer.metrics.families import Family, Measure, Sample
from zkconsumer.metrics.judged_names import JUDGED_MEASURES
from zkconsumer.metrics.measured import (
    ClusterMeasures,
    GroupMeasures,
    Measured,
    measured,
    of_cluster,
    of_groups,
)
from zkconsumer.status.model import PartitionStatus

__all__ = ["ALWAYS_MEASURES", "CLUSTER_MEASURES", "ClusterMeasures", "cluster_families"]


def cluster_families(view: ClusterMeasures) -> Iterator[Family]:
    """Yield all metrics of a cluster; before the first read only ``ALWAYS_MEASURES``.

    Returns:
        Families with different names; the samples of a family are computed when iterated.
    """
    for always in ALWAYS_MEASURES:
        yield always.of(view)
    if view.snapshot is None:
        return
    seen = measured(view, view.snapshot)
    has_partition_labels = seen.has_partition_labels
    for measure in CLUSTER_MEASURES:
        if has_partition_labels or not measure.per_partition:
            yield measure.of(seen)


def _up(view: ClusterMeasures) -> Iterator[Sample]:
    yield Sample((), int(view.snapshot is not None and view.problem is None))


def _read_seconds(view: ClusterMeasures) -> Iterator[Sample]:
    if view.read_ms is not None:
        yield Sample((), view.read_ms / 1000)


def _ages(seen: Measured) -> Iterator[Sample]:
    """Yield the age of the oldest value of each part; nothing for a part without values."""
    snapshot, groups = seen.snapshot, [group.group for group in seen.groups]
    read_ms: dict[str, Iterable[int | None]] = {
        "snapshot": [snapshot.taken_ms],
        "brokers": (broker.seen_ms for broker in snapshot.brokers),
        "topics": (topic.seen_ms for topic in snapshot.topics),
        "log_ends": (partition.offsets_at_ms for partition in _partitions(seen)),
        "groups": (group.seen_ms for group in groups),
        "offsets": (
            committed.seen_ms
            for group in groups
            for partition in group.partitions
            for committed in partition.committed
        ),
    }
    for part, instants in read_ms.items():
        oldest_ms = min((at_ms for at_ms in instants if at_ms is not None), default=None)
        if oldest_ms is not None:
            yield Sample((part,), seen.age_s(oldest_ms))


def _failures(seen: Measured) -> Iterator[Sample]:
    since_ms: dict[str, int] = {}
    for failure in seen.snapshot.failures:
        since_ms[failure.part] = min(failure.since_ms, since_ms.get(failure.part, failure.since_ms))
    for part, at_ms in since_ms.items():
        yield Sample((part,), seen.age_s(at_ms))


def _skew(seen: Measured) -> float | None:
    skew = seen.snapshot.clock_skew_ms
    return None if skew is None else skew.value / 1000


def _info(seen: Measured) -> Iterator[Sample]:
    alone = seen.snapshot.brokers_alone
    yield Sample(("zookeeper" if alone is None else "brokers", seen.snapshot.zookeeper), 1)


def _partitions(seen: Measured) -> Iterator[PartitionStatus]:
    return (partition for topic in seen.snapshot.topics for partition in topic.partitions)


def _states(seen: Measured) -> Iterator[Sample]:
    for group in seen.groups:
        yield Sample((*group.labels, group.group.state), 1)


def _orphans(group: GroupMeasures) -> int:
    read = group.group.topics_read
    return sum(
        partition.owner is None and partition.topic_partition.topic in read
        for partition in group.group.partitions
    )


def _silences(seen: Measured) -> Iterator[Sample]:
    for group in seen.groups:
        if (since_ms := group.group.silent_since_ms) is not None:
            yield Sample(group.labels, seen.age_s(since_ms))


def _estimated_lags(group: GroupMeasures) -> int:
    return sum(lag.time is not None and lag.time.estimated for lag in group.lag.partitions)


ALWAYS_MEASURES: tuple[Measure[ClusterMeasures], ...] = (
    Measure(
        "zkconsumer_up", "1 if the last attempt to read the cluster succeeded, 0 if not.", (), _up
    ),
    Measure(
        "zkconsumer_snapshot_read_seconds",
        "The duration of the last read of the cluster.",
        (),
        _read_seconds,
    ),
)

_OWN_MEASURES: tuple[Measure[Measured], ...] = (
    Measure(
        "zkconsumer_snapshot_age_seconds",
        "The age of the oldest value of a part of the snapshot: snapshot, brokers, topics, "
        "log_ends, groups, offsets.",
        ("part",),
        _ages,
    ),
    Measure(
        "zkconsumer_part_failure_seconds",
        "How long a part of the cluster has been unreadable; no sample if all parts could be read.",
        ("part",),
        _failures,
    ),
    Measure(
        "zkconsumer_cluster_info",
        "1, labelled with how the cluster is read (zookeeper, or brokers alone), and whether its "
        "ZooKeeper is read, is unknown, or none. Unless it is read, no metric includes groups in "
        "ZooKeeper.",
        ("read_through", "zookeeper"),
        _info,
    ),
    Measure(
        "zkconsumer_clock_skew_seconds",
        "How far ZooKeeper's clock is ahead of this machine's; negative if it is behind.",
        (),
        of_cluster(_skew),
    ),
    Measure(
        "zkconsumer_leaderless_partitions",
        "Number of partitions of the cluster without a leader.",
        (),
        of_cluster(lambda seen: sum(part.leaderless for part in _partitions(seen))),
    ),
    Measure(
        "zkconsumer_unknown_log_ends",
        "Number of partitions of the cluster whose log end offset was never read.",
        (),
        of_cluster(lambda seen: sum(part.log_end is None for part in _partitions(seen))),
    ),
    Measure(
        "zkconsumer_group_state",
        "1, labelled with the state of this group: stable, rebalancing, empty, dead, abandoned, "
        "unknown.",
        (*GROUP_LABELS, "state"),
        _states,
    ),
    Measure(
        "zkconsumer_group_orphan_partitions",
        "Number of partitions of topics that this group reads which have no owner.",
        GROUP_LABELS,
        of_groups(_orphans),
    ),
    Measure(
        "zkconsumer_group_unknown_lags",
        "Number of partitions of this group whose lag is unknown; sums do not include them.",
        GROUP_LABELS,
        of_groups(lambda group: group.lag.unknown),
    ),
    Measure(
        "zkconsumer_group_silence_seconds",
        "Time since the last commit of this group. For offsets in Kafka, which does not report "
        "commit times: how long they have not changed while watched, and only for groups without "
        "members.",
        GROUP_LABELS,
        _silences,
    ),
    Measure(
        "zkconsumer_group_estimated_lags",
        "Number of partitions of this group whose lag in time is estimated from the growth of the "
        "log: its records have no timestamps, or were not read yet.",
        GROUP_LABELS,
        of_groups(_estimated_lags),
    ),
    Measure(
        "zkconsumer_group_problems",
        "Number of parts of this group that could not be read or decoded.",
        GROUP_LABELS,
        of_groups(lambda group: len(group.group.problems)),
    ),
)

CLUSTER_MEASURES: tuple[Measure[Measured], ...] = (
    *EXPORTER_MEASURES,
    *JUDGED_MEASURES,
    *_OWN_MEASURES,
)
"""Every metric of a cluster that has been read."""
