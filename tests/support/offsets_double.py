"""A group's committed offsets without a network: requests in, responses out."""

from tests.fakes.fake_group import FakeGroupCoordinator
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import OffsetAndMetadata, TopicPartition
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


class OffsetsDouble:
    """The offsets of one group, which fences commits.

    Args:
        group: the group, which decides who may commit.
        old: whether responses lack an error code for the whole response (before 0.10.2).

    Attributes:
        stored: the committed offsets.
        history: all commits in order.
    """

    def __init__(self, group: FakeGroupCoordinator, *, old: bool) -> None:
        self._group = group
        self._old = old
        self.stored: dict[TopicPartition, OffsetAndMetadata] = {}
        self.history: list[tuple[TopicPartition, int]] = []

    def _code(self, request: OffsetCommitRequest) -> int:
        """Return the error code of a commit. Source: Kafka ``validateOffsetCommit``."""
        group = self._group
        if request.generation_id < 0:
            return ErrorCode.UNKNOWN_MEMBER_ID if group.members else ErrorCode.NONE
        if request.member_id not in group.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if group.state == "CompletingRebalance":
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def commit(self, request: OffsetCommitRequest, code: int | None = None) -> OffsetCommitResponse:
        """Store offsets, or respond with that code; None: as the group's state requires."""
        if code is None:
            code = self._code(request)
        for topic in request.topics:
            for offset_commit_partition in topic.partitions:
                if not code:
                    tp = TopicPartition(topic.topic, offset_commit_partition.partition)
                    position = OffsetAndMetadata(
                        offset_commit_partition.offset,
                        offset_commit_partition.metadata,
                        offset_commit_partition.leader_epoch,
                    )
                    self.stored[tp] = position
                    self.history.append((tp, offset_commit_partition.offset))
        return OffsetCommitResponse(
            topics=tuple(
                CommittedTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        CommittedPartition(partition=partition.partition, error_code=code)
                        for partition in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def positions(
        self, request: OffsetFetchRequest, code: int = 0, *, in_kafka: bool = True
    ) -> OffsetFetchResponse:
        """Return stored offsets, or that code; a missing offset is an error in ZooKeeper only."""
        old = self._old
        of_none = ErrorCode.NONE if in_kafka else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        missing = OffsetAndMetadata(-1)
        return OffsetFetchResponse(
            error_code=0 if old else code,
            topics=tuple(
                OffsetFetchedTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        OffsetFetchedPartition(
                            partition=number,
                            offset=at.offset,
                            leader_epoch=-1 if old else at.leader_epoch,
                            metadata=at.metadata,
                            error_code=(code or (of_none if at is missing else 0)) if old else 0,
                        )
                        for number in topic.partitions
                        for at in (self.stored.get(TopicPartition(topic.topic, number), missing),)
                    ),
                )
                for topic in request.topics or ()
            ),
        )
