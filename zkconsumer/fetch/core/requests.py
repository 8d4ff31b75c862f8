"""Build fetch requests, and split their responses by partition. Pure."""

from zkconsumer.fetch.core.incremental import SessionStep
from zkconsumer.fetch.core.settings import PollFetchSettings
from zkconsumer.model import TopicPartition
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)


def fetch_request(
    step: SessionStep, settings: PollFetchSettings, *, max_wait_ms: int
) -> FetchRequest:
    """Build the request of a session step; the codec omits what a version lacks."""
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=settings.min_bytes,
        max_bytes=settings.max_bytes,
        isolation_level=int(settings.isolation),
        session_id=step.session_id,
        session_epoch=step.epoch,
        topics=_topics(step),
        forgotten_topics=_forgotten(step),
        rack_id=settings.client_rack,
    )


def responses_of(
    response: FetchResponse, step: SessionStep
) -> dict[TopicPartition, FetchedPartition]:
    """Return each partition's part of a response; drop topics whose id was not requested."""
    names = {one.topic_id: tp.topic for tp, one in step.requests.items() if step.by_id}
    return {
        TopicPartition(names.get(topic.topic_id, topic.topic), partition.partition): partition
        for topic in response.topics
        for partition in topic.partitions
    }


def _topics(step: SessionStep) -> tuple[FetchTopic, ...]:
    """Group by topic; topics, and partitions in each, in the order of their turns."""
    by_topic: dict[str, list[FetchPartition]] = {}
    for tp, one in step.send.items():
        entry = FetchPartition(
            partition=tp.partition,
            current_leader_epoch=one.leader_epoch,
            fetch_offset=one.start.offset,
            last_fetched_epoch=one.start.leader_epoch,
            max_bytes=one.max_bytes,
        )
        by_topic.setdefault(tp.topic, []).append(entry)
    return tuple(
        FetchTopic(topic=topic, topic_id=step.topic_id(topic), partitions=tuple(entries))
        for topic, entries in by_topic.items()
    )


def _forgotten(step: SessionStep) -> tuple[ForgottenTopic, ...]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in step.forget:
        by_topic.setdefault(topic, []).append(partition)
    return tuple(
        ForgottenTopic(topic=topic, topic_id=step.topic_id(topic), partitions=tuple(ids))
        for topic, ids in by_topic.items()
    )
