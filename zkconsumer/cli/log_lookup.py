"""Looks up offsets in logs, by their ends or by time, on brokers of any age."""

from collections.abc import Collection, Mapping

from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.cluster.time_lookup import OffsetsByTime, TimeLookup
from zkconsumer.errors import TransportError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.planning import LogRange

Logs = Mapping[TopicPartition, LogRange]


class CommandLogLookup:
    """Looks up offsets in logs. Thread: one.

    Args:
        client: sends the requests.
        timeout_ms: the time limit of one lookup, all attempts together.
    """

    def __init__(self, client: ClusterClient, *, timeout_ms: int) -> None:
        self._client = client
        self._timeout_ms = timeout_ms
        self._times = TimeLookup(client, timeout_ms=timeout_ms)

    def logs(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, LogRange]:
        """Return start and end of the logs whose leaders respond."""
        if not partitions:
            return {}
        try:
            starts, ends = (
                self._client.list_offsets(
                    dict.fromkeys(partitions, time), timeout_ms=self._timeout_ms
                )
                for time in (EARLIEST, LATEST)
            )
        except TransportError:
            # No leader responds; callers report the missing partitions if they need them.
            return {}
        return {
            tp: LogRange(start.offset, end.offset)
            for tp in partitions
            if isinstance(start := starts.get(tp), TimedOffset)
            and isinstance(end := ends.get(tp), TimedOffset)
        }

    def since(self, time_ms: int, logs: Logs) -> OffsetsByTime:
        """Return the offsets from which to read all records that are not older than a time.

        Brokers before 0.10.1, and logs without timestamps, use the modification times of segments:
        then the result is the start of a segment, which also has older records.

        Args:
            time_ms: milliseconds since the epoch.
            logs: the logs of the requested partitions.

        Raises:
            ZkConsumerError: the lookup failed.
        """
        return self._times.since(dict.fromkeys(logs, time_ms))

    def until(self, time_ms: int, logs: Logs) -> OffsetsByTime:
        """Return the end offsets of a read that ends before the first record since a time.

        By segment, the offset is the end of the segment that was written at that time, which also
        has newer records; see ``since``.
        """
        return self._times.until(dict.fromkeys(logs, time_ms))
