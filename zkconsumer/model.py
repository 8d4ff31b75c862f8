"""The values that all packages share: frozen, compared by value, without behaviour.

An offset is always the offset of the *next* record to read.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import total_ordering
from typing import Any, Final, NamedTuple, Self

from zkconsumer.digits import is_decimal
from zkconsumer.printable import printable

_MOST_DIGITS = 10
CONSUMER_REPLICA_ID = -1
"""The replica id that ordinary consumers send in Fetch and ListOffsets."""


class TopicPartition(NamedTuple):
    """One partition of one topic; sorts by topic name, then by partition number.

    Its ``str`` is that of kafka-python's tuple. In an f-string it is short, as in Kafka's logs:
    ``topic-partition``.

    Attributes:
        topic: the topic's name.
        partition: the partition's number, from 0 on.

    Source: Kafka ``TopicPartition``.

    Example:
        >>> tp = TopicPartition("clicks", 3)
        >>> tp.topic, f"{tp}"
        ('clicks', 'clicks-3')
    """

    topic: str
    partition: int

    def __format__(self, spec: str) -> str:
        return format(f"{printable(self.topic)}-{self.partition}", spec)


def numbers_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Group partition numbers by topic, both in the order of ``partitions``."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    return numbers


class TopicPartitionReplica(NamedTuple):
    """One replica of a partition, on one broker.

    Attributes:
        topic: the topic's name.
        partition: the partition's number.
        broker_id: the broker that has the replica.

    Source: Kafka ``TopicPartitionReplica``.

    Example:
        >>> TopicPartitionReplica("clicks", 3, broker_id=1).broker_id
        1
    """

    topic: str
    partition: int
    broker_id: int


@dataclass(frozen=True, slots=True, order=True)
class Broker:
    """A broker and the address at which clients reach it.

    Attributes:
        id: the broker's id; negative for a bootstrap address.
        host: a name or an address.
        port: the port that clients connect to.

    Source: Kafka ``Node``.

    Example:
        >>> print(Broker(1, "kafka1", 9092))
        broker 1 (kafka1:9092)
    """

    id: int
    host: str
    port: int

    def __str__(self) -> str:
        return f"broker {self.id} ({printable(self.host)}:{self.port})"


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """A range of offsets of one partition, without ``until_offset`` itself.

    The log need not hold all of them: compaction leaves gaps, and retention deletes the oldest.
    ``until_offset`` is the next offset to read after the range.
    """

    topic_partition: TopicPartition
    from_offset: int
    until_offset: int

    def __post_init__(self) -> None:
        if not 0 <= self.from_offset <= self.until_offset:
            raise ValueError(f"not a range of offsets: {self}")

    @property
    def count(self) -> int:
        """The number of offsets in it, whether the log still holds them or not."""
        return self.until_offset - self.from_offset

    def __str__(self) -> str:
        return f"{self.topic_partition} [{self.from_offset}, {self.until_offset})"


class OffsetAndMetadata(NamedTuple):
    """A position to commit: the next offset to read, and the committer's free text.

    The offset's default, None, is that of kafka-python's tuple; a commit needs an offset.

    Attributes:
        offset: the next offset to read.
        metadata: any text; empty for none.
        leader_epoch: the leader epoch of the record before that offset, -1 if unknown. With it a
            reader detects that the log was truncated (KIP-320). ZooKeeper, and brokers before 2.1,
            don't store it.

    Source: Kafka ``OffsetAndMetadata``.

    Example:
        >>> OffsetAndMetadata(42)
        OffsetAndMetadata(offset=42, metadata='', leader_epoch=-1)
    """

    offset: int = None  # type: ignore[assignment]
    metadata: str = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """The result of a lookup by time: the first record that is not older.

    Attributes:
        offset: the record's offset.
        timestamp: the record's own time, in ms since the epoch.
        leader_epoch: the leader epoch of the record, -1 if unknown.

    Source: Kafka ``OffsetAndTimestamp``.

    Example:
        >>> OffsetAndTimestamp(42, 1_700_000_000_000).offset
        42
    """

    offset: int
    timestamp: int
    leader_epoch: int = -1


class MemberState:
    """The state of a group member, in kafka-python's words.

    Attributes:
        UNJOINED: not in a group.
        REBALANCING: the group is rebalancing.
        STABLE: the member has its assignment.
    """

    UNJOINED: Final = "<unjoined>"
    REBALANCING: Final = "<rebalancing>"
    STABLE: Final = "<stable>"


class ConsumerGroupMetadata(NamedTuple):
    """The identity of a consumer in its group, for a producer with transactions (KIP-447).

    Attributes:
        group_id: its group; None without one.
        generation_id: the generation; -1 outside of one.
        member_id: the member id; empty before the first join.
        group_instance_id: the instance id of a static member.
        state: one of ``MemberState``.

    Example:
        >>> ConsumerGroupMetadata("billing").state
        '<unjoined>'
    """

    group_id: str | None = None
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    state: str = MemberState.UNJOINED


class RecordFields(NamedTuple):
    """The fields of a polled record, with the names and in the order of kafka-python's tuple.

    ``ConsumerRecord(...)``, ``_replace`` and ``_make`` return it: its key and value are
    deserialised already, while a record that was read deserialises them on access.

    Attributes:
        leader_epoch: the epoch of the leader that wrote it; -1 if unknown.
        timestamp: milliseconds since the epoch, -1 without one.
        timestamp_type: a ``TimestampType``.
        headers: the name and value of each.
        checksum: always None.
        serialized_key_size: bytes; -1 for a null key. Likewise the other sizes.
    """

    topic: str
    partition: int
    leader_epoch: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: list[tuple[str, bytes | None]]
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"ConsumerRecord({fields})"

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that it was read from."""
        return TopicPartition(self.topic, self.partition)

    @property
    def raw_key(self) -> bytes | None:
        """The key if it is bytes, else None."""
        return self.key if isinstance(self.key, bytes) else None

    @property
    def raw_value(self) -> bytes | None:
        """The value if it is bytes, else None."""
        return self.value if isinstance(self.value, bytes) else None


