"""The iterator that a caller's thread reads messages from.

By default, a message is consumed when the caller requests the next one: an automatic commit never
covers the current message (the original moves the offset before it hands the message over, and so
can lose it; see ``Delivery``). An explicit ``commit_offsets()`` covers every message handed over:
its caller declares them processed.

Source: Kafka 0.8.2.2 ``ConsumerIterator`` and ``KafkaStream``.
"""

from collections.abc import Collection, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.streams.aio import AsyncReader
from zkconsumer.streams.batches import Batches, BatchReader
from zkconsumer.streams.delivery import CommitAhead, Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.message import Decoder, MessageAndMetadata
from zkconsumer.streams.poison import RAISE, PoisonPolicy
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.reader import BlockingTask, Need, ReaderComponents
from zkconsumer.streams.waiting import Waiting

if TYPE_CHECKING:
    from zkconsumer.streams.arrow import ArrowBatches

K = TypeVar("K")
V = TypeVar("V")


class KafkaStream(Generic[K, V]):
    """The messages of the partitions that one consumer thread owns, through all rebalances.

    One thread iterates a stream with ``for``, or one task with ``async for``. Iteration ends when
    the connector is shut down, raises ``ConsumerTimeout`` after ``consumer.timeout.ms`` without a
    message, ``RebalanceFailed`` when the member could not get its partitions, and
    ``MessageTooLarge`` or ``PartitionFailed`` when a partition can't be read on. After any of these
    errors the stream can be iterated further; a failed partition stays stopped until it changes
    hands or a new connector is created. ``ConsumerForked`` is raised in a forked child,
    ``StreamInUse`` if a task is already waiting for the next message.

    Args:
        queue: the queue of its chunks.
        clock: the time.
        timeout_ms: ``consumer.timeout.ms``; -1: no limit.
        key_decoder: see ``MessageAndMetadata``.
        value_decoder: the same.
        gate: holds messages back while ownership is uncertain; None: never.
        delivery: when a message counts as consumed.
        commit_ahead: commits for ``at_most_once``, which needs it.
        poison: decides what happens to unreadable messages.
        name: shown by its ``repr``: the consumer thread, group and topic.

    Raises:
        ConfigError: ``at_most_once`` without ``commit_ahead``.

    Example:
        >>> message = next(stream)
        >>> message.topic, message.partition, message.offset, message.value
        ('clicks', 0, 0, b'/index.html')
        >>> for batch in stream.batches(max_records=1000):
        ...     print(len(batch), batch[0].value)
        ...     break
        1 b'/about.html'
    """

    def __init__(  # noqa: PLR0913 - one optional part a line, all by name
        self,
        queue: StreamQueue,
        *,
        clock: Clock,
        timeout_ms: int = -1,
        key_decoder: Decoder[K] | None = None,
        value_decoder: Decoder[V] | None = None,
        gate: DeliveryGate | None = None,
        delivery: Delivery = Delivery.AT_LEAST_ONCE,
        commit_ahead: CommitAhead | None = None,
        poison: PoisonPolicy = RAISE,
        name: str = "",
    ) -> None:
        self._name = name
        if gate is None:
            gate = DeliveryGate(clock, allowed_silence_ms=0)
        self._reader = BatchReader(
            ReaderComponents(
                queue=queue,
                gate=gate,
                delivery=delivery,
                commit_ahead=commit_ahead,
                poison=poison,
                key_decoder=key_decoder,
                value_decoder=value_decoder,
            )
        )
        self._iterator = iter(self)
        self._async = AsyncReader(self._reader, queue, timeout_ms)
        self._waiting = Waiting(self._reader, queue, clock, timeout_ms)
        gate.add_waker(queue.wake)

    def __repr__(self) -> str:
        handed_over = sum(self._reader.delivered_counts().values())
        return f"<KafkaStream{self._name and ' '}{self._name}, {handed_over} messages handed over>"

    def __iter__(self) -> Iterator[MessageAndMetadata[K, V]]:
        """Iterate over all messages from here on; all iterators share the stream's one position."""
        return self._reader.iterate(self._wait_for_next)

    def __next__(self) -> MessageAndMetadata[K, V]:
        """Return the next message, and mark the previous one as consumed."""
        # In a for loop, no signal handler runs between the iterator and us.
        for message in self._iterator:
            return message
        self._iterator = iter(self)
        raise StopIteration

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Coroutine[Any, Any, MessageAndMetadata[K, V]]:
        """Return the next message without blocking the event loop; cancelling loses nothing."""
        return self._async.next_message()

    def batches(
        self, *, max_records: int = 500, timeout_ms: int = 1_000, max_bytes: int = 1 << 24
    ) -> Iterator[list[MessageAndMetadata[K, V]]]:
        """Return an iterator over lists of messages, in the same order, with the same guarantees.

        A list has ``max_records`` messages, or those available ``timeout_ms`` after the call (0:
        at once), or fewer before an error and at the end. It may be empty, so that the caller can
        do other work. It may hold messages of several partitions and chunks; with ``delivery``
        ``at_most_once``, of one chunk only.

        All its messages are consumed when the next list is requested; an explicit
        ``commit_offsets()`` covers them even before. ``consumer.timeout.ms`` counts from the last
        list that was not empty.

        Args:
            max_records: the maximum number of messages in a list; at least 1.
            timeout_ms: how long a list may take, not negative.
            max_bytes: the memory of chunks at which a list is full. Messages that the caller has
                do not count against ``queued.max.bytes``.

        Returns:
            An iterator that ends only with the connector.

        Raises:
            ValueError: an argument is out of range.

        Thread: one at a time, whichever way a stream is iterated.
        Source: this project; iteration is that of Kafka 0.8.2.2 ``KafkaStream``.
        """
        return Batches(
            self._reader,
            self._waiting,
            refuse_others=self._refuse_others,
            most=max_records,
            max_bytes=max_bytes,
            timeout_ms=timeout_ms,
        )

    def arrow_batches(
        self,
        *,
        max_records: int = 100_000,
        timeout_ms: int = 1_000,
        columns: Collection[str] | None = None,
    ) -> "ArrowBatches[K, V]":
        """Return an iterator over ``pyarrow.RecordBatch``, with the guarantees of ``batches``.

        The columns are those of Spark's Kafka source: key and value (binary), topic (string),
        partition (int32), offset (int64), timestamp (microseconds, UTC; -1 ms if the log has
        none) and timestampType (int32: -1 none, 0 created, 1 appended). No decoder is called.

        A batch holds records of one partition, from one fetch or a part of it: available records
        are not held back for more. This needs the extra ``arrow``
        (``pip install 'zkconsumer[arrow]'``).

        Args:
            max_records: the maximum number of rows in a batch; at least 1.
            timeout_ms: after this time without messages the caller gets an empty batch.
            columns: the names of the columns, in order; other columns cost nothing. None: all.

        Returns:
            An iterator that is also accepted by libraries that read Arrow's C streams, as is the
            stream itself (``__arrow_c_stream__``).

        Raises:
            ValueError: an argument is out of range, or there is no such column.
            ImportError: pyarrow is not installed.

        Thread: one at a time, whichever way a stream is iterated.
        Source: this project; columns of Spark's Kafka source.
        """
        # A large import that few callers need.
        from zkconsumer.streams.arrow import ArrowBatches  # noqa: PLC0415

        return ArrowBatches(
            self._reader,
            self._waiting,
            refuse_others=self._refuse_others,
            most=max_records,
            timeout_ms=timeout_ms,
            columns=columns,
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the messages to a library that reads Arrow: ``polars.DataFrame(stream)``.

        The batches are those of ``arrow_batches``, from the stream's position; nothing is read
        before the library requests it. For the library, the stream ends after
        ``consumer.timeout.ms`` without a message, and on ``shutdown``: a library that reads
        everything first needs that time-out. Other errors of an iteration are passed to the library
        as Arrow errors with the same text.

        Args:
            requested_schema: a capsule; only its columns are made, cast by pyarrow to its types.
                None: all.

        Raises:
            ValueError: it names a column that does not exist.
            pyarrow.ArrowException: a column can't be cast to the requested type.
            ImportError: pyarrow is not installed.

        Thread: one at a time, as for an iteration.
        Source: Arrow's PyCapsule interface.
        """
        return self.arrow_batches().__arrow_c_stream__(requested_schema)

    def delivered_counts(self) -> dict[str, int]:
        """Return how many messages were handed over, for metrics.

        Returns:
            The count by topic.

        Thread: any.
        Source: Kafka 0.8.2.2 ``ConsumerTopicStats`` (``MessagesPerSec``).
        """
        return self._reader.delivered_counts()

    def _refuse_others(self) -> None:
        if self._async.waiting is not None:
            self._async.refuse_another()

    def _wait_for_next(self) -> MessageAndMetadata[K, V]:
        self._refuse_others()
        deadline = self._waiting.begin()
        while True:
            message = self._reader.step()
            if message is not None:
                return message
            need = self._reader.turn()
            if isinstance(need, BlockingTask):
                self._waiting.run(need)
            elif need is Need.END:
                raise StopIteration
            elif need is not Need.NOTHING:
                self._waiting.rest(need, deadline)
