"""Watches logs grow, for lags in time where records do not tell when they were written."""

from collections.abc import Collection, Sequence

from zkconsumer.cli.cluster_access import CommandCluster
from zkconsumer.cli.lag.rows import LagRow, with_times
from zkconsumer.cli.live import pause
from zkconsumer.model import TopicPartition
from zkconsumer.status.lag import TimeLag, time_behind
from zkconsumer.status.model import ClusterSnapshot, GroupKey
from zkconsumer.status.series import History

_Key = tuple[GroupKey, TopicPartition]

TIMES_MOST = 1_000_000
"""Of how many records to ask when they were written: of all, within the time-out."""


class LagSeconds:
    """Thread: one.

    The snapshot holds what records say themselves. Of other logs the growth is watched: a lag of
    600 records on a log that grows by 60 a second is ten seconds, about. On a log that stands still
    nothing can be said, unless it is watched for long.

    Args:
        access: the cluster.
    """

    def __init__(self, access: CommandCluster) -> None:
        self._access = access
        self._history = History()

    def note(self, snapshot: ClusterSnapshot) -> None:
        """Take up how long logs are; to be called once with every snapshot."""
        self._history.record(snapshot)

    def timed(self, rows: Sequence[LagRow], snapshot: ClusterSnapshot) -> list[LagRow]:
        """Return the rows with how far each is behind in time, as far as that is known."""
        times: dict[_Key, TimeLag] = {}
        for row in rows:
            tp = row.partition.topic_partition
            found = time_behind(
                row.committed.offset if row.committed else 0,
                row.records,
                self._history.log_ends(tp),
                snapshot.taken_ms,
                written_ms=row.partition.next_written_ms,
            )
            if found is not None:
                times[row.key] = found
        return with_times(rows, times)

    def sample(self, rows: Sequence[LagRow], sample_ms: int) -> None:
        """Look once more, ``sample_ms`` later, at the logs whose times are not known."""
        keys = unknown_groups(rows)
        if not keys or not sample_ms:
            return
        pause(sample_ms)
        self.note(self._access.look(keys))


def unknown_groups(rows: Sequence[LagRow]) -> Collection[GroupKey]:
    """Return the groups that are behind without its being known for how long."""
    return {row.group.key for row in rows if row.records and row.time is None}
