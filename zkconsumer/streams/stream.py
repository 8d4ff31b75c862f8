"""The iterator that a caller's thread reads messages from.

When is a message consumed? When the caller asks for the next one. An offset that is committed
automatically therefore never covers the message in hand (the original moves the offset before it
hands the message over, and so can lose the one in hand). A message that was handed over is covered
by an explicit ``commit_offsets()``: whoever calls that says that it is done.

Source: Kafka 0.8.2.2 ``ConsumerIterator`` and ``KafkaStream``.
"""

import logging
from collections.abc import Sequence
from typing import Generic, Self, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.errors import ConsumerTimeout, ZkConsumerError
from zkconsumer.fetch.claim import Chunk
from zkconsumer.model import Record
from zkconsumer.streams.chunk_queue import ChunkQueue, Closed, Failed
from zkconsumer.streams.message import Decoder, MessageAndMetadata

K = TypeVar("K")
V = TypeVar("V")
log = logging.getLogger(__name__)


class KafkaStream(Generic[K, V]):
    """The messages of the partitions that one consumer thread owns, whichever these are.

    One thread iterates a stream. Iteration ends when the connector is shut down, raises
    ``ConsumerTimeout`` after ``consumer.timeout.ms`` without a message, ``RebalanceFailed`` when
    the member could not get its partitions, and ``MessageTooLarge`` or ``PartitionFailed`` when a
    partition can't be read on. After any of these errors the stream can be iterated further;
    a partition that failed stands still until it changes hands or the connector is made anew.
    """

    def __init__(
        self,
        queue: ChunkQueue,
        *,
        clock: Clock,
        timeout_ms: int = -1,
        key_decoder: Decoder[K] | None = None,
        value_decoder: Decoder[V] | None = None,
    ) -> None:
        self._queue = queue
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._key_decoder = key_decoder
        self._value_decoder = value_decoder
        self._chunk: Chunk | None = None
        self._started: Chunk | None = None
        self._records: Sequence[Record] = ()
        self._next_index = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> MessageAndMetadata[K, V]:
        """The next message; asking for it says that the one before is done with."""
        chunk = self._chunk
        if chunk is not None:
            claim = chunk.claim
            claim.consumed_offset = claim.delivered_offset
        else:
            chunk = self._next_chunk()
        while True:
            claim = chunk.claim
            if claim.active:
                index = self._next_index
                if index < len(self._records):
                    record = self._records[index]
                    message = MessageAndMetadata(
                        claim.topic_partition, record, self._key_decoder, self._value_decoder
                    )
                    # Nothing is called from here on, so that no signal handler runs: were it to
                    # raise, the message would count as handed over, and its caller not have it.
                    self._next_index = index + 1
                    claim.delivered_offset = record.offset + 1
                    return message
                self._finish(chunk)
            self._chunk = None
            self._queue.done_with(chunk)
            chunk = self._next_chunk()

    def _finish(self, chunk: Chunk) -> None:
        """The chunk is through: its end is the position, records there or compacted away."""
        self._chunk = None
        self._records = chunk.records = ()
        if chunk.poison is not None:
            self._queue.done_with(chunk)
            raise chunk.poison.error
        chunk.claim.delivered_offset = chunk.claim.consumed_offset = chunk.next_offset

    def _next_chunk(self) -> Chunk:
        deadline_ms = None
        if self._timeout_ms >= 0:
            deadline_ms = self._clock.now_ms() + self._timeout_ms
        while True:
            left_ms = None if deadline_ms is None else max(0, deadline_ms - self._clock.now_ms())
            item = self._queue.head(left_ms)
            if item is None:
                raise ConsumerTimeout(f"no message within {self._timeout_ms} ms")
            if isinstance(item, Closed):
                raise StopIteration
            if isinstance(item, Failed):
                self._queue.remove()
                raise _again(item.error)
            if item.claim.active and item is not self._started:
                self._start(item)
                self._queue.remove()
                return item
            # Given up; or read already, by a call that was interrupted before it could remove it.
            self._queue.remove()
            if isinstance(item, Chunk):
                self._queue.done_with(item)

    def _start(self, chunk: Chunk) -> None:
        claim = chunk.claim
        consumed = claim.consumed_offset
        if consumed is not None and chunk.fetch_offset != consumed:
            log.warning(
                "%s: position moved from %d to %d: the log no longer had what lay there",
                claim.topic_partition,
                consumed,
                chunk.fetch_offset,
            )
        claim.delivered_offset = claim.consumed_offset = chunk.fetch_offset
        self._records = chunk.records
        self._next_index = 0
        self._chunk = self._started = chunk


def _again(error: ZkConsumerError) -> ZkConsumerError:
    """One error object may be raised by several streams: drop the trace of the last one."""
    return error.with_traceback(None)
