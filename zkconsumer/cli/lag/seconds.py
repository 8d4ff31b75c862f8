"""Measures the growth of logs, to estimate lags in time for records without timestamps."""

from collections.abc import Collection, Sequence

from zkconsumer.cli.cluster_access import CommandCluster
from zkconsumer.cli.lag.rows import LagRow
from zkconsumer.cli.live import pause
from zkconsumer.status.lag import TimeLag, time_behind
from zkconsumer.status.model import ClusterSnapshot, GroupKey
from zkconsumer.status.series import History

TIMES_MOST = 1_000_000
"""The maximum number of record timestamps to read: practically all, within the time-out."""


class LagSeconds:
    """Estimates lags in time. Thread: one.

    The snapshot has the timestamps of records. For logs without them the growth is measured: a lag
    of 600 records in a log that grows by 60 a second is about ten seconds. A log that does not grow
    gives an estimate only after a minute (``--watch``).
    """

    def __init__(self, access: CommandCluster) -> None:
        self._access = access
        self._history = History()

    def note(self, snapshot: ClusterSnapshot) -> None:
        """Record the log ends of a snapshot; call it once for each."""
        self._history.record(snapshot)

    def timed(self, rows: Sequence[LagRow], snapshot: ClusterSnapshot) -> list[LagRow]:
        """Return the rows with lags in time, as far as known."""
        return [row._replace(time=self._time_of(row, snapshot) or row.time) for row in rows]

    def _time_of(self, row: LagRow, snapshot: ClusterSnapshot) -> TimeLag | None:
        return time_behind(
            row.committed.offset if row.committed else 0,
            row.records,
            self._history.log_ends(row.partition.topic_partition),
            snapshot.taken_ms,
            written_ms=row.partition.next_written_ms,
        )

    def sample(self, rows: Sequence[LagRow], sample_ms: int) -> None:
        """Read the logs with unknown times again after ``sample_ms``."""
        keys = unknown_groups(rows)
        if not keys or not sample_ms:
            return
        pause(sample_ms)
        self.note(self._access.read_groups(keys))


def unknown_groups(rows: Sequence[LagRow]) -> Collection[GroupKey]:
    """Return the groups with a lag whose time is unknown."""
    return {row.group.key for row in rows if row.records and row.time is None}
