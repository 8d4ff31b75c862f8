"""What metrics of a cluster are taken from: one snapshot, and verdicts on its groups. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from zkconsumer.status.burrow import BurrowGroupStatus
from zkconsumer.status.lag import GroupLag, PartitionLag
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupPartition, GroupStatus

MOST_GROUP_PARTITIONS = 50_000
"""With more partitions of groups, ``Detail.AUTO`` leaves them out: Prometheus would get a page of
tens of megabytes, and a million series, every few seconds."""


class Detail(StrEnum):
    """How much is told; the values are what users write."""

    AUTO = "auto"
    PARTITIONS = "partitions"
    GROUPS = "groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMeasures:
    """What there is to measure at one moment.

    Attributes:
        snapshot: the cluster; None where it was never read.
        lag: how far a group of the snapshot is behind; asked once for each.
        verdict: how Burrow would judge it; asked once for each.
        now_ms: the time that ages are counted to, in ms since the epoch.
        problem: why the cluster can't be read now; None where it can.
        read_ms: how long the last reading took.
        cluster: what the label of that name says; by default what the snapshot was
            reached by: a connect string, or brokers.
        detail: ``GROUPS`` leaves out what has a sample for each partition of a group; ``AUTO``
            does where these are more than ``MOST_GROUP_PARTITIONS``.
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
    """A group with what was found out about it."""

    group: GroupStatus
    lag: GroupLag
    outcome: BurrowGroupStatus

    def partitions(self) -> Iterator[tuple[GroupPartition, PartitionLag]]:
        """Return each of its partitions with its lag."""
        return zip(self.group.partitions, self.lag.partitions, strict=True)


class Measured(NamedTuple):
    """A cluster that has been read, all its groups judged."""

    view: ClusterMeasures
    snapshot: ClusterSnapshot
    groups: tuple[GroupMeasures, ...]

    @property
    def has_partition_labels(self) -> bool:
        """Whether the partitions of groups are told."""
        if self.view.detail is Detail.AUTO:
            return (
                sum(len(group.group.partitions) for group in self.groups) <= MOST_GROUP_PARTITIONS
            )
        return self.view.detail is Detail.PARTITIONS

    @property
    def cluster(self) -> str:
        """How the cluster is called."""
        return self.view.cluster or self.snapshot.address


def measured(view: ClusterMeasures, snapshot: ClusterSnapshot) -> Measured:
    """Ask for what is known of every group."""
    groups = snapshot.groups.items()
    return Measured(
        view,
        snapshot,
        tuple(GroupMeasures(group, view.lag(key), view.verdict(key)) for key, group in groups),
    )
