"""Responses with the same error code for every partition of the request."""

from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchedTopic,
    FetchRequest,
    FetchResponse,
)
from zkconsumer.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from zkconsumer.wire.messages.list_offsets import (
    ListedPartition,
    ListedTopic,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from zkconsumer.wire.messages.metadata import MetadataRequest, MetadataResponse, TopicMetadata
from zkconsumer.wire.messages.offset_commit import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommitRequest,
    OffsetCommitResponse,
)
from zkconsumer.wire.messages.offset_fetch import (
    OffsetFetchedPartition,
    OffsetFetchedTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from zkconsumer.wire.messages.produce import (
    ProducedPartition,
    ProducedTopic,
    ProduceRequest,
    ProduceResponse,
)


def failure(request: Request[Response], code: int) -> Response:
    """Return the response to a request in which everything fails with ``code``."""
    match request:
        case FetchRequest():
            return _fetch_failure(request, code)
        case ListOffsetsRequest():
            return _list_failure(request, code)
        case ProduceRequest():
            return _produce_failure(request, code)
        case OffsetCommitRequest():
            return _commit_failure(request, code)
        case OffsetFetchRequest():
            return _offsets_failure(request, code)
        case MetadataRequest(topics=topics):
            failed = (
                TopicMetadata(error_code=code, topic=topic, partitions=()) for topic in topics or ()
            )
            return MetadataResponse(brokers=(), topics=tuple(failed))
        case FindCoordinatorRequest():
            return FindCoordinatorResponse(error_code=code, coordinator_id=-1, host="", port=-1)
        case _:
            raise TypeError(f"no failure is known for {type(request).__name__}")


def failed_fetch(partition: int, code: int) -> FetchedPartition:
    """Return a fetch response's partition with an error and no records."""
    return FetchedPartition(
        partition=partition, error_code=code, high_watermark=-1, records=memoryview(b"")
    )


def no_offset(partition: int, code: int) -> OffsetFetchedPartition:
    """Return an offset response's partition without an offset."""
    return OffsetFetchedPartition(partition=partition, offset=-1, metadata="", error_code=code)


def _fetch_failure(request: FetchRequest, code: int) -> FetchResponse:
    return FetchResponse(
        topics=tuple(
            FetchedTopic(
                topic=topic.topic,
                partitions=tuple(failed_fetch(p.partition, code) for p in topic.partitions),
            )
            for topic in request.topics
        )
    )


def _list_failure(request: ListOffsetsRequest, code: int) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=tuple(
            ListedTopic(
                topic=topic.topic,
                partitions=tuple(
                    ListedPartition(partition=p.partition, error_code=code, offsets=())
                    for p in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _produce_failure(request: ProduceRequest, code: int) -> ProduceResponse:
    return ProduceResponse(
        topics=tuple(
            ProducedTopic(
                topic=topic.topic,
                partitions=tuple(
                    ProducedPartition(partition=p.partition, error_code=code, base_offset=-1)
                    for p in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _commit_failure(request: OffsetCommitRequest, code: int) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=tuple(
            CommittedTopic(
                topic=topic.topic,
                partitions=tuple(
                    CommittedPartition(partition=p.partition, error_code=code)
                    for p in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _offsets_failure(request: OffsetFetchRequest, code: int) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        topics=tuple(
            OffsetFetchedTopic(
                topic=offset_fetch_topic.topic,
                partitions=tuple(
                    no_offset(number, code) for number in offset_fetch_topic.partitions
                ),
            )
            for offset_fetch_topic in request.topics or ()
        )
    )
