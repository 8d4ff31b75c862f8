"""Interfaces of a drain's runner to the cluster, the group and progress displays."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan, LogEnds, Positions
from zkconsumer.model import TopicPartition
from zkconsumer.spark.creations import Creations


class ClusterLogs(NamedTuple):
    """The current log ends of the cluster, and the start positions of new partitions.

    Attributes:
        ends: where the logs begin and end.
        starts: where those begin that are new.
        created: the creation of each topic, which identifies it among topics of its name, if known.
    """

    ends: Mapping[TopicPartition, LogEnds]
    starts: Positions
    created: Creations = MappingProxyType({})


class DrainSource(Protocol):
    """The cluster that is drained. Raises ``ZkConsumerError`` where it can't be asked."""

    def look(self, positions: Positions | None) -> ClusterLogs:
        """Read the current log ends.

        Args:
            positions: of the partitions that are known; others begin at their logs' beginning.
                None for a new drain, whose partitions begin at the configured start.
        """
        ...

    def created(self, topics: Collection[str]) -> Creations:
        """Return the creation of each topic, which identifies it, if known; never raises."""
        ...


class DrainGroup:
    """The group whose offsets say how far the drain has come; this one is none."""

    def check(self) -> None:
        """Check that no other process commits for this group.

        Raises:
            ConfigError: somebody does.
        """

    def commit(self, positions: Positions, log_ends: Positions) -> None:
        """Write offsets.

        Raises:
            ZkConsumerError: not all could be written.
        """


class Watch:
    """Is notified of a drain's progress; this one shows nothing. Methods must not raise."""

    def on_snapshot(self, positions: Positions, until: Positions) -> None:
        """Handle new positions and log ends."""

    def on_landing(self, plan: BatchPlan) -> None:
        """Handle the start of a batch, or its resumption."""

    def on_landed(self, plan: BatchPlan, manifest: Manifest) -> None:
        """Handle a batch that is landed, published and committed to the group."""


class StopRequest(Protocol):
    """A request to stop the drain."""

    def requested(self) -> bool:
        """Return whether to stop before the next batch."""
        ...

    def wait(self, timeout_ms: int) -> None:
        """Wait for a timeout, or until stopped."""
        ...
