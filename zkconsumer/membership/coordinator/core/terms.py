"""The facts about a member that all requests need, and the strategies' user data. Pure.

Source: Kafka ``StickyAssignor`` and ``CooperativeStickyAssignor``; KIP-341.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.model import TopicPartition, numbers_by_topic
from zkconsumer.wire.consumer_protocol import NO_GENERATION, TopicPartitions
from zkconsumer.wire.fault import Fault
from zkconsumer.wire.reader import reader_of
from zkconsumer.wire.schema import ApiMessage, Hint, Int32, Since
from zkconsumer.wire.tagged import Pieces
from zkconsumer.wire.writer import writer_of


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTerms:
    """The group, and the settings of membership in it.

    Attributes:
        group_id: ``group.id``.
        settings: see ``GroupSettings``.
        rack_id: ``client.rack``, for leaders that assign by it; None: not set.
    """

    group_id: str
    settings: GroupSettings
    rack_id: str | None = None

    @property
    def name(self) -> str:
        """The member's name in log messages."""
        return f"group {self.group_id}"


class _StickyData(ApiMessage):
    """The user data of ``sticky``; version 0 had no generation. It carries no version number."""

    previous_assignment: tuple[TopicPartitions, ...]
    generation: Annotated[Int32, Since(1), Hint()] = NO_GENERATION


class _CooperativeData(ApiMessage):
    """The user data of ``cooperative-sticky``, for leaders that read no generation elsewhere."""

    generation: Int32


def to_wire(partitions: Iterable[TopicPartition]) -> tuple[TopicPartitions, ...]:
    """Convert partitions to the embedded protocol, topics and numbers ascending."""
    return tuple(
        TopicPartitions(topic=topic, partitions=tuple(numbers))
        for topic, numbers in numbers_by_topic(sorted(partitions)).items()
    )


def from_wire(topics: Iterable[TopicPartitions]) -> frozenset[TopicPartition]:
    """Convert partitions from the embedded protocol."""
    return frozenset(
        TopicPartition(topic.topic, number) for topic in topics for number in topic.partitions
    )


def sticky_data(remembered: Iterable[TopicPartition], generation: int) -> bytes:
    """Encode a member's former partitions, for the leader's ``sticky``."""
    return _encode(
        _StickyData(previous_assignment=to_wire(remembered), generation=generation), version=1
    )


def read_sticky_data(data: bytes | memoryview | None) -> tuple[frozenset[TopicPartition], int]:
    """Decode a member's former partitions and their generation; none if unreadable."""
    for version in (1, 0):
        found = _decode(_StickyData, data, version)
        if found is not None:
            return from_wire(found.previous_assignment), found.generation
    return frozenset(), NO_GENERATION


def cooperative_data(generation: int) -> bytes:
    """Encode the generation of a member's partitions, for the leader's ``cooperative-sticky``."""
    return _encode(_CooperativeData(generation=generation), version=0)


def read_cooperative_data(data: bytes | memoryview | None) -> int:
    """Decode the generation of a member's partitions; -1 if unreadable."""
    found = _decode(_CooperativeData, data, 0)
    return NO_GENERATION if found is None else int(found.generation)


def changed(before: Mapping[str, tuple[int, ...]], now: Mapping[str, tuple[int, ...]]) -> bool:
    """Return whether a topic is new, or its partitions have changed.

    A missing topic may simply not have been requested, so it does not count.
    """
    return any(before.get(topic, ()) != numbers for topic, numbers in now.items())


def _encode(message: ApiMessage, version: int) -> bytes:
    pieces: Pieces = []
    writer_of(type(message), version)(message, pieces)
    return b"".join(pieces)


def _decode(kind: type[ApiMessage], data: bytes | memoryview | None, version: int) -> Any:
    """Decode other members' bytes; None if unreadable."""
    try:
        return reader_of(kind, version)(memoryview(data or b"").cast("B"), 0)[0]
    except Fault:
        return None
