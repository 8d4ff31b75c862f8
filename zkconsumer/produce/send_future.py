"""The result of ``KafkaProducer.send``: the metadata of a record, once it is written.

Source: kafka-python ``FutureRecordMetadata``, ``RecordMetadata``.
"""

from collections.abc import Callable
from typing import NamedTuple

from zkconsumer.errors import KafkaTimeoutError
from zkconsumer.futures import CallbackFuture
from zkconsumer.model import TopicPartition


class RecordMetadata(NamedTuple):
    """The partition, offset and sizes of a written record.

    Attributes:
        topic: the record's topic.
        partition: the number of the record's partition.
        topic_partition: both.
        offset: the record's offset.
        timestamp: the time it was sent with, in ms since the epoch. Brokers before 0.10 store none;
            with ``message.timestamp.type=LogAppendTime`` they store their own.
        checksum: always None; kafka-python has one for old formats.
        serialized_key_size: in bytes; -1: the key is null.
        serialized_value_size: in bytes; -1: the value is null.
        serialized_header_size: in bytes; -1: there are no headers.

    Example:
        >>> metadata = producer.send("views", b"1").get(timeout=10)
        >>> metadata.topic, metadata.partition, metadata.offset
        ('views', 0, 0)
    """

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    checksum: None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int


class FutureRecordMetadata(CallbackFuture[RecordMetadata]):
    """The outcome of one ``send``.

    Callbacks run in the producer's thread, so they must not block.

    Args:
        wait: waits until a condition holds, at most for a number of seconds (None: for ever);
            returns whether it does.

    Thread: any.
    Source: kafka-python ``FutureRecordMetadata``.

    Example:
        >>> future = producer.send("views", b"1")
        >>> _ = future.add_errback(lambda error: print("lost:", error))
        >>> future.get(timeout=10).offset
        0
    """

    __slots__ = ("_wait",)

    def __init__(self, wait: Callable[[Callable[[], bool], float | None], bool]) -> None:
        super().__init__()
        self._wait = wait

    def get(self, timeout: float | None = None) -> RecordMetadata:
        """Wait for the outcome, and return it.

        Args:
            timeout: in seconds; None: without a limit (``delivery_timeout_ms`` is one).

        Returns:
            The metadata of the record, once it is written.

        Raises:
            IllegalArgumentError: the time-out is not a number.
            KafkaTimeoutError: the time-out expired; the record may be written later.
            ZkConsumerError: the record was not written; the error of the broker or the connection.
            IllegalState: called by a callback of the same producer, which would wait for itself.
            ConsumerForked: this is a forked child, and the outcome was not known before the fork.

        Thread: any but the producer's own.
        Source: kafka-python ``FutureRecordMetadata.get``.
        """
        if not self._is_done and not self._wait(lambda: self._is_done, timeout):
            raise KafkaTimeoutError(f"no acknowledgement within {timeout} s")
        if self.exception is not None:
            raise self.exception
        assert self.value is not None
        return self.value
