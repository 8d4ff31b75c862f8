"""Clusters and consumers for tests of metrics, and a reader of the Prometheus format."""

from collections.abc import Iterable, Mapping

from prometheus_client.parser import text_string_to_metric_families

from tests.support.status import group_of, member
from zkconsumer.metrics.cluster import ClusterMeasures
from zkconsumer.metrics.families import Family
from zkconsumer.metrics.measured import Detail
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.burrow import BurrowGroupStatus, BurrowPartitionStatus, BurrowStatus
from zkconsumer.status.lag import GroupLag, PartitionLag, TimeLag
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
    PartitionStatus,
    Seen,
    TopicStatus,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
ZOOKEEPER_GROUP = GroupKey(GroupKind.ZOOKEEPER, "g")
COORDINATOR_GROUP = GroupKey(GroupKind.COORDINATOR, "g")
NOW_MS = 1_700_000_100_000
"""100 s after the snapshot was taken."""

Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]
"""Values by metric name and labels."""


def samples_of(families: Iterable[Family]) -> Samples:
    """Return the samples of metric families."""
    samples: Samples = {}
    for family in families:
        of_bucket = (*family.labels, "le")
        for sample in family.samples:
            names = of_bucket if sample.suffix == "_bucket" else family.labels
            labels = tuple(sorted(zip(names, sample.labels, strict=True)))
            of_name = samples.setdefault(family.name + sample.suffix, {})
            assert labels not in of_name, f"{family.name}{labels} is there twice"
            of_name[labels] = sample.value
    return samples


def read_exposition(text: bytes) -> Samples:
    """Parse a page of metrics as Prometheus does."""
    samples: Samples = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            samples.setdefault(sample.name, {})[labels] = sample.value
    return samples


def value(samples: Samples, name: str, **labels: str) -> float:
    """Return the sample with these labels."""
    return samples[name][tuple(sorted(labels.items()))]


def small_topics(taken_ms: int) -> tuple[TopicStatus, ...]:
    """Return two topics, with a partition that has no leader."""
    return (
        TopicStatus(
            name="t",
            seen_ms=taken_ms - 1_000,
            partitions=(
                PartitionStatus(
                    topic_partition=T0,
                    leader=0,
                    replicas=(0, 1),
                    in_sync=(0,),
                    log_start=5,
                    log_end=100,
                    offsets_at_ms=taken_ms - 4_000,
                ),
                PartitionStatus(topic_partition=T1, leader=None, replicas=(1, 0), in_sync=()),
            ),
        ),
        TopicStatus(
            name="u",
            seen_ms=taken_ms,
            partitions=(
                PartitionStatus(
                    topic_partition=U0,
                    leader=0,
                    replicas=(1, 0),
                    in_sync=(1, 0),
                    log_start=0,
                    log_end=10,
                    offsets_at_ms=taken_ms,
                ),
            ),
        ),
    )


def small_cluster() -> ClusterSnapshot:
    """Return a snapshot: two groups with the same id, a leaderless partition, and a failure."""
    taken_ms = NOW_MS - 100_000
    broker = Broker(0, "b0", 9092)
    in_zookeeper = group_of(
        GroupPartition(
            T0,
            owner="g_h-1-abc-0",
            committed=(
                CommittedOffset(60, "zookeeper", taken_ms - 9_000),
                CommittedOffset(70, "kafka", taken_ms),
            ),
            log_end=100,
        ),
        GroupPartition(T1),
        GroupPartition(U0, committed=(CommittedOffset(12, "zookeeper", taken_ms),), log_end=10),
        members=(member("g_h-1-abc", {"t": 1}),),
    )
    with_coordinator = GroupStatus(
        group_id="g",
        kind=GroupKind.COORDINATOR,
        seen_ms=taken_ms - 2_000,
        state=GroupState.STABLE,
        members=(MemberStatus(member_id="c-1", host="/10.0.0.1", client_id="c", streams={"u": 1}),),
        partitions=(
            GroupPartition(
                U0, owner="c-1", committed=(CommittedOffset(4, "kafka", taken_ms),), log_end=10
            ),
        ),
        problems=("something",),
    )
    return ClusterSnapshot(
        taken_ms=taken_ms,
        zookeeper_connect="zk:2181/x",
        brokers=(BrokerStatus(broker=broker, seen_ms=taken_ms),),
        topics=small_topics(taken_ms),
        groups={group.key: group for group in (in_zookeeper, with_coordinator)},
        failures=(
            PartFailure(part="log ends of broker 1", reason="x", since_ms=taken_ms - 50_000),
        ),
        clock_skew_ms=Seen(-250, taken_ms),
    )


def lags() -> Mapping[GroupKey, GroupLag]:
    """Return the lags of the small cluster's groups."""
    return {
        ZOOKEEPER_GROUP: GroupLag(
            partitions=(
                PartitionLag(T0, 30, TimeLag(4_500)),
                PartitionLag(T1, None, None),
                PartitionLag(U0, 0, TimeLag(0)),
            ),
            unknown=1,
        ),
        COORDINATOR_GROUP: GroupLag(partitions=(PartitionLag(U0, 6, None),), unknown=0),
    }


def verdicts() -> Mapping[GroupKey, BurrowGroupStatus]:
    """Return the small cluster's groups as Burrow would judge them."""
    return {
        ZOOKEEPER_GROUP: BurrowGroupStatus(
            status=BurrowStatus.ERR,
            partitions=(
                BurrowPartitionStatus(T0, BurrowStatus.STOP, 30),
                BurrowPartitionStatus(T1, BurrowStatus.OK, 0),
                BurrowPartitionStatus(U0, BurrowStatus.OK, 0),
            ),
        ),
        COORDINATOR_GROUP: BurrowGroupStatus(
            status=BurrowStatus.OK,
            partitions=(BurrowPartitionStatus(U0, BurrowStatus.OK, 6),),
        ),
    }


def small_view(detail: Detail = Detail.AUTO) -> ClusterMeasures:
    """Return the measures of the small cluster."""
    return ClusterMeasures(
        snapshot=small_cluster(),
        lag=lags().__getitem__,
        verdict=verdicts().__getitem__,
        now_ms=NOW_MS,
        read_ms=1_250,
        detail=detail,
    )
