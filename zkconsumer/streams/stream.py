"""The iterator that a caller's thread reads messages from.

When is a message consumed? By default when the caller asks for the next one: an offset that is
committed automatically never covers the message in hand (the original moves the offset before it
hands the message over, and so can lose the one in hand; see ``Delivery``). A message that was
handed over is covered by an explicit ``commit_offsets()``: whoever calls that says that it is done.

Source: Kafka 0.8.2.2 ``ConsumerIterator`` and ``KafkaStream``.
"""

from collections.abc import Coroutine, Iterator
from typing import Any, Generic, Self, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.errors import ConsumerTimeout, ZkConsumerError
from zkconsumer.streams.aio import AsyncReader
from zkconsumer.streams.delivery import CommitAhead, Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.message import Decoder, MessageAndMetadata
from zkconsumer.streams.poison import RAISE, PoisonPolicy
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.reader import ChunkReader, Errand, Need, ReaderParts

K = TypeVar("K")
V = TypeVar("V")
_LOOK_AROUND_MS = 500
"""A wait ends at least so often, for what nobody calls it for: a fork, a claim that was lost."""


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
        self._queue = queue
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._reader = ChunkReader(
            ReaderParts(
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

    def _wait_for_next(self) -> MessageAndMetadata[K, V]:
        if self._async.waiting is not None:
            self._async.refuse_another()
        deadline_ms = None
        if self._timeout_ms >= 0:
            deadline_ms = self._clock.now_ms() + self._timeout_ms
        while True:
            message = self._reader.step()
            if message is not None:
                return message
            need = self._reader.turn()
            if isinstance(need, Errand):
                self._run(need)
            elif need is Need.END:
                raise StopIteration
            elif need is not Need.NOTHING:
                self._wait(need, deadline_ms)

    def _run(self, errand: Errand) -> None:
        try:
            go_on = errand.run()
        except ZkConsumerError as error:
            self._reader.settle_error(errand, error)
            raise
        self._reader.settle(errand, go_on=go_on)

    def _wait(self, need: Need, deadline_ms: int | None) -> None:
        """Until there may be what is needed, or for a while."""
        nap_ms = _LOOK_AROUND_MS
        if deadline_ms is not None:
            nap_ms = max(0, min(nap_ms, deadline_ms - self._clock.now_ms()))
        if need is Need.TRUST:
            self._queue.pause(nap_ms)
        elif self._queue.head(nap_ms) is not None:
            return
        if deadline_ms is not None and self._clock.now_ms() >= deadline_ms:
            raise ConsumerTimeout(f"no message within {self._timeout_ms} ms")
