"""Advance a stream from one message to the next, without waiting.

``step`` returns a message if one is available. If not, ``turn`` takes one step towards the next
(finishes, drops or starts a chunk), or returns what to wait for. Their callers, ``KafkaStream`` and
``AsyncReader``, differ only in how they wait.

Signal handlers that raise (Ctrl-C's does) may interrupt this between any two calls. So changes
that belong together are consecutive plain stores without a call between them, and a change that
must happen once leaves a mark for the next turn: nothing is lost or handed over twice.

Source: Kafka 0.8.2.2 ``ConsumerIterator``.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Generic, TypeVar

from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.fetch.claim import Chunk, Poison
from zkconsumer.streams.delivery import CommitAhead, Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.message import Decoder, MessageAndMetadata
from zkconsumer.streams.poison import PoisonPolicy
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.stream_cursors import StreamCursors
from zkconsumer.streams.stream_queue import Closed, Failed, Item

K = TypeVar("K")
V = TypeVar("V")
log = logging.getLogger(__name__)


class Need(Enum):
    """What is needed before the next message, other than a ``BlockingTask``."""

    NOTHING = "try again at once"
    ITEM = "wait until something is queued"
    TRUST = "wait until the gate opens, or what is held up is given up"
    END = "the stream has ended"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockingTask:
    """A task that may block, to be run in any thread; ``settle`` takes its outcome.

    Attributes:
        chunk: the chunk it concerns.
        is_poison: True for the poison after the chunk's records, False for the commit before them.
        run: returns whether to continue with the chunk; False drops it. Raises ``ZkConsumerError``,
            and must then be run again, unless ``settle_error`` decides otherwise.
    """

    chunk: Chunk
    is_poison: bool
    run: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderComponents(Generic[K, V]):
    """The collaborators of a reader; see ``KafkaStream`` for each."""

    queue: StreamQueue
    gate: DeliveryGate
    delivery: Delivery
    commit_ahead: CommitAhead | None
    poison: PoisonPolicy
    key_decoder: Decoder[K] | None
    value_decoder: Decoder[V] | None


class ChunkReader(Generic[K, V]):
    """Reads the chunks of a stream's queue. Thread: the stream's, or its event loop's."""

    def __init__(self, parts: ReaderComponents[K, V]) -> None:
        if parts.delivery.commits_ahead and parts.commit_ahead is None:
            raise ConfigError(f"delivery={parts.delivery} needs a way to commit ahead")
        self._queue = parts.queue
        self._gate = parts.gate
        self._poison = parts.poison
        self._commit_ahead = parts.commit_ahead if parts.delivery.commits_ahead else None
        self._cursors = StreamCursors(
            consumes_delivered=parts.delivery.consumes_delivered,
            lease=parts.gate.lease,
            key_decoder=parts.key_decoder,
            value_decoder=parts.value_decoder,
        )
        self._cursor = self._cursors.first
        self._consumes_delivered = parts.delivery.consumes_delivered
        # The chunks whose commit and whose poison were handled: current, or the queue's head.
        self._committed: Chunk | None = None
        self._met: Chunk | None = None
        # A chunk not yet started whose jump was logged.
        self._jumped: Chunk | None = None
        # The head of the queue, once it is current and only has to be removed.
        self._taken: Item | None = None
        # A finished chunk whose bytes the queue must still free.
        self._finished: Chunk | None = None
        # Messages of all chunks taken, minus those of given-up chunks that were not handed over.
        self._counts: dict[str, int] = {}

    def delivered_counts(self) -> dict[str, int]:
        """Return how many messages of each topic the caller has received so far. Thread: any.

        While a chunk is being taken the number may be too large for a moment. If the log has gaps,
        the rest of the current chunk is an estimate.
        """
        # The available chunks first: one added meanwhile counts as handed over for a moment.
        at_hand = self._available()
        counts = dict(self._counts)
        for chunk in at_hand:
            topic = chunk.claim.topic_partition.topic
            counts[topic] = max(0, counts.get(topic, 0) - _left(chunk))
        return counts

    def step(self) -> MessageAndMetadata[K, V] | None:
        """Return the current chunk's next message, or None; consume the current message."""
        # In a for loop, no signal handler runs between the cursor and us.
        for message in self._cursor:
            return message
        return None

    def iterate(
        self, slow: Callable[[], MessageAndMetadata[K, V]]
    ) -> Iterator[MessageAndMetadata[K, V]]:
        """Yield the messages of ``step``, else those of ``slow``; see ``ChunkCursor.iterate``."""
        return self._cursors.first.iterate(slow)

    def turn(self) -> Need | BlockingTask:
        """Take one step towards the next message, after ``step`` returned none.

        Raises:
            ConsumerForked: this is a forked child.
            ZkConsumerError: an error from the queue; the next turn goes on after it.
        """
        is_shut = self._gate.is_shut()
        if self._finished is not None:
            self._give_back(self._finished)
        chunk = self._cursor.chunk
        if chunk is not None:
            if not chunk.claim.active:
                self._count(chunk, -_left(chunk))
                self._let_go(chunk)
            elif is_shut:
                return Need.TRUST
            elif not self._cursor.is_exhausted:
                return Need.NOTHING
            elif (poison := chunk.poison) is not None and self._met is not chunk:
                return BlockingTask(
                    chunk=chunk, is_poison=True, run=partial(self._handle_poison, poison)
                )
            else:
                self._finish(chunk)
        return self._process_head(is_shut=is_shut)

    def check(self) -> None:
        """Check that this is not a forked child.

        Raises:
            ConsumerForked: this is a forked child.
        """
        self._gate.is_shut()

    def settle(self, task: BlockingTask, *, go_on: bool) -> None:
        """Record the outcome of the last turn's task."""
        chunk = task.chunk
        if task.is_poison:
            self._met = chunk
        elif go_on:
            self._committed = chunk
        else:
            self._drop_head(chunk)

    def settle_error(self, task: BlockingTask, error: ZkConsumerError) -> None:
        """Record the failure of the last turn's task; the stream's caller gets the error."""
        chunk = task.chunk
        poison = chunk.poison
        if poison is not None and error is poison.error:
            # The partition stops before the poison, which is not consumed or handled again. The
            # next turn frees the chunk: a call here could be interrupted, and the error lost.
            self._finished = chunk
            self._cursor.chunk = None
            chunk.records = ()

    def _process_head(self, *, is_shut: bool) -> Need | BlockingTask:
        """Process the head of the queue when there is no current chunk."""
        item = self._queue.head(0)
        if item is None:
            return Need.ITEM
        if isinstance(item, Closed):
            return Need.END
        if isinstance(item, Chunk) and (item is self._taken or not item.claim.active):
            # Given up; or already finished, and left in the queue by an interruption.
            self._drop_head(item)
        elif item is self._taken:
            self._queue.remove()
        elif isinstance(item, Failed):
            error = item.error.with_traceback(None)  # several streams may raise the same object
            self._taken = item
            raise error
        elif is_shut:
            return Need.TRUST
        elif self._commit_ahead is not None and self._committed is not item:
            self._note_jump(item, item.claim.consumed_offset)
            commit = partial(self._commit_ahead, item.claim, item.next_offset)
            return BlockingTask(chunk=item, is_poison=False, run=commit)
        else:
            self._count(item, len(item.records))
            self._start(item)
            self._queue.remove()
        return Need.NOTHING

    def _count(self, chunk: Chunk, messages: int) -> None:
        topic = chunk.claim.topic_partition.topic
        self._counts[topic] = self._counts.get(topic, 0) + messages

    def _available(self) -> tuple[Chunk, ...]:
        """Return the chunks that were counted and may have messages left. Thread: any."""
        chunk = self._cursor.chunk
        return () if chunk is None else (chunk,)

    def _start(self, chunk: Chunk) -> None:
        claim = chunk.claim
        self._note_jump(chunk, claim.consumed_offset)
        self._jumped = None
        claim.delivered_offset = claim.consumed_offset = chunk.fetch_offset
        cursor = self._cursors.of(chunk)
        # Only plain stores from here on: the current chunk is still to be removed.
        cursor.chunk = chunk
        self._cursor = cursor
        self._taken = chunk

    def _note_jump(self, chunk: Chunk, position: int | None) -> None:
        """Log once that a chunk does not begin at the position; count the jump if it goes back."""
        if position is not None and chunk.fetch_offset != position and self._jumped is not chunk:
            log.warning(
                "%s: position moved from %d to %d: the log no longer had the records there",
                f"{chunk.claim.topic_partition}",
                position,
                chunk.fetch_offset,
            )
            if chunk.fetch_offset < position:
                # Before the offsets move: an earlier commit must not suppress a smaller one.
                chunk.claim.jumps_back += 1
            self._jumped = chunk

    def _finish(self, chunk: Chunk) -> None:
        """Move the position to the chunk's end, even if its last records were compacted away."""
        claim = chunk.claim
        claim.delivered_offset = claim.consumed_offset = chunk.next_offset
        self._let_go(chunk)

    def _let_go(self, chunk: Chunk) -> None:
        self._finished = chunk
        self._cursor.chunk = None
        chunk.records = ()
        self._give_back(chunk)

    def _drop_head(self, chunk: Chunk) -> None:
        """Drop the head of the queue without handing it over."""
        self._taken = self._finished = chunk
        self._queue.remove()
        self._give_back(chunk)

    def _give_back(self, chunk: Chunk) -> None:
        self._queue.release(chunk)
        self._finished = None

    def _handle_poison(self, poison: Poison) -> bool:
        self._poison.handle(poison)
        return True


def _left(chunk: Chunk) -> int:
    """Return how many messages of a chunk were not handed over."""
    delivered = chunk.claim.delivered_offset
    begun = chunk.fetch_offset if delivered is None else max(delivered, chunk.fetch_offset)
    return min(len(chunk.records), max(0, chunk.next_offset - begun))
