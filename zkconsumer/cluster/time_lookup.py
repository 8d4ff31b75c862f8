"""Finds the offsets of a time in logs, on brokers of any version.

Brokers from 0.10.1 on know the times of records. With older brokers, and with logs in the format of
0.9 and before, only the times when segments were last written are known; ranges of whole segments
hold every requested record, and others besides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import UnsupportedVersion
from zkconsumer.model import TopicPartition
from zkconsumer.records.transactions import IsolationLevel

_WITHOUT_TIMES: Final = int(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
_ALL_SEGMENTS: Final = 1 << 20

Times = Mapping[TopicPartition, int]


@dataclass(slots=True)
class OffsetsByTime:
    """The result of a lookup; every partition is in one of the first two.

    Attributes:
        offsets: the offsets of the times; -1: no record is that new.
        errors: the error codes of the others.
        is_exact: whether all offsets are exact to the record.
    """

    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    errors: dict[TopicPartition, int] = field(default_factory=dict)
    is_exact: bool = True


class TimeLookup:
    """Looks offsets up by time. Thread: as the client's.

    Every method raises the errors of ``ClusterClient.list_offsets``.

    Example::

        lookup = TimeLookup(client, timeout_ms=5_000)
        print(lookup.since({TopicPartition("t", 0): 1_700_000_000_000}).offsets)

    Args:
        client: sends the requests.
        timeout_ms: the limit of one request, with all tries.
        isolation: as in ``ClusterClient.list_offsets``.
    """

    def __init__(
        self,
        client: ClusterClient,
        *,
        timeout_ms: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> None:
        self._client = client
        self._timeout_ms = timeout_ms
        self._isolation = isolation

    def since(self, times: Times) -> OffsetsByTime:
        """Return the offsets to begin at, to get all records that are not older than a time.

        If only segment times are known, it is the start of a segment, so older records come, too.

        Args:
            times: the times, in milliseconds since the epoch.
        """
        found, rest = self._by_record(times)
        newer = {}
        for tp, offsets in self._segments(rest, 1, found).items():
            if offsets:
                found.offsets[tp] = offsets[0]
            else:
                newer[tp] = EARLIEST  # no segment was last written before that time
        self._add(newer, found)
        return found

    def until(self, times: Times) -> OffsetsByTime:
        """Return the offsets to end before: those of the first records not older than a time.

        If only segment times are known, it is the end of the segment written at that time, so newer
        records come, too.

        Args:
            times: the times, in milliseconds since the epoch.
        """
        found, rest = self._by_record(times)
        before = self._segments(rest, 1, found)
        for tp, every in self._segments(
            dict.fromkeys(before, LATEST), _ALL_SEGMENTS, found
        ).items():
            done = before[tp][0] if before[tp] else -1
            later = sorted(offset for offset in every if offset > done)
            found.offsets[tp] = later[min(1, len(later) - 1)] if later else done
        return found

    def _by_record(self, times: Times) -> tuple[OffsetsByTime, Times]:
        """Return the offsets exact to the record, and the times left to look up by segment."""
        found = OffsetsByTime()
        try:
            self._add(times, found)
        except UnsupportedVersion:
            return OffsetsByTime(is_exact=not times), times
        rest = {tp: times[tp] for tp, code in found.errors.items() if code == _WITHOUT_TIMES}
        for tp in rest:
            del found.errors[tp]
        found.is_exact = not rest
        return found, rest

    def _add(self, times: Times, found: OffsetsByTime) -> None:
        if not times:
            return
        for tp, reported in self._client.list_offsets(
            times, timeout_ms=self._timeout_ms, isolation=self._isolation
        ).items():
            if isinstance(reported, TimedOffset):
                found.offsets[tp] = reported.offset
            else:
                found.errors[tp] = reported

    def _segments(
        self, times: Times, count: int, found: OffsetsByTime
    ) -> dict[TopicPartition, tuple[int, ...]]:
        """Return up to ``count`` segments of each partition; put errors into ``found``."""
        if not times:
            return {}
        reported = self._client.segment_starts(
            times, timeout_ms=self._timeout_ms, max_offsets=count
        )
        found.errors |= {tp: code for tp, code in reported.items() if isinstance(code, int)}
        return {tp: offset for tp, offset in reported.items() if not isinstance(offset, int)}
