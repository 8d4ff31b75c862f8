"""Answers to Fetch and ListOffsets, as a fetcher gets them."""

import sys
from dataclasses import replace

from tests.support.fetcher_by_hand import FetcherByHand
from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.loop import LeaderUnusable
from zkconsumer.fetch.stream_partitions import Deliver, OffsetReset, Outcome
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
    """An answer about one partition."""
    part = FetchedPartition(
        partition=tp.partition,
        error_code=error,
        high_watermark=-1 if error else high_watermark,
        records=memoryview(data),
    )
    return FetchResponse(topics=(FetchedTopic(topic=tp.topic, partitions=(part,)),))


def together(*responses: FetchResponse) -> FetchResponse:
    """Several answers as one."""
    return FetchResponse(topics=tuple(topic for response in responses for topic in response.topics))


def listed(tp: TopicPartition, *offsets: int, error: int = 0) -> ListOffsetsResponse:
    """An answer about one partition's offsets."""
    part = ListedPartition(partition=tp.partition, error_code=error, offsets=offsets)
    return ListOffsetsResponse(topics=(ListedTopic(topic=tp.topic, partitions=(part,)),))


def requested(request: FetchRequest | None) -> dict[TopicPartition, FetchPartition]:
    """What a request asks about each partition; nothing for no request."""
    if request is None:
        return {}
    return {
        TopicPartition(topic.topic, partition.partition): partition
        for topic in request.topics
        for partition in topic.partitions
    }


def about(request: FetchRequest, response: FetchResponse) -> FetchRequest:
    """The part of a request that an answer names: the rest was not asked for, so to speak."""
    named = {
        (topic.topic, partition.partition)
        for topic in response.topics
        for partition in topic.partitions
    }
    topics = tuple(
        replace(
            topic,
            partitions=tuple(
                partition
                for partition in topic.partitions
                if (topic.topic, partition.partition) in named
            ),
        )
        for topic in request.topics
    )
    return replace(request, topics=topics)


def receive(
    fetcher: FetcherByHand, request: FetchRequest, response: FetchResponse
) -> tuple[Outcome, ...]:
    """Take an answer to what it names, and unpack all of it, as if every queue had room."""
    outcomes = list(fetcher.receive_fetch(about(request, response), response))
    while claims := fetcher.packed():
        for claim in claims:
            chunk = fetcher.piece(claim, sys.maxsize)
            if chunk is not None:
                outcomes.append(Deliver(chunk))
    return tuple(outcomes)


def chunks_in(outcomes: tuple[Outcome, ...]) -> list[Chunk]:
    """The chunks to deliver."""
    return [outcome.chunk for outcome in outcomes if isinstance(outcome, Deliver)]


def lost_in(outcomes: tuple[Outcome, ...]) -> list[tuple[TopicPartition, int | None]]:
    """The partitions to find a leader for, and where to go on."""
    return [
        (outcome.claim.topic_partition, outcome.fetch_offset)
        for outcome in outcomes
        if isinstance(outcome, LeaderUnusable)
    ]


def resets_in(outcomes: tuple[Outcome, ...]) -> list[tuple[TopicPartition, int]]:
    """The partitions whose offset was out of range."""
    return [
        (outcome.claim.topic_partition, outcome.out_of_range)
        for outcome in outcomes
        if isinstance(outcome, OffsetReset)
    ]
