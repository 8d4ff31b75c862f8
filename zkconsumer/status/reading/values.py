"""What came of reading the parts of a snapshot. Pure values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    BrokerStatus,
    CommittedOffset,
    GroupKey,
    GroupStatus,
    TopicStatus,
)
from zkconsumer.zk.absence import NoBrokers

GroupOffsets: TypeAlias = Mapping[TopicPartition, CommittedOffset | str]
"""What a group has committed, or of a partition why that is not known."""


class LogSpan(NamedTuple):
    """Where a log starts (its first offset) and ends (the next one), and when that was seen."""

    start: int
    end: int
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRead:
    """What came of asking who is there.

    Attributes:
        brokers: ascending by id.
        topics: as whoever was asked lists them, without the offsets of their logs.
        no_brokers: why there are none; None where there are some.
        no_zookeeper: whether the cluster has no ZooKeeper; None where nobody was asked.
    """

    brokers: tuple[BrokerStatus, ...]
    topics: tuple[TopicStatus, ...]
    no_brokers: NoBrokers | None = None
    no_zookeeper: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsRead:
    """What came of asking.

    Attributes:
        spans: of the partitions whose leader told both.
        problems: why not, of the others that have a leader.
        failures: the brokers that did not answer at all, by id, and why.
    """

    spans: Mapping[TopicPartition, LogSpan]
    problems: Mapping[TopicPartition, str]
    failures: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsRead:
    """What came of reading.

    Attributes:
        listed: all groups that there are.
        groups: those that were read this time.
        failure: why not all were; None where all were.
    """

    listed: frozenset[str]
    groups: Mapping[str, GroupStatus]
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorsRead:
    """What came of asking all brokers for their groups.

    Attributes:
        groups: by id.
        responding: the ids of the brokers that answered; of those that are older than 0.9, too.
        failures: the others, by id, and why.
    """

    groups: Mapping[str, GroupStatus]
    responding: frozenset[int]
    failures: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsRead:
    """What came of asking for offsets.

    Attributes:
        offsets: by group; those that were answered for.
        failures: why others were not, by group.
        moved: the groups whose coordinator says that it is not theirs.
    """

    offsets: Mapping[str, GroupOffsets]
    failures: Mapping[str, str]
    moved: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReads:
    """What came of reading some groups again.

    Attributes:
        groups: those that were read; None: it is gone.
        offsets: what some have committed to Kafka.
        logs: of some of their partitions, or why not.
        failures: why others were not read, by the group's id.
    """

    groups: Mapping[GroupKey, GroupStatus | None]
    offsets: Mapping[str, GroupOffsets]
    logs: Mapping[TopicPartition, LogSpan | str]
    failures: Mapping[str, str]
