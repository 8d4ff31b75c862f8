"""The public producer: callers' threads queue records, and its own thread writes them.

It wraps ``BatchProducer``, which the Spark sink and the mirror use directly: the queue decides
which records are due (``send_queue``), the thread writes them and resolves the futures.

Source: Kafka ``KafkaProducer``; names as in kafka-python. The differences are in docs/produce.md.
"""

import logging
import math
import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.call_deadline import StopFlag
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.errors import (
    ConsumerClosed,
    IllegalState,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    NoBrokersAvailable,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.forking import ForkGuard
from zkconsumer.model import Record, TopicPartition
from zkconsumer.net.dialling import dialer_of
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.produce.outgoing import HeadedRecord, Outgoing, outgoing_bytes, parts_of
from zkconsumer.produce.pending import WrittenSet
from zkconsumer.produce.producer_config import read_producer_config
from zkconsumer.produce.send_arguments import (
    bytes_of,
    headers_of,
    seconds_of,
    text_of,
    timestamp_of,
)
from zkconsumer.produce.send_future import FutureRecordMetadata, RecordMetadata
from zkconsumer.produce.send_queue import QueuedRecord, SendQueue
from zkconsumer.produce.topic_partitions import PartitionLookup
from zkconsumer.scope import NAP_MS, ScopedThread, ThreadScope, naps

__all__ = ["FutureRecordMetadata", "KafkaProducer", "Producer", "RecordMetadata"]

log = logging.getLogger(__name__)

_ENDING_MS: Final = 5_000
"""How long the thread may take to end once its connections are closed."""


class KafkaProducer:
    """Writes records to Kafka brokers from 0.8 to the newest; also available as ``Producer``.

    ``send`` queues a record and returns a future; a background thread writes batches. The order
    within a partition is kept, even across retries. If brokers support it (0.11 and later), the
    producer is idempotent: a batch that is sent again is not written twice. Use it as a context
    manager, or call ``close()``: records still queued when the process ends are lost.

    Args:
        config: settings by their keys, ``{"linger.ms": 5}``.
        **settings: settings as keyword arguments, ``linger_ms=5``, which take precedence; the
            table is in docs/produce.md.

    Raises:
        ConfigError: a setting is invalid or unknown; the message names it.
        UnsupportedCodec: the library for ``compression_type`` is not installed.
        NoBrokersAvailable: no broker responds within ``bootstrap_timeout_ms``.
        AuthenticationFailed, UnsupportedVersion, ProtocolError: the brokers that respond refuse us,
            are too old, or are not brokers.

    Thread: any, for all methods.

    Example:
        >>> with KafkaProducer(bootstrap_servers="kafka1:9092") as producer:
        ...     future = producer.send("views", b"/index.html", key=b"user 7")
        ...     print(future.get(timeout=10).offset)
        0
    """

    def __init__(self, config: Mapping[str, object] | None = None, **settings: object) -> None:
        self.config = read_producer_config(config, settings)
        self._clock = SystemClock()
        self._open(f"producer {self.config.client.client_id}")

    def _open(self, name: str) -> None:
        config, clock = self.config, self._clock
        self._guard = ForkGuard(name)
        self._scope = ThreadScope(name, clock=clock)
        self._stop = StopFlag()
        self._dialer = dialer_of(config.client, clock=clock)
        self._client = ClusterClient(
            self._dialer,
            config.client.bootstrap,
            request_timeout_ms=config.client.timeout_ms,
            retry_backoff_ms=config.batches.backoff_ms,
            clock=clock,
            shuffle=random.shuffle,
        )
        self._topics = PartitionLookup(
            self._client,
            clock,
            self._stop,
            max_age_ms=config.metadata_max_age_ms,
            creating=config.creates_topics,
        )
        self._writer = BatchProducer(
            config.client.bootstrap, dialer=self._dialer, settings=config.batches, clock=clock
        )
        self._queue = SendQueue(config.limits)
        self._changed = threading.Condition()
        self._resolved = threading.Condition()
        self._ending = False
        self._closed = False
        self._serializers = config.serializers
        self._failure: BaseException | None = None
        self._writing: ScopedThread | None = None
        if config.bootstrap_timeout_ms:
            self._connect()
        self._writing = self._scope.spawn(
            "writer", self._run, stop=self._request_end, on_error=self._died
        )

    # --- the caller's side ---------------------------------------------------------------------

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> FutureRecordMetadata:
        """Queue a record, to be written in the background.

        Blocks for at most ``max_block_ms``, while the topic is looked up and until the buffer has
        capacity.

        Args:
            topic: the name of the topic.
            value: bytes, or an argument for ``value_serializer``; None: null, which deletes the key
                in a compacted topic.
            key: bytes, or an argument for ``key_serializer``; None: null.
            headers: names and values; only brokers of 0.11 and later store any.
            partition: the partition; None: chosen by the key.
            timestamp_ms: milliseconds since the epoch; None: now. Brokers before 0.10 store none.

        Returns:
            The future metadata of the record. It fails if the record is too large, or refused by
            brokers.

        Raises:
            IllegalArgumentError: an argument is invalid, such as a value that is not bytes, or an
                unknown partition.
            KafkaTimeoutError: the topic did not exist, or the buffer was full, for
                ``max_block_ms``.
            BrokerError: the topic's name is illegal, or we are not authorized.
            ConsumerClosed: the producer was closed.
            ConsumerForked: this is a forked child.
            Exception: any error of a serializer or the partitioner.

        Thread: any.
        Source: Kafka ``KafkaProducer.send``; arguments as in kafka-python.
        """
        self._check_open()
        config = self.config
        deadline_ms = self._clock.now_ms() + config.max_block_ms
        self._topics.look_up(
            text_of("topic", topic), timeout_ms=config.max_block_ms, partition=partition
        )
        given = headers_of(headers)
        key_bytes = bytes_of("key", config.serialize_key(topic, list(given), key))
        value_bytes = bytes_of("value", config.serialize_value(topic, list(given), value))
        stamp = self._clock.wall_ms() if timestamp_ms is None else timestamp_of(timestamp_ms)
        record = Record(0, key_bytes, value_bytes, stamp)
        chosen = self._topics.choose(topic, partition, key_bytes, config.partitioner)
        outgoing = HeadedRecord(record, given) if given else record
        return self._queue_record(TopicPartition(topic, chosen), outgoing, deadline_ms)

    def _queue_record(
        self, tp: TopicPartition, outgoing: Outgoing, deadline_ms: int
    ) -> FutureRecordMetadata:
        future = FutureRecordMetadata(self._wait_for)
        size, most = outgoing_bytes(outgoing), self.config.batches.request_bytes
        if size > most:
            text = f"the record has {size} bytes: max_request_size is {most}"
            future.notify(None, MessageSizeTooLargeError(text))
            return future
        with self._changed:
            self._wait_for_capacity(size, deadline_ms)
            now_ms = self._clock.now_ms()
            if self._queue.add(tp, outgoing, size=size, now_ms=now_ms, future=future):
                self._changed.notify_all()
        return future

    def flush(self, timeout: float | None = None) -> None:
        """Wait until every record that was sent before is written, or has failed.

        Args:
            timeout: in seconds; None: without a limit (``delivery_timeout_ms`` is one).

        Raises:
            IllegalArgumentError: the time-out is not a number.
            KafkaTimeoutError: the time-out expired first.
            IllegalState: called by a callback of the same producer, which would wait for itself.
            ConsumerClosed: the producer was closed.
            ConsumerForked: this is a forked child.

        Thread: any but the producer's own.
        Source: Kafka ``KafkaProducer.flush``.
        """
        self._check_open()
        with self._changed:
            self._queue.hurry()
            futures = [record.future for record in self._queue.everything()]
            self._changed.notify_all()

        def are_done() -> bool:
            while futures and futures[-1].is_done:
                futures.pop()
            return not futures

        if not self._wait_for(are_done, timeout):
            raise KafkaTimeoutError(f"not all records were acknowledged within {timeout} s")

    def partitions_for(self, topic: str) -> set[int]:
        """Return the partitions of a topic; look them up if they are unknown or out of date.

        Args:
            topic: its name.

        Returns:
            Partition numbers, in a new set.

        Raises:
            IllegalArgumentError: the argument is not a topic name.
            KafkaTimeoutError: the topic does not exist within ``max_block_ms``.
            BrokerError: the topic's name is illegal, or we are not authorized.
            ConsumerClosed: the producer was closed.
            ConsumerForked: this is a forked child.

        Thread: any.
        Source: Kafka ``KafkaProducer.partitionsFor``.
        """
        self._check_open()
        name = text_of("topic", topic)
        return set(self._topics.look_up(name, timeout_ms=self.config.max_block_ms))

    def bootstrap_connected(self) -> bool:
        """Return whether a broker has responded.

        Returns:
            True even while no connection is open: connections are opened when needed.

        Thread: any.
        Source: kafka-python ``KafkaProducer.bootstrap_connected``.
        """
        return self._client.release is not None

    def close(self, timeout: float | None = None) -> None:
        """Write queued records, then disconnect; a second call does nothing.

        Waits for ``delivery_timeout_ms`` at most, even without a ``timeout``.

        Args:
            timeout: in seconds, for writing; records that are not acknowledged by then fail. None:
                no limit but ``delivery_timeout_ms``.

        Raises:
            IllegalArgumentError: the time-out is not a number; nothing was done.

        Thread: any; a callback may call it, and then queued records fail.
        Source: Kafka ``KafkaProducer.close``.
        """
        limit_s = seconds_of(timeout)
        if self._guard.forked:
            return
        self._closed = True
        if self._is_own_thread():
            limit_s = 0
        left_ms = None if limit_s is None or limit_s == math.inf else int(max(0, limit_s) * 1000)
        with self._changed:
            self._queue.hurry()
        self._request_end()
        if self._writing is not None and not self._is_own_thread():
            for nap_ms in naps(left_ms):
                self._writing.thread.join(nap_ms / 1000)
                if not self._writing.thread.is_alive():
                    break
        self._stop.set()
        self._fail_everything(IllegalState("the producer was closed before an acknowledgement"))
        self._request_end()
        self._writer.stop()
        self._client.stop()
        self._scope.close(_ENDING_MS)
        self._dialer.stop()
        serializers, self._serializers = self._serializers, ()
        for serializer in {id(serializer): serializer for serializer in serializers}.values():
            close = getattr(serializer, "close", None)
            if callable(close):
                close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the source of the writer; its thread ----------------------------------------------------

    def _run(self) -> None:
        """Write due records until the producer is closed and all records are settled."""
        source = _Source(self._queue, self._changed, self._clock, self._resolve, self._fail)
        while self._await_due():
            self._writer.write_from(source)

    def _await_due(self) -> bool:
        """Wait until records are due; return False if there will be none."""
        with self._changed:
            while not self._stop.is_set:
                due_ms = self._queue.due_ms(self._clock.now_ms())
                if due_ms == 0:
                    return True
                if due_ms is None and self._ending:
                    return False
                self._changed.wait(None if due_ms is None else due_ms / 1000)
        return False

    def _resolve(self, written: WrittenSet, records: Sequence[QueuedRecord]) -> None:
        tp = written.topic_partition
        for index, record in enumerate(records):
            self._resolve_future(record, _metadata(tp, written.base_offset + index, record), None)
        with self._resolved:
            self._resolved.notify_all()

    def _fail(self, records: Iterable[QueuedRecord], error: Exception) -> None:
        for record in records:
            self._resolve_future(record, None, error)
        with self._resolved:
            self._resolved.notify_all()

    def _resolve_future(
        self, record: QueuedRecord, metadata: RecordMetadata | None, error: Exception | None
    ) -> None:
        try:
            record.future.notify(metadata, error)
        except SystemExit:
            if not self._is_own_thread():
                raise
            # It would only end this thread, and later futures would never be resolved.
            log.exception(
                "a callback called sys.exit(), which does not end the process from this thread"
            )

    def _fail_everything(self, error: Exception) -> None:
        with self._changed:
            left = self._queue.clear()
            self._changed.notify_all()
        self._fail(left, error)

    def _died(self, error: BaseException) -> None:
        self._failure = error
        self._fail_everything(ZkConsumerError(f"the producer's thread died: {error!r}"))

    # --- waiting -------------------------------------------------------------------------------

    def _connect(self) -> None:
        try:
            self._client.view((), timeout_ms=self.config.bootstrap_timeout_ms)
        except NoBrokersAvailable:
            self.close(0)
            raise
        except TransportError as error:
            self.close(0)
            raise NoBrokersAvailable(str(error)) from error
        except BaseException:
            self.close(0)
            raise

    def _check_open(self) -> None:
        self._guard.check()
        if self._failure is not None:
            raise ZkConsumerError("the producer's thread died") from self._failure
        if self._closed:
            raise ConsumerClosed("the producer was closed")

    def _wait_for_capacity(self, size: int, deadline_ms: int) -> None:
        """Wait, with the lock held, until a record of this size can be queued."""
        while not self._queue.has_capacity(size):
            left_ms = deadline_ms - self._clock.now_ms()
            if left_ms <= 0 or self._is_own_thread():
                raise KafkaTimeoutError(
                    f"no buffer space for {size} bytes within {self.config.max_block_ms} ms: "
                    f"{self._queue.used_bytes} are not acknowledged (buffer_memory)"
                )
            # No record lingers while the buffer is full: others could not join its batch.
            if self._queue.hurry():
                self._changed.notify_all()
            self._changed.wait(min(left_ms, NAP_MS) / 1000)
        self._check_open()

    def _wait_for(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until a condition on futures holds; return False after the time-out."""
        self._guard.check()  # in a forked child no thread would ever end the wait
        if self._is_own_thread() and not condition():
            raise IllegalState(
                "a callback waits for its own producer, which waits for the callback"
            )
        limit_s = seconds_of(timeout)
        deadline_ms = None if limit_s is None else self._clock.now_ms() + limit_s * 1000
        with self._resolved:
            while not condition():
                left_ms = NAP_MS if deadline_ms is None else deadline_ms - self._clock.now_ms()
                if left_ms <= 0:
                    return False
                # Short, so that signal handlers run: see ``scope.naps``.
                self._resolved.wait(min(left_ms, NAP_MS) / 1000)
        return True

    def _is_own_thread(self) -> bool:
        own = self._writing
        return own is not None and threading.current_thread() is own.thread

    def _request_end(self) -> None:
        with self._changed:
            self._ending = True
            self._changed.notify_all()


Producer = KafkaProducer


@dataclass(frozen=True, slots=True)
class _Source:
    """Supplies the writer with records of the queue; see ``RecordSource``."""

    queue: SendQueue
    changed: threading.Condition
    clock: Clock
    resolve: Callable[[WrittenSet, Sequence[QueuedRecord]], None]
    fail: Callable[[Iterable[QueuedRecord], Exception], None]

    def more(self) -> Mapping[TopicPartition, Sequence[Outgoing]]:
        """See ``RecordSource``."""
        now_ms = self.clock.now_ms()
        with self.changed:
            expired = self.queue.expire(now_ms)
            taken = self.queue.take(now_ms)
        for tp, records in expired.items():
            self.fail(records, KafkaTimeoutError(f"{tp}: not written within delivery_timeout_ms"))
        return taken

    def written(self, written_set: WrittenSet) -> None:
        """See ``RecordSource``."""
        with self.changed:
            records = self.queue.settle(written_set.topic_partition, written_set.count)
            self.changed.notify_all()
        self.resolve(written_set, records)

    def failed(self, tp: TopicPartition, count: int, error: ZkConsumerError) -> None:
        """See ``RecordSource``."""
        with self.changed:
            records = self.queue.settle(tp, count)
            self.changed.notify_all()
        self.fail(records, error)

    def may_retry(self, tp: TopicPartition) -> bool:
        """See ``RecordSource``."""
        with self.changed:
            return self.queue.may_retry(tp, self.clock.now_ms())


def _metadata(tp: TopicPartition, offset: int, queued: QueuedRecord) -> RecordMetadata:
    record, headers = parts_of(queued.outgoing)
    header_bytes = sum(len(name.encode()) + len(value or b"") for name, value in headers)
    return RecordMetadata(
        tp.topic,
        tp.partition,
        tp,
        offset,
        record.timestamp,
        None,
        -1 if record.key is None else len(record.key),
        -1 if record.value is None else len(record.value),
        header_bytes if headers else -1,
    )
