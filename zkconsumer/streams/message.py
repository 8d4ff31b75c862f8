"""The messages that a stream yields."""

from abc import ABCMeta
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.rows import Row

K = TypeVar("K")
V = TypeVar("V")
Decoder = Callable[[bytes], V]
"""Turns the bytes of a key or value into the caller's type; never called for null."""


class Origin(Generic[K, V]):
    """The topic, partition and decoders that all messages of one partition share.

    Args:
        topic_partition: the partition.
        key_decoder: decodes keys; None leaves the bytes.
        value_decoder: decodes values; None leaves the bytes.
    """

    __slots__ = ("key_decoder", "partition", "topic", "value_decoder")

    def __init__(
        self,
        topic_partition: TopicPartition,
        key_decoder: Decoder[K] | None,
        value_decoder: Decoder[V] | None,
    ) -> None:
        self.topic, self.partition = topic_partition
        self.key_decoder = key_decoder
        self.value_decoder = value_decoder


class MessageAndMetadata(Generic[K, V], metaclass=ABCMeta):
    r"""A message with its position in the log.

    ``key`` and ``value`` are decoded on access, as in the original since 0.8.1: a decoder that
    raises does so at that access, and the stream is not affected.

    ``isinstance`` is true of the native core's messages, too.

    Args:
        topic_partition: the partition it was read from.
        record: its offset and bytes.
        key_decoder: turns the bytes of a key into ``key``; None leaves the bytes.
        value_decoder: turns the bytes of a value into ``value``; None leaves the bytes.

    Source: Kafka 0.8.2.2 ``MessageAndMetadata``.

    Example:
        >>> record = Record(offset=42, key=None, value=b"caf\xc3\xa9")
        >>> message = MessageAndMetadata(TopicPartition("t", 0), record, None, bytes.decode)
        >>> message.offset, message.key, message.raw_value
        (42, None, b'caf\xc3\xa9')
    """

    __slots__ = ("_origin", "_record")
    # A cursor sets these two itself: a call would take longer than everything else it does.
    _origin: Origin[K, V]
    _record: Row  # a Record is a Row, too

    def __init__(
        self,
        topic_partition: TopicPartition,
        record: Record,
        key_decoder: Decoder[K] | None,
        value_decoder: Decoder[V] | None,
    ) -> None:
        self._origin = Origin(topic_partition, key_decoder, value_decoder)
        self._record = record

    @property
    def topic(self) -> str:
        """The topic it was read from."""
        return self._origin.topic

    @property
    def partition(self) -> int:
        """The number of its partition."""
        return self._origin.partition

    @property
    def offset(self) -> int:
        """The message's own offset in the log."""
        return self._record[0]

    @property
    def key(self) -> K | None:
        """The decoded key; None if it is null."""
        data, decoder = self._record[1], self._origin.key_decoder
        # Without a decoder K is bytes: the public constructors bind it so.
        return data if data is None or decoder is None else decoder(data)  # type: ignore[return-value]

    @property
    def value(self) -> V | None:
        """The decoded value; None if it is null (a delete marker of a compacted topic)."""
        data, decoder = self._record[2], self._origin.value_decoder
        return data if data is None or decoder is None else decoder(data)  # type: ignore[return-value]

    @property
    def raw_key(self) -> bytes | None:
        """The key's bytes."""
        return self._record[1]

    @property
    def raw_value(self) -> bytes | None:
        """The value's bytes."""
        return self._record[2]

    @property
    def timestamp(self) -> int:
        """The timestamp, ms since the epoch; -1 if the log's format has none (magic 0)."""
        return self._record[3]

    @property
    def timestamp_type(self) -> TimestampType:
        """Whether the producer or the broker set the timestamp."""
        return TimestampType(self._record[4])

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return parts_of(self)

    def __repr__(self) -> str:
        return (
            f"MessageAndMetadata(topic={self.topic!r}, partition={self.partition}, "
            f"offset={self.offset}, key={self.raw_key!r}, value={self.raw_value!r})"
        )


def parts_of(message: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return constructor and arguments for ``pickle`` and ``copy``, independent of the engine."""
    origin = message._origin  # noqa: SLF001 - messages of both engines have one
    row = (
        message.offset,
        message.raw_key,
        message.raw_value,
        message.timestamp,
        int(message.timestamp_type),
    )
    tp = (origin.topic, origin.partition)
    return made_again, (tp, row, origin.key_decoder, origin.value_decoder)


def made_again(
    topic_partition: tuple[str, int],
    row: Row,
    key_decoder: Decoder[K] | None,
    value_decoder: Decoder[V] | None,
) -> MessageAndMetadata[K, V]:
    """Rebuild a message from ``parts_of``. Pickles refer to this function: never rename it."""
    return message_of(row, Origin(TopicPartition(*topic_partition), key_decoder, value_decoder))


def message_of(row: Row, origin: Origin[K, V]) -> MessageAndMetadata[K, V]:
    """Make a message from existing parts."""
    message: MessageAndMetadata[K, V] = MessageAndMetadata.__new__(MessageAndMetadata)
    message._record = row  # noqa: SLF001 - it is one of ours
    message._origin = origin  # noqa: SLF001
    return message
