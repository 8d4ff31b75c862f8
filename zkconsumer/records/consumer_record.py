"""What a poll gives: a record with the names that kafka-python's users know.

Keys and values are made out of bytes when they are asked for: a deserialiser that raises does so
where the value is used, and the consumer goes on undisturbed.
"""

from abc import ABCMeta
from collections.abc import Callable
from typing import Any, TypeAlias

from zkconsumer.model import TimestampType, TopicPartition
from zkconsumer.records.batch_header import NO_LEADER_EPOCH
from zkconsumer.records.rows import Headers, Row

Deserializer: TypeAlias = Callable[[bytes], Any]
"""Makes a key or a value out of its bytes; never called for null."""


class RecordOrigin:
    """What the records of one partition have in common.

    Args:
        topic_partition: where they lie.
        key_deserializer: what makes their keys; None leaves the bytes.
        value_deserializer: the same for values.
    """

    __slots__ = ("key_deserializer", "native", "partition", "topic", "value_deserializer")

    def __init__(
        self,
        topic_partition: TopicPartition,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
    ) -> None:
        self.topic, self.partition = topic_partition
        self.key_deserializer = key_deserializer
        self.value_deserializer = value_deserializer
        # What the native core made of it, once it was asked.
        self.native: Any = None

    @property
    def topic_partition(self) -> TopicPartition:
        """Where the records lie."""
        return TopicPartition(self.topic, self.partition)

    def __repr__(self) -> str:
        return f"RecordOrigin({self.topic_partition})"


class ConsumerRecord(metaclass=ABCMeta):
    """A record with its place in the log (Kafka ``ConsumerRecord``; names as in kafka-python).

    What the native core makes is one of these too, by ``isinstance``. Two are equal if the log says
    the same of both: bytes are compared, not what deserialisers make of them.

    A pickled record brings its key and value along as they are made, and needs no deserialiser
    where it is unpickled.
    """

    __slots__ = ("_headers", "_leader_epoch", "_origin", "_row")
    # Set by ``consumer_records``, which calls nothing for each record.
    _origin: RecordOrigin
    _row: Row
    _headers: Headers
    _leader_epoch: int

    checksum: None = None
    """Always None, as magic 2 has no checksum for single records."""

    def __init__(
        self,
        origin: RecordOrigin,
        row: Row,
        headers: Headers = (),
        leader_epoch: int = NO_LEADER_EPOCH,
    ) -> None:
        self._origin = origin
        self._row = row
        self._headers = headers
        self._leader_epoch = leader_epoch

    @property
    def topic(self) -> str:
        """The topic it was read from."""
        return self._origin.topic

    @property
    def partition(self) -> int:
        """The number of its partition."""
        return self._origin.partition

    @property
    def topic_partition(self) -> TopicPartition:
        """Where it was read from."""
        return self._origin.topic_partition

    @property
    def leader_epoch(self) -> int | None:
        """The epoch of the leader that wrote it; None if that is not known (magic 0 and 1)."""
        return self._leader_epoch if self._leader_epoch >= 0 else None

    @property
    def offset(self) -> int:
        """The record's own offset in the log."""
        return self._row[0]

    @property
    def timestamp(self) -> int:
        """Milliseconds since the epoch, -1 where the log has none (magic 0)."""
        return self._row[3]

    @property
    def timestamp_type(self) -> TimestampType:
        """Who set the timestamp: 0 the producer, 1 the broker, -1 nobody."""
        return TimestampType(self._row[4])

    @property
    def key(self) -> Any:
        """The key, deserialised now; None where it is null."""
        data, make = self._row[1], self._origin.key_deserializer
        return data if data is None or make is None else make(data)

    @property
    def value(self) -> Any:
        """The value, deserialised now; None where it is null (a delete marker)."""
        data, make = self._row[2], self._origin.value_deserializer
        return data if data is None or make is None else make(data)

    @property
    def raw_key(self) -> bytes | None:
        """The key's bytes."""
        return self._row[1]

    @property
    def raw_value(self) -> bytes | None:
        """The value's bytes."""
        return self._row[2]

    @property
    def headers(self) -> list[tuple[str, bytes | None]]:
        """Name and value of each header, in its order; a name may come more than once."""
        return list(self._headers)

    @property
    def serialized_key_size(self) -> int:
        """How many bytes the key has, -1 where it is null."""
        return -1 if self._row[1] is None else len(self._row[1])

    @property
    def serialized_value_size(self) -> int:
        """How many bytes the value has, -1 where it is null."""
        return -1 if self._row[2] is None else len(self._row[2])

    @property
    def serialized_header_size(self) -> int:
        """How many bytes the names and values of its headers have, -1 where it has none."""
        return header_size(self._headers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConsumerRecord):
            return NotImplemented
        return facts_of(self) == facts_of(other)

    def __hash__(self) -> int:
        return hash((self.topic, self.partition, self.offset))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return parts_of(self)

    def __repr__(self) -> str:
        return text_of(self)


