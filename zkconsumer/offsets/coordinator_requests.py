"""OffsetCommit and OffsetFetch of every version, made of values and read into values. Pure.

Nobody else builds or reads them. Version 0 of both means offsets in ZooKeeper, which any broker
from 0.8.1 on carries there; from version 1 (0.8.2) on the coordinator's own are meant.
Source: Kafka 0.8.2.2 ``OffsetCommitRequest``, 3.9 ``ConsumerCoordinator``; KIP-88, 320, 345, 447.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.wire.messages.offset_commit import (
    BROKERS_RETENTION,
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

IN_KAFKA_SINCE: Final = 1
"""The first version of both that means the coordinator's own offsets."""

STATIC_MEMBERS_SINCE: Final = 7
"""The first version of OffsetCommit that knows static members."""

ALL_AT_ONCE_SINCE: Final = 2
"""The first version of OffsetFetch that can ask for everything that a group has (0.10.2)."""

STABLE_SINCE: Final = 7
"""The first version of OffsetFetch that can wait for transactions that are about to move one."""

LEFT_OUT: Final = "the coordinator's answer leaves it out"
"""What is said of a partition that an answer does not name."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Under which name something is committed.

    Attributes:
        member_id, generation: of a member; "" and -1 of who is none.
        instance_id: of a static member; None: it is not one.
    """

    member_id: str = ""
    generation: int = -1
    instance_id: str | None = None


NOBODY: Final = Signature()
"""Who is no member of a group that brokers coordinate."""


def bounds(*, in_kafka: bool) -> tuple[int, int | None]:
    """Give the first and the last version of both (None: the newest) that means that place."""
    return (IN_KAFKA_SINCE, None) if in_kafka else (0, IN_KAFKA_SINCE - 1)


def commit_request(
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    signature: Signature = NOBODY,
    *,
    retention_ms: int = BROKERS_RETENTION,
) -> OffsetCommitRequest:
    """Make an OffsetCommit, in the order of ``offsets``.

    Args:
        group_id: the group.
        offsets: what to store; version 0 drops metadata, and all before 6 the leader's epoch.
        signature: who commits; version 0 can't say it, and those before ``STATIC_MEMBERS_SINCE``
            can't be sent for a static member.
        retention_ms: how long to keep them, for versions 2 to 4; all others leave it to the broker,
            as the default does.
    """
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id=signature.generation,
        member_id=signature.member_id,
        group_instance_id=signature.instance_id,
        retention_time_ms=retention_ms,
        topics=tuple(
            OffsetCommitTopic(
                topic=topic,
                partitions=tuple(
                    _position(number, offsets[TopicPartition(topic, number)]) for number in numbers
                ),
            )
            for topic, numbers in _by_topic(offsets).items()
        ),
    )


def commit_codes(response: OffsetCommitResponse) -> dict[TopicPartition, int]:
    """Read what the answer says of each partition that it names: an error code, or 0."""
    return {
        TopicPartition(topic.topic, partition.partition): partition.error_code
        for topic in response.topics
        for partition in topic.partitions
    }


def fetch_request(
    group_id: str,
    partitions: Iterable[TopicPartition] | None,
    *,
    version: int,
    stable: bool = True,
) -> OffsetFetchRequest:
    """Make an OffsetFetch.

    Args:
        group_id: the group.
        partitions: whose positions, in this order; None for all that it has
            (``ALL_AT_ONCE_SINCE``).
        version: in which it will be sent.
        stable: whether what an open transaction is about to move is not to be answered yet
            (``STABLE_SINCE``; before, the last stable offset is the answer).
    """
    topics = None
    if partitions is not None:
        topics = tuple(
            OffsetFetchTopic(topic=topic, partitions=tuple(numbers))
            for topic, numbers in _by_topic(partitions).items()
        )
    return OffsetFetchRequest(
        group_id=group_id, topics=topics, require_stable=stable and version >= STABLE_SINCE
    )


@dataclass(frozen=True, slots=True)
class Positions:
    """What an answer to OffsetFetch says.

    Attributes:
        found: the position of each partition that has an answer; None: nothing is committed.
        codes: the error code of each that has one; UNKNOWN where what is committed is no offset.
        absurd: what is committed there.
        code: what is wrong with all of them, 0: nothing. Before version 2 it stands in each.
    """

    found: dict[TopicPartition, OffsetAndMetadata | None] = field(default_factory=dict)
    codes: dict[TopicPartition, int] = field(default_factory=dict)
    absurd: dict[TopicPartition, int] = field(default_factory=dict)
    code: int = ErrorCode.NONE

    @property
    def all_codes(self) -> frozenset[int]:
        """Every error code in it."""
        return frozenset((self.code, *self.codes.values())) - {ErrorCode.NONE}

    def reason(self, tp: TopicPartition) -> str | None:
        """Say why it is not known what is committed for that partition; None where it is known."""
        if tp in self.absurd:
            return f"{self.absurd[tp]} is no offset"
        code = self.code or self.codes.get(tp, ErrorCode.NONE)
        if code:
            return explained(code)
        return None if tp in self.found else LEFT_OUT


def positions(response: OffsetFetchResponse, *, unknown_is_none: bool = False) -> Positions:
    """Read an answer to OffsetFetch.

    Args:
        response: the answer.
        unknown_is_none: take a partition that the broker does not know for one without an offset,
            as it is said where offsets are in ZooKeeper.
    """
    read = Positions(code=response.error_code)
    for topic in response.topics:
        for partition in topic.partitions:
            tp = TopicPartition(topic.topic, partition.partition)
            if partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and unknown_is_none:
                read.found[tp] = None
            elif partition.error_code != ErrorCode.NONE:
                read.codes[tp] = partition.error_code
            elif not is_committed_offset(partition.offset):
                read.codes[tp], read.absurd[tp] = ErrorCode.UNKNOWN, partition.offset
            elif partition.offset < 0:
                read.found[tp] = None
            else:
                read.found[tp] = OffsetAndMetadata(
                    partition.offset, partition.metadata, partition.leader_epoch
                )
    return read


def _position(number: int, it: OffsetAndMetadata) -> OffsetCommitPartition:
    return OffsetCommitPartition(
        partition=number, offset=it.offset, leader_epoch=it.leader_epoch, metadata=it.metadata
    )


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, number in dict.fromkeys(partitions):
        topics.setdefault(topic, []).append(number)
    return topics
