"""What a poll gives: a record with the names that kafka-python's users know.

Keys and values are made out of bytes when they are asked for: a deserialiser that raises does so
where the value is used, and the consumer goes on undisturbed.
"""

from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, TypeAlias

from zkconsumer.model import RecordFields, TimestampType, TopicPartition
from zkconsumer.records.rows import Headers, Row

Deserializer: TypeAlias = Callable[..., Any]
"""Makes a key or a value out of its bytes; see ``deserialized``."""

FIELDS: Final = RecordFields._fields
"""The names of what a record has, in the order in which it has that as a tuple."""


def deserialized(
    make: Deserializer | None, data: bytes | None, headers: Callable[[], object]
) -> Any:
    """Give what a deserialiser makes of a key or a value.

    One that has the attribute ``takes_headers`` is called with the record's headers in front. Null
    is given to it, too, as it may have something to say for that; where it can't take it, which
    is told by a ``TypeError`` or an ``AttributeError``, null stays None.

    Args:
        make: the deserialiser; None leaves the bytes.
        data: None is null.
        headers: gives those of the record.
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

    It is a sequence, too: of the same fields in the same order as kafka-python's named tuple, with
    that one's ``_fields``, ``_asdict``, ``_replace`` and ``_make``; called, it makes such a tuple
    (``RecordFields``). What the native core makes is one of these, by ``isinstance``, and so are
    those tuples. Two are equal if the log says the same of both: bytes are compared, not what
    deserialisers make of them. With a tuple it is compared as one.

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

    _fields = FIELDS

    def __new__(cls, *values: Any, **named: Any) -> RecordFields:  # type: ignore[misc]
        """Make a tuple of all its fields, for tests; those that are read come out of polls."""
        return RecordFields(*values, **named)

    @classmethod
    def _make(cls, values: Iterable[Any]) -> RecordFields:
        """Return the same of an iterable."""
        return RecordFields._make(values)

    def _asdict(self) -> dict[str, Any]:
        """Return all fields, by name."""
        return dict(zip(FIELDS, self, strict=True))

    def _replace(self, **named: Any) -> RecordFields:
        """Have other values in some fields."""
        return RecordFields._make(self)._replace(**named)

    def __len__(self) -> int:
        return len(FIELDS)

    def __getitem__(self, index: Any) -> Any:
        # What was not asked for is not deserialised.
        if isinstance(index, slice):
            return tuple(getattr(self, name) for name in FIELDS[index])
        return getattr(self, FIELDS[index])

    def __iter__(self) -> Iterator[Any]:
        return iter(self[:])

    def index(self, value: object, *bounds: int) -> int:
        """Return where that value is; ValueError where it is not."""
        return tuple(self).index(value, *bounds)

    def count(self, value: object) -> int:
        """Return how many fields have that value."""
        return tuple(self).count(value)

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
    def leader_epoch(self) -> int:
        """The epoch of the leader that wrote it; -1 if that is not known (magic 0 and 1)."""
        return self._leader_epoch

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
        """The key, deserialised now."""
        return deserialized(
            self._origin.key_deserializer, self._row[1], lambda: list(self._headers)
        )

    @property
    def value(self) -> Any:
        """The value, deserialised now; see ``raw_value`` for whether it is a delete marker."""
        return deserialized(
            self._origin.value_deserializer, self._row[2], lambda: list(self._headers)
        )

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
    """Make a record of parts that are there already, without a call of its constructor."""
    made = _NEW(ConsumerRecord)
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
    """Return what equal records have in common, whichever engine made them."""
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

    def __call__(self, _: bytes | None) -> object:
        return self.made


def parts_of(record: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return how to make it again, in a process with whichever engine: for ``pickle`` and ``copy``.

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
    return made_again, (place, record.leader_epoch, row, tuple(record.headers), made)


def made_again(
    place: tuple[str, int], leader_epoch: int, row: Row, headers: Headers, made: dict[str, Any]
) -> ConsumerRecord:
    """Return the other way round. What was pickled names it: it stays under this name."""
    key = _Given(made["key"]) if "key" in made else None
    value = _Given(made["value"]) if "value" in made else None
    origin = RecordOrigin(TopicPartition(*place), key, value)
    return consumer_record(origin, row, headers, leader_epoch)
