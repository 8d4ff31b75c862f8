"""Builds requests to leaders for offsets by time, and reads the responses; all versions. Pure.

Before 0.10.1 a broker knows only the two ends; for a real time it returns starts of segments.
Source: Kafka 3.9 ``OffsetFetcherUtils``; KIP-79, KIP-207, KIP-320.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.absent import NO_EPOCH, NO_OFFSET
from zkconsumer.wire.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListedPartition,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from zkconsumer.wire.offsets import is_offset, is_offset_or_none

EARLIEST: Final = EARLIEST_TIMESTAMP
LATEST: Final = LATEST_TIMESTAMP


class TimedOffset(NamedTuple):
    """An offset found by time.

    Attributes:
        offset: that of the first record not older than the requested time, or an end of the log;
            -1: no such record.
        timestamp: that record's, in ms since the epoch; -1 for an end.
        leader_epoch: that record's; None: not in the response.
    """

    offset: int
    timestamp: int = -1
    leader_epoch: int | None = None


def least_version(times: Mapping[TopicPartition, int]) -> int:
    """Return the first version of ListOffsets that supports these times."""
    requested = set(times.values())
    if MAX_TIMESTAMP in requested:
        return 7
    return 1 if requested - {EARLIEST, LATEST} else 0


def times_request(
    times: Mapping[TopicPartition, int],
    leader_epochs: Mapping[TopicPartition, int] = MappingProxyType({}),
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    *,
    max_offsets: int = 1,
) -> ListOffsetsRequest:
    """Build the request to the leader of all these partitions.

    Args:
        times: milliseconds since the epoch, ``LATEST`` or ``EARLIEST``.
        leader_epochs: as far as known; a leader of another epoch refuses the request.
        isolation: with ``READ_COMMITTED``, ``LATEST`` is the last stable offset.
        max_offsets: the maximum number of offsets per partition; above 1 only in version 0.
    """
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for tp, time_ms in times.items():
        entry = ListOffsetsPartition(
            partition=tp.partition,
            current_leader_epoch=leader_epochs.get(tp, NO_EPOCH),
            timestamp=time_ms,
            max_offsets=max_offsets,
        )
        by_topic.setdefault(tp.topic, []).append(entry)
    return ListOffsetsRequest(
        isolation_level=int(isolation),
        topics=tuple(
            ListOffsetsTopic(topic=topic, partitions=tuple(entries))
            for topic, entries in by_topic.items()
        ),
    )


def read_times(
    response: ListOffsetsResponse, version: int
) -> dict[TopicPartition, TimedOffset | int]:
    """Return the offset of each partition in the response, or its error code.

    Invalid offsets get UNKNOWN, which is retriable.
    """
    return {
        TopicPartition(topic.topic, result.partition): _read_partition(result, version)
        for topic in response.topics
        for result in topic.partitions
    }


def read_segment_starts(
    response: ListOffsetsResponse, _version: int = 0
) -> dict[TopicPartition, tuple[int, ...] | int]:
    """Return the offsets of each partition in the response, or its error code.

    The largest comes first: starts of the segments last written by the requested time, and the end
    of the log, if it existed by then. Invalid offsets get UNKNOWN. Source: Kafka 0.8.2.2
    ``KafkaApis.fetchOffsetsBefore``.
    """
    return {
        TopicPartition(topic.topic, result.partition): result.error_code
        or (result.offsets if all(map(is_offset, result.offsets)) else ErrorCode.UNKNOWN)
        for topic in response.topics
        for result in topic.partitions
    }


def _read_partition(result: ListedPartition, version: int) -> TimedOffset | int:
    if result.error_code != ErrorCode.NONE:
        return result.error_code
    if version == 0:
        offset = result.offsets[0] if result.offsets else NO_OFFSET
        return TimedOffset(offset) if is_offset_or_none(offset) else ErrorCode.UNKNOWN
    epoch = None if result.leader_epoch == NO_EPOCH else result.leader_epoch
    if not is_offset_or_none(result.offset) or (epoch is not None and epoch < 0):
        return ErrorCode.UNKNOWN
    return TimedOffset(result.offset, result.timestamp, epoch)
