"""Reads the drained cluster, and commits the group's offsets, on the driver."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from zkconsumer.drain.plan import ClusterLogs, Positions
from zkconsumer.model import TopicPartition
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.creations import Creations
from zkconsumer.spark.data_loss import LogBounds
from zkconsumer.spark.group_progress import GroupProgress, connected
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.planning import CachedLogEnds, starting_offsets


class DrainClusterSource:
    """Reads log ends from brokers, which may be looked up in ZooKeeper.

    Methods raise ``ZkConsumerError`` if the cluster can't be read.

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
        """Read the current log ends.

        Args:
            positions: the positions of known partitions; others begin at their logs' start. None
                for a new drain, whose partitions begin at the configured start.
        """
        partitions = self._reader.partitions(self._options.subscription)
        created = self.created({tp.topic for tp in partitions})
        if positions is None:
            logs = CachedLogEnds(self._reader, partitions)
            committed = None if self._progress is None else self._progress.committed
            first = starting_offsets(self._options, partitions, logs, committed)
            return ClusterLogs(logs.bounds, first, created)
        bounds = self.ends(partitions, positions)
        starts = {tp: bounds.earliest[tp] for tp in partitions if tp not in positions}
        return ClusterLogs(bounds, starts, created)

    def created(self, topics: Collection[str]) -> Creations:
        """Return the creation of each topic, if known; never raises."""
        return self._reader.creations(topics)

    def ends(self, partitions: Sequence[TopicPartition], known: Positions) -> LogBounds:
        """Return the start and end of each log; an end below the known one is requested again."""
        # The end first: the start of a log never passes an end that was read before.
        latest = self._reader.latest(partitions, known=known)
        earliest = self._reader.earliest(partitions)
        return LogBounds(earliest, latest)


@contextmanager
def connected_drain(
    options: SourceOptions,
) -> Iterator[tuple[DrainClusterSource, GroupProgress | None]]:
    """Connect to a cluster, and to the group to commit to if there is one, while a drain runs.

    Raises:
        RegistryError: ZooKeeper does not respond.
    """
    with connected(options) as (reader, progress):
        is_committing = options.commit_offsets_to != "none"
        yield DrainClusterSource(options, reader, progress), progress if is_committing else None
