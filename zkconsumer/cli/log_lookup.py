"""Where logs begin and end, and where a time lies in them, on brokers of any age."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.cluster.time_lookup import TimeLookup
from zkconsumer.errors import TransportError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.planning import LogRange

Logs = Mapping[TopicPartition, LogRange]


class TimeLookupResult(NamedTuple):
    """Where a time lies.

    Attributes:
        offsets: of the first record that is not older, -1 where none is that new; partitions whose
            leaders did not answer are left out.
        exact: whether all brokers know times of records.
    """

    offsets: Mapping[TopicPartition, int]
    exact: bool


class CommandLogLookup:
    """Thread: one.

    Args:
        client: asks.
        timeout_ms: for one question, all tries together.
    """

    def __init__(self, client: ClusterClient, *, timeout_ms: int) -> None:
        self._client = client
        self._timeout_ms = timeout_ms
        self._times = TimeLookup(client, timeout_ms=timeout_ms)

    def logs(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, LogRange]:
        """First offset and end of those logs whose leaders answer."""
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
            # Nobody leads them just now; whoever needs one of them says so.
            return {}
        return {
            tp: LogRange(start.offset, end.offset)
            for tp in partitions
            if isinstance(start := starts.get(tp), TimedOffset)
            and isinstance(end := ends.get(tp), TimedOffset)
        }

    def since(self, time_ms: int, logs: Logs) -> TimeLookupResult:
        """Return where to begin, to get all records that are not older than a time.

        Brokers before 0.10.1, and logs without timestamps, know when segments were last written:
        there it is the beginning of a segment, and older records come, too.

        Args:
            time_ms: milliseconds since the epoch.
            logs: of the partitions that are asked for.

        Raises:
            ZkConsumerError: it can't be asked.
        """
        found = self._times.since(dict.fromkeys(logs, time_ms))
        return TimeLookupResult(found.offsets, found.is_exact)

    def until(self, time_ms: int, logs: Logs) -> TimeLookupResult:
        """Return where to end, to get all records before the first that is not older than a time.

        By segments that is the end of the one that was being written then, and newer records come,
        too. The rest is as with ``since``.
        """
        found = self._times.until(dict.fromkeys(logs, time_ms))
        return TimeLookupResult(found.offsets, found.is_exact)
