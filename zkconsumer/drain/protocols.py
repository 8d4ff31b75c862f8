"""The interfaces of a drain's runner to the cluster, the group and progress displays."""

from collections.abc import Collection
from typing import Protocol

from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan, ClusterLogs, Positions
from zkconsumer.spark.creations import Creations


class DrainSource(Protocol):
    """Reads the drained cluster. Methods raise ``ZkConsumerError`` if it can't be read."""

    def read_logs(self, positions: Positions | None) -> ClusterLogs:
        """Read the current log ends.

        Args:
            positions: the positions of known partitions; others begin at their logs' start. None
                for a new drain, whose partitions begin at the configured start.
        """
        ...

    def created(self, topics: Collection[str]) -> Creations:
        """Return the creation of each topic, if known; never raises."""
        ...


class DrainGroup(Protocol):
    """A group to which the drain commits its positions; see ``GroupProgress``."""

    def refuse_live(self) -> None:
        """Check that no other process commits for this group."""
        ...

    def commit(self, offsets: Positions, *, log_ends: Positions | None = None) -> None:
        """Commit offsets."""
        ...


class ProgressListener:
    """Is notified of a drain's progress; this implementation ignores it. Methods must not raise."""

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
        """Wait until ``timeout_ms`` have passed, or a stop is requested."""
        ...
