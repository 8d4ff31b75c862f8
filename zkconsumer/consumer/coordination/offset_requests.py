"""Commits and committed positions as requests of each version, and what their answers say. Pure.

Version 0 of both means offsets in ZooKeeper, and is for brokers that keep no others (0.8.1); else
the coordinator's own are meant, so from version 1 on.
Source: Kafka ``ConsumerCoordinator``; KIP-320, KIP-447.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from zkconsumer.consumer.coordination.terms import by_topic
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.wire.messages.offset_commit import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitTopic,
)
from zkconsumer.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchTopic,
)
from zkconsumer.wire.offsets import is_committed_offset

KAFKA_OFFSETS_SINCE = 1
"""The first version of both requests that means the coordinator's own offsets."""

STATIC_COMMITS_SINCE = 7
"""The first version of OffsetCommit that knows static members."""

STABLE_SINCE = 7
"""The first version of OffsetFetch that can wait for open transactions."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Under which name something is committed.

    Attributes:
        member_id, generation: of a member; "" and -1 of a consumer that chose its partitions.
        instance_id: of a static member.
    """

    member_id: str = ""
    generation: int = -1
    instance_id: str | None = None


NOBODY = Signature()


def bounds(*, in_kafka: bool) -> tuple[int, int | None]:
    """The versions of both requests, from and to, for offsets in Kafka or in ZooKeeper."""
    return (KAFKA_OFFSETS_SINCE, None) if in_kafka else (0, KAFKA_OFFSETS_SINCE - 1)


def commit_request(
    group_id: str, signature: Signature, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> OffsetCommitRequest:
    """OffsetCommit; who it is from, and metadata, are not in version 0."""
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id=signature.generation,
        member_id=signature.member_id,
        group_instance_id=signature.instance_id,
        topics=tuple(
            OffsetCommitTopic(
                topic=topic,
                partitions=tuple(
                    _position(number, offsets[TopicPartition(topic, number)]) for number in numbers
                ),
            )
            for topic, numbers in by_topic(offsets).items()
        ),
    )


def _position(number: int, position: OffsetAndMetadata) -> OffsetCommitPartition:
    return OffsetCommitPartition(
        partition=number,
        offset=position.offset,
        leader_epoch=position.leader_epoch,
        metadata=position.metadata,
    )


def commit_codes(response: OffsetCommitResponse) -> dict[TopicPartition, int]:
    """What the answer says of each partition that it names."""
    return {
        TopicPartition(topic.topic, one.partition): one.error_code
        for topic in response.topics
        for one in topic.partitions
    }


def fetch_request(
    group_id: str, partitions: Collection[TopicPartition], *, version: int
) -> OffsetFetchRequest:
    """OffsetFetch; from version 7 on it waits for transactions that hold offsets of the group."""
    return OffsetFetchRequest(
        group_id=group_id,
        topics=tuple(
            OffsetFetchTopic(topic=topic, partitions=numbers)
            for topic, numbers in by_topic(partitions).items()
        ),
        require_stable=version >= STABLE_SINCE,
    )


@dataclass(frozen=True, slots=True)
class Positions:
    """What an answer to OffsetFetch says.

    Attributes:
        found: the position of each partition that has an answer; None: nothing is committed.
        codes: the error code of each that has one; UNKNOWN where what is committed is no offset.
        code: what is wrong with all of them, 0: nothing.
    """

    found: dict[TopicPartition, OffsetAndMetadata | None] = field(default_factory=dict)
    codes: dict[TopicPartition, int] = field(default_factory=dict)
    code: int = ErrorCode.NONE


def positions(response: OffsetFetchResponse, *, in_kafka: bool = True) -> Positions:
    """Read an answer; about offsets in ZooKeeper an unknown partition is one without an offset."""
    read = Positions(code=response.error_code)
    for topic in response.topics:
        for one in topic.partitions:
            tp = TopicPartition(topic.topic, one.partition)
            if one.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not in_kafka:
                read.found[tp] = None
            elif one.error_code != ErrorCode.NONE:
                read.codes[tp] = one.error_code
            elif not is_committed_offset(one.offset):
                read.codes[tp] = ErrorCode.UNKNOWN
            elif one.offset < 0:
                read.found[tp] = None
            else:
                read.found[tp] = OffsetAndMetadata(one.offset, one.metadata, one.leader_epoch)
    return read
