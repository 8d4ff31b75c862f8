"""Where logs begin and end, and where a time lies in them, on brokers of any age."""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import TransportError, UnsupportedVersion
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.planning import LogRange

_WITHOUT_TIMES: Final = int(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
_ALL_SEGMENTS: Final = 1 << 20

Logs = Mapping[TopicPartition, LogRange]


class TimeFound(NamedTuple):
    """Where a time lies.

    Attributes:
        offsets: of the first record that is not older, -1 where none is that new; partitions whose
            leaders did not answer are left out.
        exact: whether all brokers know times of records.
    """

    offsets: Mapping[TopicPartition, int]
    exact: bool


class LogLookup:
    """Thread: one.

    Args:
        client: asks.
        timeout_ms: for one question, all tries together.
    """

    def __init__(self, client: ClusterClient, *, timeout_ms: int) -> None:
        self._client = client
        self._timeout_ms = timeout_ms

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

    def since(self, time_ms: int, logs: Logs) -> TimeFound:
        """Where to begin, to get all records that are not older than a time.

        Brokers before 0.10.1, and logs without timestamps, know when segments were last written:
        there it is the beginning of a segment, and older records come, too.

        Args:
            time_ms: milliseconds since the epoch.
            logs: of the partitions that are asked for.

        Raises:
            ZkConsumerError: it can't be asked.
        """
        found, rest = self._by_record(time_ms, logs)
        for tp, offsets in self._segments(rest, time_ms, 1).items():
            # None was written to the last time before that: all of it is newer.
            found[tp] = offsets[0] if offsets else logs[tp].start
        return TimeFound(found, exact=not rest)

    def until(self, time_ms: int, logs: Logs) -> TimeFound:
        """Where to end, to get all records before the first that is not older than a time.

        By segments that is the end of the one that was being written then, and newer records come,
        too. The rest is as with ``since``.
        """
        found, rest = self._by_record(time_ms, logs)
        every = self._segments(rest, LATEST, _ALL_SEGMENTS)
        for tp, offsets in self._segments(rest, time_ms, 1).items():
            done = offsets[0] if offsets else -1
            later = sorted(offset for offset in every.get(tp, ()) if offset > done)
            found[tp] = later[1] if len(later) > 1 else logs[tp].end
        return TimeFound(found, exact=not rest)

    def _by_record(
        self, time_ms: int, logs: Logs
    ) -> tuple[dict[TopicPartition, int], list[TopicPartition]]:
        """What is known to the record, and what is not."""
        told: Mapping[TopicPartition, TimedOffset | int]
        try:
            told = self._client.list_offsets(
                dict.fromkeys(logs, time_ms), timeout_ms=self._timeout_ms
            )
        except UnsupportedVersion:
            told = dict.fromkeys(logs, _WITHOUT_TIMES)
        found = {tp: one.offset for tp, one in told.items() if isinstance(one, TimedOffset)}
        return found, [tp for tp, one in told.items() if one == _WITHOUT_TIMES]

    def _segments(
        self, partitions: Collection[TopicPartition], time_ms: int, count: int
    ) -> dict[TopicPartition, tuple[int, ...]]:
        if not partitions:
            return {}
        told = self._client.segment_starts(
            dict.fromkeys(partitions, time_ms), timeout_ms=self._timeout_ms, max_offsets=count
        )
        return {tp: offsets for tp, offsets in told.items() if not isinstance(offsets, int)}
