"""Numbers in answers that can be no offsets: refused, partition by partition."""

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
    """An answer to ListOffsets."""
    return ListOffsetsResponse(topics=(ListedTopic(topic="t", partitions=partitions),))


def stored(*offsets: int) -> OffsetFetchResponse:
    """An answer to OffsetFetch."""
    parts = tuple(
        OffsetFetchedPartition(partition=number, offset=offset, metadata="", error_code=0)
        for number, offset in enumerate(offsets)
    )
    return OffsetFetchResponse(topics=(OffsetFetchedTopic(topic="t", partitions=parts),))


@absurd
def test_offsets_by_time(offset: int) -> None:
    """They may come right with another try; -1 means that there is none."""
    response = listed(
        ListedPartition(partition=0, error_code=0, offset=-1),
        ListedPartition(partition=1, error_code=0, offset=offset),
    )
    assert read_times(response, version=1) == {GOOD: TimedOffset(-1), BAD: ErrorCode.UNKNOWN}


@absurd
def test_lists_of_offsets(offset: int) -> None:
    """One that is none spoils its list."""
    found = read_segment_starts(
        listed(
            ListedPartition(partition=0, error_code=0, offsets=(7, 0)),
            ListedPartition(partition=1, error_code=0, offsets=(7, offset)),
        )
    )
    assert found == {GOOD: (7, 0), BAD: ErrorCode.UNKNOWN}
    [(tp, one)] = read_times(
        listed(ListedPartition(partition=0, error_code=0, offsets=(offset,))), version=0
    ).items()
    assert (tp, one) == (GOOD, ErrorCode.UNKNOWN)


@absurd
def test_ends_of_epochs(offset: int) -> None:
    """Both -1: the leader has no such epoch."""
    parts = tuple(
        ends.EpochEndOffset(error_code=0, partition=number, leader_epoch=-1, end_offset=end)
        for number, end in enumerate((-1, offset))
    )
    response = ends.OffsetForLeaderEpochResponse(
        topics=(ends.EpochEndTopic(topic="t", partitions=parts),)
    )
    assert read_epoch_ends(response) == {GOOD: EpochEnd(-1, -1), BAD: ErrorCode.UNKNOWN}


@pytest.mark.parametrize("offset", [-2, -1001, -(1 << 63)])
def test_committed_offsets(offset: int) -> None:
    """What is stored and is no offset is not taken for none: -1 is."""
    read = positions(stored(-1, offset))
    assert (read.found, read.codes) == ({GOOD: None}, {BAD: ErrorCode.UNKNOWN})
    seen = read_committed(read, 0)
    advice = "zkconsumer offsets set --force sets another one"
    assert seen == {BAD: f"its offset in Kafka: {offset} is not an offset: {advice}"}
