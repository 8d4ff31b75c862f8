"""The source of a cluster's metrics: one snapshot, with the lag and status of its groups. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from zkconsumer.metrics.families import Sample
from zkconsumer.status.burrow import BurrowGroupStatus
from zkconsumer.status.lag import GroupLag, PartitionLag
from zkconsumer.status.model import (
    ClusterSnapshot,
    GroupKey,
    GroupPartition,
    GroupStatus,
    PartitionStatus,
)

MOST_GROUP_PARTITIONS = 50_000
"""Maximum number of group partitions for which ``Detail.AUTO`` includes samples of each. With more,
Prometheus would scrape tens of megabytes, and a million series, every few seconds."""


class Detail(StrEnum):
    """The level of detail; the values are what users write."""

    AUTO = "auto"
    PARTITIONS = "partitions"
    GROUPS = "groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMeasures:
    """The measures of a cluster at one moment.

    Attributes:
        snapshot: the cluster; None before the first read.
        lag: returns the lag of a group; called once for each.
        verdict: returns Burrow's status of a group; called once for each.
        now_ms: the current time, in ms since the epoch, for ages.
        problem: why the cluster can't be read now; None if it can.
        read_ms: the duration of the last read.
        cluster: the value of the cluster label; None: the address of the snapshot, which is a
            connect string, or brokers.
        detail: ``GROUPS`` omits samples of single partitions of groups; ``AUTO`` omits them if
            there are more than ``MOST_GROUP_PARTITIONS``.
    """

    snapshot: ClusterSnapshot | None
    lag: Callable[[GroupKey], GroupLag]
    verdict: Callable[[GroupKey], BurrowGroupStatus]
    now_ms: int
    problem: str | None = None
    read_ms: int | None = None
    cluster: str | None = None
    detail: Detail = Detail.AUTO


class GroupMeasures(NamedTuple):
    """A group with its lag and Burrow's status, and the name of its cluster."""

    cluster: str
    group: GroupStatus
    lag: GroupLag
    outcome: BurrowGroupStatus

    def partitions(self) -> Iterator[tuple[GroupPartition, PartitionLag]]:
        """Return each of its partitions with its lag."""
        return zip(self.group.partitions, self.lag.partitions, strict=True)

    @property
    def labels(self) -> tuple[str, str]:
        """Its id and kind."""
        return self.group.group_id, self.group.kind

    @property
    def cluster_labels(self) -> tuple[str, str, str]:
        """Its cluster, id and kind."""
        return self.cluster, *self.labels


class Measured(NamedTuple):
    """A cluster that has been read, with the status of all groups."""

    view: ClusterMeasures
    snapshot: ClusterSnapshot
    groups: tuple[GroupMeasures, ...]

    @property
    def has_partition_labels(self) -> bool:
        """Whether there are samples of single partitions of groups."""
        if self.view.detail is Detail.AUTO:
            return (
                sum(len(group.group.partitions) for group in self.groups) <= MOST_GROUP_PARTITIONS
            )
        return self.view.detail is Detail.PARTITIONS

    def age_s(self, at_ms: int) -> float:
        """Return how long ago an instant was, in seconds."""
        return max(0, self.view.now_ms - at_ms) / 1000


def measured(view: ClusterMeasures, snapshot: ClusterSnapshot) -> Measured:
    """Compute lag and status of every group."""
    cluster = view.cluster or snapshot.address
    return Measured(
        view,
        snapshot,
        tuple(
            GroupMeasures(cluster, group, view.lag(key), view.verdict(key))
            for key, group in snapshot.groups.items()
        ),
    )


Find: TypeAlias = Callable[[Measured], Iterator[Sample]]
"""Yields the samples of a family; there is no sample of an unknown value."""


def of_cluster(value: Callable[[Measured], float | None]) -> Find:
    """Return a function that yields one sample without labels."""

    def find(seen: Measured) -> Iterator[Sample]:
        if (found := value(seen)) is not None:
            yield Sample((), found)

    return find


def of_partitions(value: Callable[[PartitionStatus], int | None]) -> Find:
    """Return a function that yields a sample for each partition, by topic and number."""

    def find(seen: Measured) -> Iterator[Sample]:
        for topic in seen.snapshot.topics:
            for partition in topic.partitions:
                if (found := value(partition)) is not None:
                    yield Sample((topic.name, str(partition.topic_partition.partition)), found)

    return find


def of_groups(
    value: Callable[[GroupMeasures], float | None], *, with_cluster: bool = False
) -> Find:
    """Return a function that yields a sample for each group, by (cluster,) id and kind."""

    def find(seen: Measured) -> Iterator[Sample]:
        for group in seen.groups:
            if (found := value(group)) is not None:
                yield Sample(group.cluster_labels if with_cluster else group.labels, found)

    return find