def consumer_record(
    origin: RecordOrigin, row: Row, headers: Headers, leader_epoch: int
) -> ConsumerRecord:
    """Make a record of parts that are there already, without a call of its constructor."""
    made: ConsumerRecord = ConsumerRecord.__new__(ConsumerRecord)
    made._origin = origin  # noqa: SLF001 - it is one of ours
    made._row = row  # noqa: SLF001
    made._headers = headers  # noqa: SLF001
    made._leader_epoch = leader_epoch  # noqa: SLF001
    return made


def header_size(headers: Headers | list[tuple[str, bytes | None]]) -> int:
    """What kafka-python counts: the bytes of names and values, -1 where there are no headers."""
    if not headers:
        return -1
    return sum(len(name.encode()) + len(value or b"") for name, value in headers)


def facts_of(record: ConsumerRecord) -> tuple[object, ...]:
    """What equal records have in common, whichever engine made them."""
    return (
        *(record.topic, record.partition, record.leader_epoch, record.offset),
        *(record.timestamp, int(record.timestamp_type), record.raw_key, record.raw_value),
        record.headers,
    )


def text_of(record: ConsumerRecord) -> str:
    """Its representation. The bytes are shown: no deserialiser can get in the way of a log line."""
    return (
        f"ConsumerRecord(topic={record.topic!r}, partition={record.partition}, "
        f"leader_epoch={record.leader_epoch}, offset={record.offset}, "
        f"timestamp={record.timestamp}, timestamp_type={int(record.timestamp_type)}, "
        f"key={record.raw_key!r}, value={record.raw_value!r}, headers={record.headers!r})"
    )


class _Given:
    """Stands for a deserialiser behind unpickling: gives what the real one made."""

    __slots__ = ("made",)

    def __init__(self, made: object) -> None:
        self.made = made

    def __call__(self, _: bytes) -> object:
        return self.made


def parts_of(record: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """How to make it again, in a process with whichever engine: for ``pickle`` and ``copy``.

    Deserialisers are functions, often nameless ones, which can't be pickled: what they make is.
    """
    row = (
        *(record.offset, record.raw_key, record.raw_value, record.timestamp),
        int(record.timestamp_type),
    )
    made: dict[str, Any] = {}
    if (key := record.key) is not record.raw_key:
        made["key"] = key
    if (value := record.value) is not record.raw_value:
        made["value"] = value
    place = (record.topic, record.partition)
    epoch = NO_LEADER_EPOCH if record.leader_epoch is None else record.leader_epoch
    return made_again, (place, epoch, row, tuple(record.headers), made)


def made_again(
    place: tuple[str, int], leader_epoch: int, row: Row, headers: Headers, made: dict[str, Any]
) -> ConsumerRecord:
    """The other way round. What was pickled names it: it stays under this name."""
    key = _Given(made["key"]) if "key" in made else None
    value = _Given(made["value"]) if "value" in made else None
    origin = RecordOrigin(TopicPartition(*place), key, value)
    return consumer_record(origin, row, headers, leader_epoch)
