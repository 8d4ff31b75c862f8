"""The iterator that a caller's thread reads messages from.

When is a message consumed? By default when the caller asks for the next one: an offset that is
committed automatically never covers the message in hand (the original moves the offset before it
hands the message over, and so can lose the one in hand; see ``Delivery``). A message that was
handed over is covered by an explicit ``commit_offsets()``: whoever calls that says that it is done.

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
    """The messages of the partitions that one consumer thread owns, whichever these are.

    One thread iterates a stream with ``for``, or one task with ``async for``. Iteration ends when
    the connector is shut down, raises ``ConsumerTimeout`` after ``consumer.timeout.ms`` without a
    message, ``RebalanceFailed`` when the member could not get its partitions, and
    ``MessageTooLarge`` or ``PartitionFailed`` when a partition can't be read on. After any of these
    errors the stream can be iterated further; a partition that failed stands still until it changes
    hands or the connector is made anew. ``ConsumerForked`` comes in a forked child,
    ``StreamInUse`` where a task waits for the next message already.

    Args:
        queue: where its chunks come from.
        clock: the time.
        timeout_ms: ``consumer.timeout.ms``; -1 waits without end.
        key_decoder: see ``MessageAndMetadata``.
        value_decoder: the same.
        gate: holds messages back while nobody knows what is owned; None: never.
        delivery: when a message counts as consumed.
        commit_ahead: what ``at_most_once`` commits with, and needs.
        poison: decides about what can't be read.

    Raises:
        ConfigError: ``at_most_once`` without ``commit_ahead``.
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
    ) -> None:
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

    def __iter__(self) -> Iterator[MessageAndMetadata[K, V]]:
        """All messages from here on; whatever iterates this stream shares its one position."""
        return self._reader.iterate(self._wait_for_next)

    def __next__(self) -> MessageAndMetadata[K, V]:
        """The next message; asking for it says that the one before is done with."""
        # In a for, no signal handler runs between the iterator and us.
        for message in self._iterator:
            return message
        self._iterator = iter(self)
        raise StopIteration

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Coroutine[Any, Any, MessageAndMetadata[K, V]]:
        """The same without blocking the event loop; cancelling the wait loses nothing."""
        return self._async.next_message()

    def batches(
        self, *, max_records: int = 500, timeout_ms: int = 1_000, max_bytes: int = 1 << 24
    ) -> Iterator[list[MessageAndMetadata[K, V]]]:
        """The messages in lists, in the same order, with all that holds for single ones.

        A list has ``max_records`` messages, or what there is ``timeout_ms`` after it was asked for
        (0: at once), or less in front of an error and at the end. It may be empty, so that its
        caller gets his turn. It holds messages of several partitions and chunks, with ``delivery``
        ``at_most_once`` of one chunk.

        All its messages are consumed when the next list is asked for; an explicit
        ``commit_offsets()`` covers them before. ``consumer.timeout.ms`` counts from the last list
        that was not empty.

        Args:
            max_records: how many messages a list has at most; at least 1.
            timeout_ms: how long it may take, not negative.
            max_bytes: with chunks that hold so much in memory a list is full. What is in the
                caller's hands counts no more against ``queued.max.bytes``.

        Raises:
            ValueError: an argument is out of range.
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
        """The messages as ``pyarrow.RecordBatch``, with all that holds for ``batches``.

        The columns are those of Spark's Kafka source: key and value (binary), topic (string),
        partition (int32), offset (int64), timestamp (microseconds, UTC; -1 ms where the log has
        none) and timestampType (int32: -1 none, 0 created, 1 appended). No decoder is called.

        A batch is of one partition, and of one fetch or a part of one: what is there is not held
        back for more. It needs the extra ``arrow`` (``pip install 'zkconsumer[arrow]'``).

        Args:
            max_records: how many rows a batch has at most; at least 1.
            timeout_ms: after so long without messages an empty batch gives the caller his turn.
            columns: the names of those to make, in their order; others cost nothing. None: all.

        Returns:
            An iterator, which any library that reads Arrow's C streams takes, too, as it takes the
            stream itself (``__arrow_c_stream__``).

        Raises:
            ValueError: an argument is out of range, or there is no such column.
            ImportError: there is no pyarrow.
        """
        # It is large, and few want it.
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
        """The messages for any library that reads Arrow: ``polars.DataFrame(stream)``.

        They are those of ``arrow_batches``, from where the stream stands; nothing is read before
        the reader asks. For it the stream ends after ``consumer.timeout.ms`` without a message,
        and by ``shutdown``: a reader that wants all before it begins needs that time-out. What
        else an iteration raises, the reader gets as an error of Arrow with the same text.

        Args:
            requested_schema: a capsule; of its columns alone batches are made, cast by pyarrow to
                its types. None: all.

        Raises:
            ValueError: it names a column that there is not.
            pyarrow.ArrowException: a column can't be cast so.
            ImportError: there is no pyarrow.

        Thread: one at a time reads, as for an iteration.
        Source: Arrow's PyCapsule interface.
        """
        return self.arrow_batches().__arrow_c_stream__(requested_schema)

    def handed_over(self) -> dict[str, int]:
        """How many messages of each topic it has given so far; for metrics. Thread: any."""
        return self._reader.handed_over()

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