class TimestampType(IntEnum):
    """Who set a record's timestamp (KIP-32); magic 0 has none.

    Example:
        >>> TimestampType(1).name
        'LOG_APPEND_TIME'
    """

    NONE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class Record(NamedTuple):
    """A record as stored in the log: bytes, not decoded.

    ``timestamp`` is in milliseconds since the epoch, -1 if the format has none (magic 0).
    """

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int = -1
    timestamp_type: TimestampType = TimestampType.NONE


@total_ordering
@dataclass(frozen=True, slots=True)
class ConsumerThreadId:
    """The name of one stream of one member; it sorts *as text*, so thread 10 comes before thread 2.

    Both assignors of the original depend on that order.

    Attributes:
        consumer_id: the member, as in ``/consumers/<group>/ids``.
        thread: the number of the stream within the member, from 0 on.

    Source: Kafka 0.8.2.2 ``ConsumerThreadId``.

    Example:
        >>> sorted(map(str, [ConsumerThreadId("c", 10), ConsumerThreadId("c", 2)]))
        ['c-10', 'c-2']
    """

    consumer_id: str
    thread: int

    def __str__(self) -> str:
        return f"{self.consumer_id}-{self.thread}"

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ConsumerThreadId):
            return NotImplemented
        return utf16_key(str(self)) < utf16_key(str(other))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Split a thread id at its last dash.

        Args:
            text: the content of an owner node, ``consumer-id-0``.

        Returns:
            The id; None if the text is not a thread id.

        Thread: any.
        """
        consumer_id, dash, thread = text.rpartition("-")
        if not dash or not consumer_id or not is_decimal(thread, _MOST_DIGITS):
            return None
        return cls(consumer_id, int(thread))


def utf16_key(text: str) -> bytes:
    """Return a sort key that orders text as Java does, by UTF-16 code unit."""
    return text.encode("utf-16-be", "surrogatepass")
