"""Requests to leaders for offsets of their logs, starts of segments and ends, and the responses.

Source: Kafka 0.8.2.2 ``KafkaApis.fetchOffsetsBefore``. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition
from zkconsumer.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from zkconsumer.wire.offsets import is_offset


@dataclass(frozen=True, slots=True)
class OffsetLists:
    """The result of such a request.

    Attributes:
        offsets: for each partition without an error the offsets, the largest first: starts of the
            segments last written by the requested time, and the end of the log, if it existed by
            then. May be empty.
        errors: the error code of each other partition; UNKNOWN for invalid offsets.
    """

    offsets: Mapping[TopicPartition, tuple[int, ...]]
    errors: Mapping[TopicPartition, int]


def offsets_request(
    times: Mapping[TopicPartition, int], *, max_offsets: int = 1
) -> ListOffsetsRequest:
    """Build the request to the leader of all these partitions.

    Args:
        times: milliseconds since the epoch, ``LATEST_TIMESTAMP`` or ``EARLIEST_TIMESTAMP``.
        max_offsets: the maximum number of offsets per partition.
    """
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for (topic, partition), time_ms in times.items():
        entry = ListOffsetsPartition(
            partition=partition, timestamp=time_ms, max_offsets=max_offsets
        )
        by_topic.setdefault(topic, []).append(entry)
    return ListOffsetsRequest(
        topics=tuple(
            ListOffsetsTopic(topic=topic, partitions=tuple(entries))
            for topic, entries in by_topic.items()
        )
    )


def read_offset_lists(response: ListOffsetsResponse) -> OffsetLists:
    """Read a leader's response."""
    offsets: dict[TopicPartition, tuple[int, ...]] = {}
    errors: dict[TopicPartition, int] = {}
    for topic in response.topics:
        for result in topic.partitions:
            tp = TopicPartition(topic.topic, result.partition)
            if result.error_code != ErrorCode.NONE:
                errors[tp] = result.error_code
            elif not all(map(is_offset, result.offsets)):
                errors[tp] = ErrorCode.UNKNOWN
            else:
                offsets[tp] = result.offsets
    return OffsetLists(offsets, errors)
