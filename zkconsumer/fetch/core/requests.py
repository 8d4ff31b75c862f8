"""Build fetch requests, and split their responses by partition: for all readers. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from zkconsumer.fetch.core.incremental import SessionStep, without_session
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.model import TopicPartition, numbers_by_topic
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)

_MOST_BYTES: Final = (1 << 31) - 1
_SESSIONLESS: Final = without_session({}, {})

Entries = Iterable[tuple[TopicPartition, FetchPartition]]


def fetch_request(
    settings: CoreFetchSettings,
    entries: Entries,
    *,
    max_wait_ms: int,
    step: SessionStep = _SESSIONLESS,
) -> FetchRequest:
    """Build a request; the codec omits what a version lacks.

    Args:
        settings: sizes, isolation and rack.
        entries: the partitions to name, in the order of their turns.
        max_wait_ms: longest wait of the broker for data.
        step: its part of a fetch session.
    """
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=settings.min_bytes,
        max_bytes=min(settings.max_bytes, _MOST_BYTES),
        isolation_level=int(settings.isolation),
        session_id=step.session_id,
        session_epoch=step.epoch,
        topics=fetch_topics(entries, step),
        forgotten_topics=_forgotten(step),
        rack_id=settings.client_rack,
    )


def fetch_topics(entries: Entries, step: SessionStep = _SESSIONLESS) -> tuple[FetchTopic, ...]:
    """Group entries by topic; topics, and partitions in each, in the order of their turns."""
    by_topic: dict[str, list[FetchPartition]] = {}
    for tp, entry in entries:
        by_topic.setdefault(tp.topic, []).append(entry)
    return tuple(
        FetchTopic(topic=topic, topic_id=step.topic_id(topic), partitions=tuple(together))
        for topic, together in by_topic.items()
    )


def entries_of(step: SessionStep) -> Entries:
    """Return the partitions that a step of a session names."""
    return (
        (
            tp,
            FetchPartition(
                partition=tp.partition,
                current_leader_epoch=one.leader_epoch,
                fetch_offset=one.start.offset,
                last_fetched_epoch=one.start.leader_epoch,
                max_bytes=one.max_bytes,
            ),
        )
        for tp, one in step.send.items()
    )


def requested_in(request: FetchRequest) -> dict[TopicPartition, FetchPartition]:
    """Return each partition's part of a request that names topics by name."""
    return {
        TopicPartition(topic.topic, partition.partition): partition
        for topic in request.topics
        for partition in topic.partitions
    }


def responses_of(
    response: FetchResponse, step: SessionStep = _SESSIONLESS
) -> dict[TopicPartition, FetchedPartition]:
    """Return each partition's part of a response; a topic of an unknown id has an empty name."""
    names: Mapping[bytes | None, str] = {}
    if step.by_id:
        names = {one.topic_id: tp.topic for tp, one in step.requests.items()}
    return {
        TopicPartition(names.get(topic.topic_id, topic.topic), partition.partition): partition
        for topic in response.topics
        for partition in topic.partitions
    }


def left_out(
    requested: Iterable[TopicPartition],
    responses: Mapping[TopicPartition, FetchedPartition],
    throttle_ms: int,
) -> list[TopicPartition]:
    """Return the partitions that a full response had to name but omits: a retry gets the same.

    A client over its quota gets a throttle time, and nothing else (KIP-219).
    """
    if throttle_ms > 0 and not responses:
        return []
    return [tp for tp in requested if tp not in responses]


def _forgotten(step: SessionStep) -> tuple[ForgottenTopic, ...]:
    return tuple(
        ForgottenTopic(topic=topic, topic_id=step.topic_id(topic), partitions=tuple(ids))
        for topic, ids in numbers_by_topic(step.forget).items()
    )
