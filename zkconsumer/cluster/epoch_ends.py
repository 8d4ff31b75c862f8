"""Builds requests to leaders for the ends of leader epochs, to detect truncated logs. Pure.

Source: Kafka 3.9 ``OffsetsForLeaderEpochUtils``; KIP-320.
"""

from collections.abc import Mapping
from typing import NamedTuple

from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition
from zkconsumer.wire.absent import NO_EPOCH
from zkconsumer.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset as ReceivedEpochEnd,
)
from zkconsumer.wire.messages.offset_for_leader_epoch import (
    EpochPartition,
    EpochTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from zkconsumer.wire.offsets import is_offset_or_none


class EpochEnd(NamedTuple):
    """The largest epoch not above the requested one, and its end; both -1 if there is none.

    Attributes:
        epoch: the leader epoch.
        end_offset: the offset after its last record.
    """

    epoch: int
    end_offset: int


def epochs_request(
    requested: Mapping[TopicPartition, tuple[int, int]],
) -> OffsetForLeaderEpochRequest:
    """Build the request to the leader of all these partitions.

    Args:
        requested: the leader epoch as we know it (-1: unknown), and the epoch whose end is wanted.
    """
    by_topic: dict[str, list[EpochPartition]] = {}
    for tp, (current, epoch) in requested.items():
        entry = EpochPartition(
            partition=tp.partition, current_leader_epoch=current, leader_epoch=epoch
        )
        by_topic.setdefault(tp.topic, []).append(entry)
    return OffsetForLeaderEpochRequest(
        topics=tuple(
            EpochTopic(topic=topic, partitions=tuple(entries))
            for topic, entries in by_topic.items()
        )
    )


def read_epoch_ends(response: OffsetForLeaderEpochResponse) -> dict[TopicPartition, EpochEnd | int]:
    """Return the end of each partition's epoch, or its error code.

    Invalid offsets get UNKNOWN, which is retriable.
    """
    return {
        TopicPartition(topic.topic, result.partition): _read_partition(result)
        for topic in response.topics
        for result in topic.partitions
    }


def _read_partition(result: ReceivedEpochEnd) -> EpochEnd | int:
    if result.error_code != ErrorCode.NONE:
        return result.error_code
    if not is_offset_or_none(result.end_offset) or result.leader_epoch < NO_EPOCH:
        return ErrorCode.UNKNOWN
    return EpochEnd(result.leader_epoch, result.end_offset)
