"""Reads the drained cluster, and commits the group's offsets, on the driver."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from zkconsumer.drain.plan import ClusterLogs, LogEnds, Positions
from zkconsumer.drain.protocols import DrainGroup
from zkconsumer.model import TopicPartition
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.creations import Creations
from zkconsumer.spark.group_progress import GroupProgress, connected
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.planning import CachedLogEnds, starting_offsets


class DrainClusterSource:
    """Reads log ends from brokers, which may be looked up in ZooKeeper. See ``DrainSource``.

    Args:
        options: the options of the source, with topics and start.
        progress: the group's committed offsets; needed if the drain starts there.
    """

    def __init__(
        self, options: SourceOptions, reader: ClusterReader, progress: GroupProgress | None
    ) -> None:
        self._options = options
        self._reader = reader
        self._progress = progress

    def read_logs(self, positions: Positions | None) -> ClusterLogs:
        """See ``DrainSource``."""
        partitions = self._reader.partitions(self._options.subscription)
        if positions is None:
            return self._first_logs(partitions)
        created = self.created({tp.topic for tp in partitions})
        ends = self.ends(partitions, positions)
        starts = {tp: ends[tp].earliest for tp in partitions if tp not in positions}
        return ClusterLogs(ends, starts, created)

    def created(self, topics: Collection[str]) -> Creations:
        """See ``DrainSource``."""
        return self._reader.creations(topics)

    def ends(
        self, partitions: Sequence[TopicPartition], known: Positions
    ) -> dict[TopicPartition, LogEnds]:
        """Return the start and end of each log; an end below the known one is requested again."""
        # The end first: the start of a log never passes an end that was read before.
        latest = self._reader.latest(partitions, known=known)
        earliest = self._reader.earliest(partitions)
        return {tp: LogEnds(earliest[tp], latest[tp]) for tp in partitions}

    def _first_logs(self, partitions: Sequence[TopicPartition]) -> ClusterLogs:
        created = self.created({tp.topic for tp in partitions})
        logs = CachedLogEnds(self._reader, partitions)
        committed = None if self._progress is None else self._progress.committed
        starts = starting_offsets(self._options, partitions, logs, committed)
        bounds = logs.bounds
        ends = {tp: LogEnds(bounds.earliest[tp], bounds.latest[tp]) for tp in partitions}
        return ClusterLogs(ends, starts, created)


class CommittingGroup(DrainGroup):
    """Commits offsets to a group; with ``allow_live`` even if it has live members."""

    def __init__(self, progress: GroupProgress, *, allow_live: bool) -> None:
        self._progress = progress
        self._allow_live = allow_live

    def check(self) -> None:
        """See ``DrainGroup``."""
        if not self._allow_live:
            self._progress.refuse_live()

    def commit(self, positions: Positions, log_ends: Positions) -> None:
        """See ``DrainGroup``."""
        self._progress.commit(positions, log_ends=log_ends)


@contextmanager
def connected_drain(options: SourceOptions) -> Iterator[tuple[DrainClusterSource, DrainGroup]]:
    """Connect to a cluster, and to its group if there is one, while a drain runs.

    Raises:
        RegistryError: ZooKeeper does not respond.
    """
    with connected(options) as (reader, progress):
        group = DrainGroup()
        if progress is not None and options.commit_offsets_to != "none":
            group = CommittingGroup(progress, allow_live=options.allow_live_group)
        yield DrainClusterSource(options, reader, progress), group
