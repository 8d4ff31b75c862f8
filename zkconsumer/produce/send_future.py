"""What ``KafkaProducer.send`` gives: the place of a record, once it is written.

Source: kafka-python ``FutureRecordMetadata``, ``RecordMetadata``.
"""

from collections.abc import Callable
from typing import NamedTuple

from zkconsumer.errors import KafkaTimeoutError
from zkconsumer.futures import CallbackFuture
from zkconsumer.model import TopicPartition


class RecordMetadata(NamedTuple):
    """The place of a written record.

    Attributes:
        topic: of the record.
        partition: of the record.
        topic_partition: both.
        offset: its offset.
        timestamp: the time it was sent with, in ms since the epoch. Brokers before 0.10 keep none;
            a topic with ``message.timestamp.type=LogAppendTime`` has one of its own.
        checksum: always None; kafka-python has one for old formats.
        serialized_key_size: bytes; -1: the key is null.
        serialized_value_size: bytes; -1: the value is null.
        serialized_header_size: bytes; -1: there are no headers.

    Example:
        >>> place = producer.send("clicks", b"1").get(timeout=10)  # doctest: +SKIP
        >>> place.partition, place.offset  # doctest: +SKIP
        (0, 41)
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
    """The outcome of one ``send``. Callbacks run in the producer's thread: they must not block.

    Args:
        wait: waits until a condition holds, for this many seconds (None: for ever); returns
            whether it does.

    Example:
        >>> future = producer.send("clicks", b"1")  # doctest: +SKIP
        >>> future.add_errback(lambda error: print("lost:", error))  # doctest: +SKIP
        >>> future.get(timeout=10).offset  # doctest: +SKIP
        41
    """

    __slots__ = ("_wait",)

    def __init__(self, wait: Callable[[Callable[[], bool], float | None], bool]) -> None:
        super().__init__()
        self._wait = wait

    def get(self, timeout: float | None = None) -> RecordMetadata:
        """Wait for the outcome, and return it.

        Args:
            timeout: in seconds; None: without a limit (``delivery_timeout_ms`` is one).

        Raises:
            KafkaTimeoutError: the time is over; the record may be written later.
            ZkConsumerError: the record was not written; as brokers and connections have it.
            IllegalState: a callback of the same producer waits, which would wait for itself.
            ConsumerForked: this is a forked child, and the outcome was not known before.

        Thread: any but the producer's own.
        """
        if not self._is_done and not self._wait(lambda: self._is_done, timeout):
            raise KafkaTimeoutError(f"no acknowledgement within {timeout} s")
        if self.exception is not None:
            raise self.exception
        assert self.value is not None
        return self.value
