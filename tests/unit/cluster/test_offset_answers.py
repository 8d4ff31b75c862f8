"""Impossible offsets in responses are refused, partition by partition."""

import pytest

from zkconsumer.cluster.epoch_ends import EpochEnd, read_epoch_ends
from zkconsumer.cluster.offset_times import TimedOffset, read_segment_starts, read_times
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.coordinator_requests import positions
from zkconsumer.status.reading.coordinator_responses import read_committed
from zkconsumer.wire.messages import offset_for_leader_epoch as ends
from zkconsumer.wire.messages.list_offsets import (
    ListedPartition,
    ListedTopic,
    ListOffsetsResponse,
)
from zkconsumer.wire.messages.offset_fetch import (
    OffsetFetchedPartition,
    OffsetFetchedTopic,
    OffsetFetchResponse,
)

GOOD, BAD = TopicPartition("t", 0), TopicPartition("t", 1)
absurd = pytest.mark.parametrize("offset", [-2, -1001, -(1 << 63), (1 << 63) - 1])


def listed(*partitions: ListedPartition) -> ListOffsetsResponse:
    """Build a ListOffsets response."""
    return ListOffsetsResponse(topics=(ListedTopic(topic="t", partitions=partitions),))


def stored(*offsets: int) -> OffsetFetchResponse:
    """Build an OffsetFetch response."""
    parts = tuple(
        OffsetFetchedPartition(partition=number, offset=offset, metadata="", error_code=0)
        for number, offset in enumerate(offsets)
    )
    return OffsetFetchResponse(topics=(OffsetFetchedTopic(topic="t", partitions=parts),))


@absurd
def test_an_impossible_listed_offset_is_an_error(offset: int) -> None:
    """An impossible offset becomes a retriable error; -1 means that there is no such offset."""
    response = listed(
        ListedPartition(partition=0, error_code=0, offset=-1),
        ListedPartition(partition=1, error_code=0, offset=offset),
    )
    assert read_times(response, version=1) == {GOOD: TimedOffset(-1), BAD: ErrorCode.UNKNOWN}


@absurd
def test_one_impossible_offset_invalidates_its_list(offset: int) -> None:
    """In responses of version 0, one impossible offset invalidates its partition's whole list."""
    found = read_segment_starts(
        listed(
            ListedPartition(partition=0, error_code=0, offsets=(7, 0)),
            ListedPartition(partition=1, error_code=0, offsets=(7, offset)),
        )
    )
    assert found == {GOOD: (7, 0), BAD: ErrorCode.UNKNOWN}
    [(tp, offset_or_code)] = read_times(
        listed(ListedPartition(partition=0, error_code=0, offsets=(offset,))), version=0
    ).items()
    assert (tp, offset_or_code) == (GOOD, ErrorCode.UNKNOWN)


@absurd
def test_an_impossible_end_of_an_epoch_is_an_error(offset: int) -> None:
    """An impossible end offset is an error; both values -1 mean that there is no such epoch."""
    parts = tuple(
        ends.EpochEndOffset(error_code=0, partition=number, leader_epoch=-1, end_offset=end)
        for number, end in enumerate((-1, offset))
    )
    response = ends.OffsetForLeaderEpochResponse(
        topics=(ends.EpochEndTopic(topic="t", partitions=parts),)
    )
    assert read_epoch_ends(response) == {GOOD: EpochEnd(-1, -1), BAD: ErrorCode.UNKNOWN}


@pytest.mark.parametrize("offset", [-2, -1001, -(1 << 63)])
def test_an_impossible_committed_offset_is_an_error(offset: int) -> None:
    """An impossible committed offset is reported; only -1 means that none was committed."""
    read = positions(stored(-1, offset))
    assert (read.found, read.codes) == ({GOOD: None}, {BAD: ErrorCode.UNKNOWN})
    seen = read_committed(read, 0)
    advice = "zkconsumer offsets set --force sets another one"
    assert seen == {BAD: f"its offset in Kafka: {offset} is not an offset: {advice}"}
