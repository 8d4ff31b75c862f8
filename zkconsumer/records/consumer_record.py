"""The records that a poll returns, with kafka-python's names.

Keys and values are deserialized when they are read: an error of a deserializer is raised where the
value is used, and the consumer is unaffected.
"""

from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, TypeAlias

from zkconsumer.model import RecordFields, TimestampType, TopicPartition
from zkconsumer.records.rows import Headers, Row

Deserializer: TypeAlias = Callable[..., Any]
"""Makes a key or value from its bytes; see ``deserialized``."""

FIELDS: Final = RecordFields._fields
"""The names of a record's fields, in the order of its tuple."""


def deserialized(
    make: Deserializer | None, data: bytes | None, headers: Callable[[], object]
) -> Any:
    """Return a deserialized key or value.

    A deserializer whose attribute ``takes_headers`` is True gets the record's headers as its first
    argument. Deserializers are called for null, too; if that raises ``TypeError`` or
    ``AttributeError``, the result is None.

    Args:
        make: the deserializer; None returns the bytes.
        data: the bytes; None is null.
        headers: returns the record's headers.
    """
    if make is None:
        return data
    request = partial(make, headers()) if getattr(make, "takes_headers", False) is True else make
    if data is not None:
        return request(data)
    try:
        return request(None)
    except (TypeError, AttributeError):
        return None


class RecordOrigin:
    """The topic, partition and deserializers that all records of one partition share.

    Args:
        topic_partition: their partition.
        key_deserializer: for their keys; None returns the bytes.
        value_deserializer: for their values; None returns the bytes.
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
        # The native core's counterpart, made when it is first needed.
        self.native: Any = None

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition of the records."""
        return TopicPartition(self.topic, self.partition)

    def __repr__(self) -> str:
        return f"RecordOrigin({self.topic_partition})"


class ConsumerRecord(metaclass=ABCMeta):
    """A record with its position in the log.

    It is also a sequence of the same fields in the same order as kafka-python's named tuple, with
    ``_fields``, ``_asdict``, ``_replace`` and ``_make``; calling the class makes such a tuple
    (``RecordFields``). ``isinstance`` is true of such tuples, too, and of the native core's
    records. Two records are equal if they are equal in the log, whatever their deserializers
    return; a record equals a tuple if all fields are equal.

    A pickled record contains its deserialized key and value, so unpickling needs no deserializer.

    Thread: any.
    Source: Kafka ``ConsumerRecord``; names as in kafka-python.

    Example:
        >>> record = next(consumer)
        >>> record.topic, record.partition, record.offset, record.key, record.value
        ('clicks', 0, 0, None, b'/index.html')
        >>> record.raw_value, record.serialized_value_size
        (b'/index.html', 11)
    """

    __slots__ = ("_headers", "_leader_epoch", "_origin", "_row")
    # Set by ``consumer_record``, which bypasses the constructor.
    _origin: RecordOrigin
    _row: Row
    _headers: Headers
    _leader_epoch: int

    checksum: None = None
    """Always None, as magic 2 has no checksum for single records."""

    _fields = FIELDS

    def __new__(cls, *values: Any, **named: Any) -> RecordFields:  # type: ignore[misc]
        """Return a tuple of all fields, for tests; real records are returned by polls."""
        return RecordFields(*values, **named)

    @classmethod
    def _make(cls, values: Iterable[Any]) -> RecordFields:
        """Return a tuple of the fields in an iterable."""
        return RecordFields._make(values)

    def _asdict(self) -> dict[str, Any]:
        """Return all fields, by name."""
        return dict(zip(FIELDS, self, strict=True))

    def _replace(self, **named: Any) -> RecordFields:
        """Return a tuple of the fields, some of them with other values."""
        return RecordFields._make(self)._replace(**named)

    def __len__(self) -> int:
        return len(FIELDS)

    def __getitem__(self, index: Any) -> Any:
        # Only requested fields are deserialized.
        if isinstance(index, slice):
            return tuple(getattr(self, name) for name in FIELDS[index])
        return getattr(self, FIELDS[index])

    def __iter__(self) -> Iterator[Any]:
        return iter(self[:])

    def index(self, value: object, *bounds: int) -> int:
        """Return the index of the first field with that value.

        Args:
            value: the value to look for among the fields.
            *bounds: where to begin and to end, as in ``tuple.index``.

        Returns:
            The index, counted from 0.

        Raises:
            ValueError: no field has that value.
        """
        return tuple(self).index(value, *bounds)

    def count(self, value: object) -> int:
        """Return the number of fields with that value.

        Args:
            value: the value to look for among the fields.

        Returns:
            The number; 0 if there is none.
        """
        return tuple(self).count(value)

    @property
    def topic(self) -> str:
        """The record's topic."""
        return self._origin.topic

    @property
    def partition(self) -> int:
        """The number of the record's partition."""
        return self._origin.partition

    @property
    def topic_partition(self) -> TopicPartition:
        """The record's partition."""
        return self._origin.topic_partition

    @property
    def leader_epoch(self) -> int:
        """The epoch of the leader that appended it; -1 if unknown (magic 0 and 1)."""
        return self._leader_epoch

    @property
    def offset(self) -> int:
        """The record's offset."""
        return self._row[0]

    @property
    def timestamp(self) -> int:
        """The timestamp, ms since the epoch; -1 in magic 0, which has none."""
        return self._row[3]

    @property
    def timestamp_type(self) -> TimestampType:
        """The type of the timestamp: 0 create time, 1 log append time, -1 none."""
        return TimestampType(self._row[4])

    @property
    def key(self) -> Any:
        """The deserialized key."""
        return deserialized(
            self._origin.key_deserializer, self._row[1], lambda: list(self._headers)
        )

    @property
    def value(self) -> Any:
        """The deserialized value; ``raw_value`` is None for a tombstone."""
        return deserialized(
            self._origin.value_deserializer, self._row[2], lambda: list(self._headers)
        )

    @property
    def raw_key(self) -> bytes | None:
        """The key's bytes; None if it is null."""
        return self._row[1]

    @property
    def raw_value(self) -> bytes | None:
        """The value's bytes; None if it is null."""
        return self._row[2]

    @property
    def headers(self) -> list[tuple[str, bytes | None]]:
        """Name and value of each header, in order; names may repeat."""
        return list(self._headers)

    @property
    def serialized_key_size(self) -> int:
        """The size of the key in bytes, -1 if it is null."""
        return -1 if self._row[1] is None else len(self._row[1])

    @property
    def serialized_value_size(self) -> int:
        """The size of the value in bytes, -1 if it is null."""
        return -1 if self._row[2] is None else len(self._row[2])

    @property
    def serialized_header_size(self) -> int:
        """The size of the headers' names and values in bytes, -1 without headers."""
        return header_size(self._headers)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple):
            return len(other) == len(FIELDS) and tuple(self) == other
        if not isinstance(other, ConsumerRecord):
            return NotImplemented
        return facts_of(self) == facts_of(other)

    def __hash__(self) -> int:
        return hash((self.topic, self.partition, self.offset))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return parts_of(self)

    def __repr__(self) -> str:
        return text_of(self)


