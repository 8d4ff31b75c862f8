"""Finds out how far groups are behind in time: by timestamps, or by how logs grow."""

from collections.abc import Collection, Sequence

from zkconsumer.cli.cluster_access import ClusterAccess
from zkconsumer.cli.lag.rows import LagRow, with_times
from zkconsumer.cli.live import pause
from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import TopicPartition
from zkconsumer.status.lag import TimeLag, time_behind
from zkconsumer.status.model import ClusterSnapshot, GroupKey
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.record_times import RecordTimes
from zkconsumer.status.series import History, LogEnds

_Key = tuple[GroupKey, TopicPartition]


class LagSeconds:
    """Thread: one.

    The record at the committed offset says itself how old it is, where the log has timestamps
    (0.10 and later). Where not, it is guessed from how the log has grown since it was first seen:
    a lag of 600 records on a log that grows by 60 a second is ten seconds, about. On a log that
    stands still nothing can be said.

    Args:
        access: the cluster.
    """

    def __init__(self, access: ClusterAccess) -> None:
        self._access = access
        self._history = History()
        self._times = RecordTimes(access.dialer, access.clock)

    def close(self) -> None:
        """Break off what is under way. Idempotent."""
        self._times.close()

    def note(self, snapshot: ClusterSnapshot) -> None:
        """Take up how long logs are; to be called once with every snapshot."""
        self._history.record(snapshot)

    def by_record(self, rows: Sequence[LagRow], snapshot: ClusterSnapshot) -> list[LagRow]:
        """The rows with what timestamps tell; where there is nothing to read, 0."""
        behind = [row for row in rows if row.records and row.committed is not None]
        written = self._written(behind)
        times: dict[_Key, TimeLag] = {}
        for row in behind:
            at_ms = written.get(_place(row))
            if at_ms is not None:
                times[row.key] = TimeLag(max(0, snapshot.taken_ms - at_ms))
        return with_times(rows, times)

    def by_growth(self, rows: Sequence[LagRow], snapshot: ClusterSnapshot) -> list[LagRow]:
        """The rows, those whose time is not known with what the growth of their logs tells."""
        times: dict[_Key, TimeLag] = {}
        for row in rows:
            tp, offset = _place(row)
            ends = self._history.log_ends(tp)
            if row.time is None and row.committed and ends is not None and _has_grown(ends):
                found = time_behind(offset, row.records, ends, snapshot.taken_ms)
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

    def _written(self, rows: Sequence[LagRow]) -> dict[tuple[TopicPartition, int], int]:
        """When the next records to read were written, of those that tell.

        Groups at different offsets of one partition are asked for one after the other.
        """
        found: dict[tuple[TopicPartition, int], int] = {}
        waiting = {_place(row) for row in rows}
        if not waiting:
            return found
        timeout_ms = self._access.timeout_ms
        try:
            view = self._access.client.view({tp.topic for tp, _ in waiting}, timeout_ms=timeout_ms)
        except ZkConsumerError:
            return found  # that brokers don't answer, the snapshot's failures say
        deadline = Deadline(self._access.clock, timeout_ms)
        while waiting and not deadline.is_over:
            wanted = dict(waiting)
            told = self._times.read(wanted, view.leaders, timeout_ms=deadline.left_ms)
            found |= {(tp, wanted[tp]): at_ms for tp, at_ms in told.items()}
            waiting -= set(wanted.items())
        return found


def unknown_groups(rows: Sequence[LagRow]) -> Collection[GroupKey]:
    """The groups that are behind without its being known for how long."""
    return {row.group.key for row in rows if row.records and row.time is None}


def _place(row: LagRow) -> tuple[TopicPartition, int]:
    return row.partition.topic_partition, row.committed.offset if row.committed else 0


def _has_grown(ends: LogEnds) -> bool:
    samples = list(ends)
    return samples[-1].log_end > samples[0].log_end
