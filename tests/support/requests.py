"""Short helpers that build requests about one partition, and read its part of responses."""

from typing import Protocol, TypeVar

from zkconsumer.model import TopicPartition
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from zkconsumer.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from zkconsumer.wire.messages.offset_commit import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
)
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchTopic
from zkconsumer.wire.messages.produce import ProducePartition, ProduceRequest, ProduceTopic

P_co = TypeVar("P_co", covariant=True)


class _Topic(Protocol[P_co]):
    @property
    def topic(self) -> str: ...
    @property
    def partitions(self) -> tuple[P_co, ...]: ...


class _Topics(Protocol[P_co]):
    @property
    def topics(self) -> tuple[_Topic[P_co], ...]: ...


def only(response: _Topics[P_co]) -> P_co:
    """Return a response's only partition."""
    ((result,),) = [topic.partitions for topic in response.topics]
    return result


def fetch(
    tp: TopicPartition, offset: int, *, max_bytes: int = 1 << 20, max_wait_ms: int = 100
) -> FetchRequest:
    """Return a fetch request for one partition."""
    partition = FetchPartition(partition=tp.partition, fetch_offset=offset, max_bytes=max_bytes)
    topics = (FetchTopic(topic=tp.topic, partitions=(partition,)),)
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=topics)


def produce(tp: TopicPartition, records: bytes, *, acks: int = 1) -> ProduceRequest:
    """Return a request that appends a message set."""
    partition = ProducePartition(partition=tp.partition, records=records)
    topics = (ProduceTopic(topic=tp.topic, partitions=(partition,)),)
    return ProduceRequest(acks=acks, timeout_ms=10_000, topics=topics)


def list_offsets(tp: TopicPartition, timestamp: int, *, max_offsets: int = 1) -> ListOffsetsRequest:
    """Return a ListOffsets request for one partition."""
    partition = ListOffsetsPartition(
        partition=tp.partition, timestamp=timestamp, max_offsets=max_offsets
    )
    return ListOffsetsRequest(topics=(ListOffsetsTopic(topic=tp.topic, partitions=(partition,)),))


def commit(
    group: str, tp: TopicPartition, offset: int, *, metadata: str = ""
) -> OffsetCommitRequest:
    """Return a request that commits an offset."""
    partition = OffsetCommitPartition(partition=tp.partition, offset=offset, metadata=metadata)
    topics = (OffsetCommitTopic(topic=tp.topic, partitions=(partition,)),)
    return OffsetCommitRequest(group_id=group, topics=topics)


def fetch_offset(group: str, tp: TopicPartition) -> OffsetFetchRequest:
    """Return a request for a committed offset."""
    topics = (OffsetFetchTopic(topic=tp.topic, partitions=(tp.partition,)),)
    return OffsetFetchRequest(group_id=group, topics=topics)
