"""What the runner of a drain asks others to do: the cluster, the group, whoever watches."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan, LogEnds, Positions
from zkconsumer.model import TopicPartition
from zkconsumer.spark.creations import Creations


class ClusterLogs(NamedTuple):
    """The cluster as it is: its logs' ends, and where partitions begin that are new.

    Attributes:
        ends: where the logs begin and end.
        starts: where those begin that are new.
        created: what tells the topics from former ones of their names, where that is known.
    """

    ends: Mapping[TopicPartition, LogEnds]
    starts: Positions
    created: Creations = MappingProxyType({})


class DrainSource(Protocol):
    """The cluster that is drained. Raises ``ZkConsumerError`` where it can't be asked."""

    def look(self, positions: Positions | None) -> ClusterLogs:
        """How the logs stand now.

        Args:
            positions: of the partitions that are known; others begin at their logs' beginning.
                None for a new drain, whose partitions begin where it is told to start.
        """
        ...

    def created(self, topics: Collection[str]) -> Creations:
        """What tells these topics from former ones of their names; never raises."""
        ...


class DrainGroup(Protocol):
    """The group whose offsets say how far the drain has come."""

    def check(self) -> None:
        """See that nobody else commits for this group.

        Raises:
            ConfigError: somebody does.
        """
        ...

    def commit(self, positions: Positions, log_ends: Positions) -> None:
        """Write offsets.

        Raises:
            ZkConsumerError: not all could be written.
        """
        ...


class WithoutGroup:
    """For a drain that commits nothing."""

    def check(self) -> None:
        """Nothing to see."""

    def commit(self, positions: Positions, log_ends: Positions) -> None:
        """Nothing to write."""


class Watch(Protocol):
    """Who shows people what goes on. Must not raise."""

    def on_snapshot(self, positions: Positions, until: Positions) -> None:
        """How far everything has come, and how far it is to go."""
        ...

    def landing(self, plan: BatchPlan) -> None:
        """A batch is read now."""
        ...

    def landed(self, plan: BatchPlan, manifest: Manifest) -> None:
        """A batch is landed and published, and the group's offsets are committed."""
        ...


class NoWatch:
    """Shows nothing."""

    def on_snapshot(self, positions: Positions, until: Positions) -> None:
        """See ``Watch``."""

    def landing(self, plan: BatchPlan) -> None:
        """See ``Watch``."""

    def landed(self, plan: BatchPlan, manifest: Manifest) -> None:
        """See ``Watch``."""


class StopRequest(Protocol):
    """Whether somebody wants the drain to end."""

    def requested(self) -> bool:
        """Whether to end before the next batch."""
        ...

    def wait(self, timeout_ms: int) -> None:
        """Wait for so long, or until somebody asks."""
        ...
