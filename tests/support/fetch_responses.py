"""Responses to Fetch and ListOffsets, and helpers to feed them to a fetcher."""

import sys

from tests.support.altered_messages import altered
from tests.support.manual_fetcher import ManualFetcher
from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.stream_partition import LeaderUnusable
from zkconsumer.fetch.stream_partitions import OffsetReset, Outcome
from zkconsumer.model import TopicPartition
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from zkconsumer.wire.messages.list_offsets import (
    ListedPartition,
    ListedTopic,
    ListOffsetsResponse,
)


def fetched(
    tp: TopicPartition, data: bytes | memoryview = b"", *, error: int = 0, high_watermark: int = 100
) -> FetchResponse:
    """Return a fetch response with one partition."""
    part = FetchedPartition(
        partition=tp.partition,
        error_code=error,
        high_watermark=-1 if error else high_watermark,
        records=memoryview(data),
    )
    return FetchResponse(topics=(FetchedTopic(topic=tp.topic, partitions=(part,)),))


def merged(*responses: FetchResponse) -> FetchResponse:
    """Merge several responses into one."""
    return FetchResponse(topics=tuple(topic for response in responses for topic in response.topics))


def listed(tp: TopicPartition, *offsets: int, error: int = 0) -> ListOffsetsResponse:
    """Return a ListOffsets response with one partition."""
    part = ListedPartition(partition=tp.partition, error_code=error, offsets=offsets)
    return ListOffsetsResponse(topics=(ListedTopic(topic=tp.topic, partitions=(part,)),))


def requested(request: FetchRequest | None) -> dict[TopicPartition, FetchPartition]:
    """Return a request's entries by partition; none if there is no request."""
    if request is None:
        return {}
    return {
        TopicPartition(topic.topic, partition.partition): partition
        for topic in request.topics
        for partition in topic.partitions
    }


def requested_about(request: FetchRequest, response: FetchResponse) -> FetchRequest:
    """Restrict a request to the partitions of a response, as if only these were requested."""
    named = {
        (topic.topic, partition.partition)
        for topic in response.topics
        for partition in topic.partitions
    }
    topics = tuple(
        altered(
            topic,
            partitions=tuple(
                partition
                for partition in topic.partitions
                if (topic.topic, partition.partition) in named
            ),
        )
        for topic in request.topics
    )
    return altered(request, topics=topics)


def receive(
    fetcher: ManualFetcher, request: FetchRequest, response: FetchResponse
) -> tuple[Outcome, ...]:
    """Process a response for its own partitions, and unpack all chunks, ignoring capacity."""
    outcomes = list(fetcher.receive_fetch(requested_about(request, response), response))
    while claims := fetcher.packed():
        for claim in claims:
            chunk = fetcher.piece(claim, sys.maxsize)
            if chunk is not None:
                outcomes.append(chunk)
    return tuple(outcomes)


def chunks_in(outcomes: tuple[Outcome, ...]) -> list[Chunk]:
    """Return the chunks to deliver."""
    return [outcome for outcome in outcomes if isinstance(outcome, Chunk)]


def lost_partitions(outcomes: tuple[Outcome, ...]) -> list[tuple[TopicPartition, int | None]]:
    """Return the partitions that need a new leader, with the offset to continue at."""
    return [
        (outcome.claim.topic_partition, outcome.fetch_offset)
        for outcome in outcomes
        if isinstance(outcome, LeaderUnusable)
    ]


def resets_in(outcomes: tuple[Outcome, ...]) -> list[tuple[TopicPartition, int]]:
    """Return the partitions with an out-of-range offset, and that offset."""
    return [
        (outcome.claim.topic_partition, outcome.out_of_range)
        for outcome in outcomes
        if isinstance(outcome, OffsetReset)
    ]
