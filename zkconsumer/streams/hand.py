"""The chunk in a stream's hands, message by message.

A signal handler may run behind every call from Python to a built-in function, and what the call
gave is lost where the handler raises. It can't run behind a plain store, nor between an iterator
and its ``for``. So a hand gives its messages as an iterator does, and is told everything else by
stores: a native hand may be written with the same promise.

Only the stream's thread touches a hand.
"""

from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, Self, TypeVar

from zkconsumer.fetch.claim import Chunk
from zkconsumer.model import Record
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.message import Decoder, MessageAndMetadata

K = TypeVar("K")
V = TypeVar("V")


class Hand(Protocol[K, V]):
    """What is in hand, and how far it was handed over.

    As an iterator it gives the next message, and so says that the one before is done with: of the
    claim's progress ``consumed_offset`` becomes ``delivered_offset``, whatever comes of it. Then
    the next message moves ``delivered_offset`` (and ``consumed_offset`` where what is in hand
    counts as consumed) to its offset + 1, with nothing in between at which a signal handler could
    run. ``StopIteration`` means that there is none *now*: nothing in hand, its claim given up, the
    gate suspect, or all handed over. It may be asked again at any time.

    Attributes:
        chunk: what is in hand, if anything. Storing one begins it at its first message; storing
            None forgets it. Neither touches the claim.
        place: how far it was handed over, in whatever form; storing what ``look`` gave moves on.
            Whoever does that sees to the claim's progress himself.
    """

    place: Any

    @property
    def chunk(self) -> Chunk | None:
        """What is in hand."""
        ...

    @chunk.setter
    def chunk(self, chunk: Chunk | None) -> None: ...

    def __iter__(self) -> Iterator[MessageAndMetadata[K, V]]: ...

    def __next__(self) -> MessageAndMetadata[K, V]: ...

    @property
    def is_through(self) -> bool:
        """Whether nothing of the chunk is left to hand over; True without a chunk."""
        ...

    def look(self, most: int) -> tuple[list[MessageAndMetadata[K, V]], Any]:
        """Make the next messages, so many at most, and tell the place behind them.

        Nothing is handed over by that, nothing moves, and neither claim nor gate is asked.
        """
        ...

    def iterate(
        self, slow: Callable[[], MessageAndMetadata[K, V]]
    ) -> Iterator[MessageAndMetadata[K, V]]:
        """Give what this has, and where it has nothing, what ``slow`` gives.

        ``slow`` ends it by ``StopIteration``. Any other error comes through, and the next call goes
        on. There may be several of these at a time.
        """
        ...


class PureHand(Generic[K, V]):
    """A hand for chunks whose records are made already; see ``Hand``.

    Args:
        consumes_in_hand: see ``Delivery``.
        gate: holds messages back while it is suspect.
        key_decoder: see ``MessageAndMetadata``.
        value_decoder: the same.
    """

    __slots__ = (
        "_chunk",
        "_consumes_in_hand",
        "_gate",
        "_key_decoder",
        "_value_decoder",
        "place",
    )

    def __init__(
        self,
        *,
        consumes_in_hand: bool,
        gate: DeliveryGate,
        key_decoder: Decoder[K] | None,
        value_decoder: Decoder[V] | None,
    ) -> None:
        self.place = 0
        self._chunk: Chunk | None = None
        self._consumes_in_hand = consumes_in_hand
        self._gate = gate
        self._key_decoder = key_decoder
        self._value_decoder = value_decoder

    @property
    def chunk(self) -> Chunk | None:
        """See ``Hand``."""
        return self._chunk

    @chunk.setter
    def chunk(self, chunk: Chunk | None) -> None:
        self.place = 0
        self._chunk = chunk

    @property
    def is_through(self) -> bool:
        """See ``Hand``."""
        return self._chunk is None or self.place >= len(self._chunk.records)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> MessageAndMetadata[K, V]:
        chunk = self._chunk
        if chunk is None:
            raise StopIteration
        claim = chunk.claim
        claim.consumed_offset = claim.delivered_offset
        place = self.place
        is_held = self._gate.suspect_since_ms is not None
        if not claim.active or is_held or place >= len(chunk.records):
            raise StopIteration
        record = chunk.records[place]
        message = self._message(chunk, record)
        # Nothing is called from here on, so that no signal handler runs: were it to raise, the
        # message would count as handed over, and its caller not have it.
        self.place = place + 1
        claim.delivered_offset = record.offset + 1
        if self._consumes_in_hand:
            claim.consumed_offset = record.offset + 1
        return message

    def look(self, most: int) -> tuple[list[MessageAndMetadata[K, V]], int]:
        """See ``Hand``."""
        chunk = self._chunk
        if chunk is None:
            return [], self.place
        found = chunk.records[self.place : self.place + most]
        return [self._message(chunk, record) for record in found], self.place + len(found)

    def iterate(
        self, slow: Callable[[], MessageAndMetadata[K, V]]
    ) -> Iterator[MessageAndMetadata[K, V]]:
        """See ``Hand``."""
        return _Iteration(self, slow)

    def _message(self, chunk: Chunk, record: Record) -> MessageAndMetadata[K, V]:
        return MessageAndMetadata(
            chunk.claim.topic_partition, record, self._key_decoder, self._value_decoder
        )


class _Iteration(Generic[K, V]):
    """See ``Hand.iterate``."""

    __slots__ = ("_hand", "_slow")

    def __init__(self, hand: PureHand[K, V], slow: Callable[[], MessageAndMetadata[K, V]]) -> None:
        self._hand = hand
        self._slow = slow

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> MessageAndMetadata[K, V]:
        for message in self._hand:
            return message
        return self._slow()
