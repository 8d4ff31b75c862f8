"""Results of reading the parts of a snapshot. Pure values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    BrokerStatus,
    CommittedOffset,
    GroupKey,
    GroupStatus,
    TopicStatus,
)
from zkconsumer.zk.absence import NoBrokers

T = TypeVar("T")


class UnreadOffset(NamedTuple):
    """Why a committed offset could not be read, and its last known value, if there is one.

    The last known value keeps the time when it was read.
    """

    problem: str
    last: CommittedOffset | None = None


OffsetRead: TypeAlias = CommittedOffset | UnreadOffset | str
"""A committed offset, or why it is unknown; a text if the value that was read is not an offset."""
GroupOffsets: TypeAlias = Mapping[TopicPartition, OffsetRead]
"""A group's committed offsets by partition."""


class LogSpan(NamedTuple):
    """The log start offset and the log end offset, and when they were read."""

    start: int
    end: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A node that could not be read, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Why a server did not respond."""

    reason: str


Read: TypeAlias = T | Unreadable | None
"""The node at a path; None if absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRead:
    """The brokers and topics of a cluster.

    Attributes:
        brokers: ascending by id.
        topics: in the order of the source, without log offsets.
        no_brokers: why there are none; None if there are some.
        no_zookeeper: whether the cluster has no ZooKeeper; None if unknown.
    """

    brokers: tuple[BrokerStatus, ...]
    topics: tuple[TopicStatus, ...]
    no_brokers: NoBrokers | None = None
    no_zookeeper: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsRead:
    """The spans of logs.

    Attributes:
        logs: the span of each log, or why it is unknown.
        failures: the reasons why brokers did not respond, by id.
    """

    logs: Mapping[TopicPartition, LogSpan | str]
    failures: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsRead:
    """The groups in ZooKeeper.

    Attributes:
        listed: all existing groups.
        groups: the groups that were read this time.
        failure: why some were not read; None if all were.
    """

    listed: frozenset[str]
    groups: Mapping[str, GroupStatus]
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorsRead:
    """The groups of the coordinators.

    Attributes:
        groups: by id.
        responding: the ids of the brokers that responded, including those before 0.9.
        failures: the reasons why others did not respond, by id.
    """

    groups: Mapping[str, GroupStatus]
    responding: frozenset[int]
    failures: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsRead:
    """Committed offsets in Kafka.

    Attributes:
        offsets: the offsets that were read, by group.
        failures: the reasons why others were not read, by group.
        moved: the groups whose coordinator failed, and may have changed: look it up again.
    """

    offsets: Mapping[str, GroupOffsets]
    failures: Mapping[str, str]
    moved: frozenset[str]


@dataclass(slots=True, kw_only=True)
class SelectedGroupsRead:
    """Groups that were read again.

    Attributes:
        groups: by key; None: it is gone.
        offsets: their committed offsets in Kafka.
        logs: the spans of their partitions, or why they are unknown.
        failures: the reasons why others were not read, by group id.
    """

    groups: dict[GroupKey, GroupStatus | None] = field(default_factory=dict)
    offsets: dict[str, GroupOffsets] = field(default_factory=dict)
    logs: dict[TopicPartition, LogSpan | str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
