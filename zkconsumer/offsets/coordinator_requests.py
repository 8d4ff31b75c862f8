"""Build OffsetCommit and OffsetFetch requests of every version, and read their responses. Pure.

No other module does. Version 0 of both is for offsets in ZooKeeper, which any broker from 0.8.1 on
accesses for the client; from version 1 (0.8.2) on they are for the coordinator's own offsets.
Source: Kafka 0.8.2.2 ``OffsetCommitRequest``, 3.9 ``ConsumerCoordinator``; KIP-88, 320, 345, 447.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.model import OffsetAndMetadata, TopicPartition, numbers_by_topic
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

IN_KAFKA_SINCE: Final = 1
"""The first version of both that is for the coordinator's own offsets."""

STATIC_MEMBERS_SINCE: Final = 7
"""The first version of OffsetCommit with static members."""

ALL_AT_ONCE_SINCE: Final = 2
"""The first version of OffsetFetch that can request all offsets of a group (0.10.2)."""

STABLE_SINCE: Final = 7
"""The first version of OffsetFetch that can wait for open transactions."""

LEFT_OUT: Final = "the coordinator's response lacks it"
"""The reason for a partition that the response does not contain."""


class Signature(NamedTuple):
    """The identity under which offsets are committed.

    Attributes:
        member_id, generation: the member's; "" and -1 without membership.
        instance_id: the static member's; else None.
    """

    member_id: str = ""
    generation: int = -1
    instance_id: str | None = None


NOBODY: Final = Signature()
"""The identity of a consumer that is not a member of a coordinator's group."""


def bounds(*, in_kafka: bool) -> tuple[int, int | None]:
    """Return the first and the last version for a storage (None: the newest)."""
    return (IN_KAFKA_SINCE, None) if in_kafka else (0, IN_KAFKA_SINCE - 1)


def commit_request(
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    signature: Signature = NOBODY,
) -> OffsetCommitRequest:
    """Build an OffsetCommit, in the order of ``offsets``; the broker decides how long to keep them.

    Args:
        group_id: the group.
        offsets: the offsets to store; version 0 drops metadata, and all before 6 the leader epoch.
        signature: the identity; version 0 does not contain it, and versions before
            ``STATIC_MEMBERS_SINCE`` can't be sent for a static member.
    """
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
            for topic, numbers in numbers_by_topic(offsets).items()
        ),
    )


def commit_codes(response: OffsetCommitResponse) -> dict[TopicPartition, int]:
    """Return the error code of each partition in the response, 0 for success."""
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
    """Build an OffsetFetch.

    Args:
        group_id: the group.
        partitions: the partitions, in this order; None for all of the group
            (``ALL_AT_ONCE_SINCE``).
        version: the version in which it will be sent.
        stable: whether offsets that an open transaction is about to commit are a retriable error
            (``STABLE_SINCE``; earlier versions return the offsets committed before).
    """
    topics = None
    if partitions is not None:
        topics = tuple(
            OffsetFetchTopic(topic=topic, partitions=tuple(numbers))
            for topic, numbers in numbers_by_topic(dict.fromkeys(partitions)).items()
        )
    return OffsetFetchRequest(
        group_id=group_id, topics=topics, require_stable=stable and version >= STABLE_SINCE
    )


@dataclass(frozen=True, slots=True)
class Positions:
    """The result of an OffsetFetch.

    Attributes:
        found: the offset of each partition with a result; None: nothing is committed.
        codes: the error codes by partition; UNKNOWN if the committed value is not an offset.
        absurd: the committed values that are not offsets.
        code: the error code of the whole response; 0: none. Before version 2, each partition has it
            instead.
    """

    found: dict[TopicPartition, OffsetAndMetadata | None] = field(default_factory=dict)
    codes: dict[TopicPartition, int] = field(default_factory=dict)
    absurd: dict[TopicPartition, int] = field(default_factory=dict)
    code: int = ErrorCode.NONE

    @property
    def all_codes(self) -> frozenset[int]:
        """All error codes in it."""
        return frozenset((self.code, *self.codes.values())) - {ErrorCode.NONE}

    def reason(self, tp: TopicPartition) -> str | None:
        """Return why a partition's committed offset is unknown; None if it is known."""
        if tp in self.absurd:
            return (
                f"{self.absurd[tp]} is not an offset: zkconsumer offsets set --force sets another "
                "one"
            )
        code = self.code or self.codes.get(tp, ErrorCode.NONE)
        if code:
            return explained(code)
        return None if tp in self.found else LEFT_OUT


def positions(response: OffsetFetchResponse, *, unknown_is_none: bool = False) -> Positions:
    """Read the response to an OffsetFetch.

    Args:
        response: the response.
        unknown_is_none: treat a partition that the broker does not know as one without an offset,
            as version 0 responds for offsets in ZooKeeper.
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


def _position(number: int, offset: OffsetAndMetadata) -> OffsetCommitPartition:
    return OffsetCommitPartition(
        partition=number,
        offset=offset.offset,
        leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
    )
