"""The chunk in a stream's hands, message by message.

A signal handler may run behind every call from Python to a built-in function, and what the call
gave is lost where the handler raises. It can't run behind a plain store, nor between an iterator
and its ``for``. So a hand gives its messages as an iterator does, and is told everything else by
stores: a native hand may be written with the same promise.

Only the stream's thread touches a hand.
"""

from collections.abc import Callable, Iterator
from copy import copy
from itertools import chain, islice, repeat
from operator import length_hint
from typing import Any, Generic, Never, Protocol, Self, TypeVar

from zkconsumer.fetch.claim import Chunk
from zkconsumer.records.rows import Row, plain
from zkconsumer.streams.lease import Lease
from zkconsumer.streams.message import Decoder, MessageAndMetadata, Origin, message_of

K = TypeVar("K")
V = TypeVar("V")


class ChunkCursor(Protocol[K, V]):
    """What is in hand, and how far it was handed over.

    As an iterator it gives the next message, and so says that the one before is done with: of the
    claim's progress ``consumed_offset`` becomes ``delivered_offset``, whatever comes of it. Then
    the next message moves ``delivered_offset`` (and ``consumed_offset`` where what is in hand
    counts as consumed) to its offset + 1, with nothing in between at which a signal handler could
    run. ``StopIteration`` means that there is none *now*: nothing in hand, its claim given up, the
    lease over, or all handed over. It may be asked again at any time.

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

        Nothing is handed over by that, nothing moves, and neither claim nor lease is looked at.
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


class PythonChunkCursor(Generic[K, V]):
    """A hand for chunks whose records are made already; see ``ChunkCursor``.

    Args:
        consumes_in_hand: see ``Delivery``.
        lease: nothing is handed over when it is over.
        key_decoder: see ``MessageAndMetadata``.
        value_decoder: the same.
    """

    __slots__ = (
        "_chunk",
        "_consumes_in_hand",
        "_key_decoder",
        "_lease",
        "_origin",
        "_value_decoder",
        "place",
    )

    def __init__(
        self,
        *,
        consumes_in_hand: bool,
        lease: Lease,
        key_decoder: Decoder[K] | None,
        value_decoder: Decoder[V] | None,
    ) -> None:
        self.place: Iterator[Row] = iter(())
        self._chunk: Chunk | None = None
        self._origin: Origin[K, V]
        self._consumes_in_hand = consumes_in_hand
        self._lease = lease
        self._key_decoder = key_decoder
        self._value_decoder = value_decoder

    @property
    def chunk(self) -> Chunk | None:
        """See ``ChunkCursor``."""
        return self._chunk

    @chunk.setter
    def chunk(self, chunk: Chunk | None) -> None:
        if chunk is not None:
            tp = chunk.claim.topic_partition
            self._origin = Origin(tp, self._key_decoder, self._value_decoder)
        self.place = iter(() if chunk is None else plain(chunk.records))
        self._chunk = chunk

    @property
    def is_through(self) -> bool:
        """See ``ChunkCursor``."""
        return length_hint(self.place) == 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> MessageAndMetadata[K, V]:
        for message in self._turn(_no_more, [], 0):
            return message
        raise StopIteration

    def look(self, most: int) -> tuple[list[MessageAndMetadata[K, V]], Iterator[Row]]:
        """See ``ChunkCursor``."""
        rows, behind = self.look_rows(most)
        return [message_of(row, self._origin) for row in rows], behind

    def look_rows(self, most: int) -> tuple[list[Row], Iterator[Row]]:
        """The same without making messages."""
        behind = copy(self.place)
        return list(islice(behind, most)), behind

    def iterate(
        self, slow: Callable[[], MessageAndMetadata[K, V]]
    ) -> Iterator[MessageAndMetadata[K, V]]:
        """See ``ChunkCursor``."""
        # An error ends a generator for good. So there are as many as it takes, one after the other,
        # until one of them notes that the end has come. Between them and the caller no frame of
        # Python runs, and so no signal handler.
        ends: list[object] = []
        numbers = iter(ends.__len__, 1)
        return chain.from_iterable(map(self._turn, repeat(slow), repeat(ends), numbers))

    def _turn(
        self, slow: Callable[[], MessageAndMetadata[K, V]], ends: list[object], _number: int
    ) -> Iterator[MessageAndMetadata[K, V]]:
        """Give what can be had of the chunk in hand, and then one by ``slow`` if it has any.

        The place is an iterator that all who go through the chunk share.
        """
        chunk, place = self._chunk, self.place
        if chunk is not None:
            origin, consumes_in_hand = self._origin, self._consumes_in_hand
            # Any: they change under our hands, which the type checker would rule out.
            progress: Any = chunk.claim.progress
            lease, now_s = self._lease, self._lease.now_s
            blank, kind = object.__new__, MessageAndMetadata
            progress.consumed_offset = progress.delivered_offset
            message = blank(kind)
            if now_s() < lease.until_s and progress.active:
                for record in place:
                    # Nothing is called from here on, so that no signal handler runs: were it to
                    # raise, the message would count as handed over, and its caller not have it.
                    message._record = record  # noqa: SLF001 - ``message_of`` in place, see there
                    message._origin = origin  # noqa: SLF001
                    progress.delivered_offset = behind = record[0] + 1
                    if consumes_in_hand:
                        progress.consumed_offset = behind
                    yield message
                    if self.place is not place:
                        break
                    progress.consumed_offset = progress.delivered_offset
                    message = blank(kind)
                    # The last thing before the next record: who was stopped meanwhile knows.
                    if now_s() >= lease.until_s or not progress.active:
                        break
        try:
            message = slow()
        except StopIteration:
            ends.append(None)
            return
        yield message


def _no_more() -> Never:
    raise StopIteration
