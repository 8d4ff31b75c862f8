"""The source of a cluster's metrics: one snapshot, with lag and status of its groups. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from zkconsumer.status.burrow import BurrowGroupStatus
from zkconsumer.status.lag import GroupLag, PartitionLag
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupPartition, GroupStatus

MOST_GROUP_PARTITIONS = 50_000
"""Beyond this many partitions of groups, ``Detail.AUTO`` omits them: Prometheus would scrape tens
of megabytes, and a million series, every few seconds."""


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
        cluster: the label of that name; None: the address of the snapshot: a connect string, or
            brokers.
        detail: ``GROUPS`` omits samples of single partitions of groups; ``AUTO`` does if they are
            more than ``MOST_GROUP_PARTITIONS``.
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
    """A group with its lag and Burrow's status."""

    group: GroupStatus
    lag: GroupLag
    outcome: BurrowGroupStatus

    def partitions(self) -> Iterator[tuple[GroupPartition, PartitionLag]]:
        """Return each of its partitions with its lag."""
        return zip(self.group.partitions, self.lag.partitions, strict=True)


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

    @property
    def cluster(self) -> str:
        """The name of the cluster."""
        return self.view.cluster or self.snapshot.address


def measured(view: ClusterMeasures, snapshot: ClusterSnapshot) -> Measured:
    """Compute lag and status of every group."""
    groups = snapshot.groups.items()
    return Measured(
        view,
        snapshot,
        tuple(GroupMeasures(group, view.lag(key), view.verdict(key)) for key, group in groups),
    )