ConsumerRecord.register(RecordFields)
_NEW: Callable[[type[ConsumerRecord]], ConsumerRecord] = object.__new__


def consumer_record(
    origin: RecordOrigin, row: Row, headers: Headers, leader_epoch: int
) -> ConsumerRecord:
    """Make a record from its parts, bypassing the constructor for speed."""
    made = _NEW(ConsumerRecord)
    made._origin = origin  # noqa: SLF001 - an instance of our class
    made._row = row  # noqa: SLF001
    made._headers = headers  # noqa: SLF001
    made._leader_epoch = leader_epoch  # noqa: SLF001
    return made


def header_size(headers: Headers | list[tuple[str, bytes | None]]) -> int:
    """Return the bytes of the headers' names and values, -1 without headers, as in kafka-python."""
    if not headers:
        return -1
    return sum(len(name.encode()) + len(value or b"") for name, value in headers)


def facts_of(record: ConsumerRecord) -> tuple[object, ...]:
    """Return the values that equality compares, whichever engine made the record."""
    return (
        *(record.topic, record.partition, record.leader_epoch, record.offset),
        *(record.timestamp, int(record.timestamp_type), record.raw_key, record.raw_value),
        record.headers,
    )


def text_of(record: ConsumerRecord) -> str:
    """Return the ``repr`` text, with raw bytes: no deserializer can break a log line."""
    return (
        f"ConsumerRecord(topic={record.topic!r}, partition={record.partition}, "
        f"leader_epoch={record.leader_epoch}, offset={record.offset}, "
        f"timestamp={record.timestamp}, timestamp_type={int(record.timestamp_type)}, "
        f"key={record.raw_key!r}, value={record.raw_value!r}, headers={record.headers!r})"
    )


class _Given:
    """A deserializer that returns the value of an unpickled record."""

    __slots__ = ("made",)

    def __init__(self, made: object) -> None:
        self.made = made

    def __call__(self, _: bytes | None) -> object:
        return self.made


def parts_of(record: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return constructor and arguments for ``pickle`` and ``copy``, independent of the engine.

    Their results are pickled instead of the deserializers, which are often lambdas.
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
    coordinates = (record.topic, record.partition)
    return made_again, (coordinates, record.leader_epoch, row, tuple(record.headers), made)


def made_again(
    coordinates: tuple[str, int],
    leader_epoch: int,
    row: Row,
    headers: Headers,
    made: dict[str, Any],
) -> ConsumerRecord:
    """Rebuild the record from ``parts_of``. Pickles refer to this function: never rename it."""
    key = _Given(made["key"]) if "key" in made else None
    value = _Given(made["value"]) if "value" in made else None
    origin = RecordOrigin(TopicPartition(*coordinates), key, value)
    return consumer_record(origin, row, headers, leader_epoch)
