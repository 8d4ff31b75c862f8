"""Reads a stream's current chunk message by message.

A signal handler may run after every call from Python to a built-in function, and what the call
returned is lost if the handler raises. It can't run after a plain store, nor between an iterator
and its ``for``. So a cursor yields its messages as an iterator, and everything else is set by
stores. The native cursor gives the same guarantee.

Only the stream's thread uses a cursor.
"""

from collections.abc import Callable, Iterator
from copy import copy
from itertools import chain, islice, repeat
from operator import length_hint
from typing import Any, Generic, Never, Protocol, Self, TypeVar

from zkconsumer.fetch.claim import Chunk
from zkconsumer.records.rows import Row, as_tuples
from zkconsumer.streams.lease import Lease
from zkconsumer.streams.message import Decoder, MessageAndMetadata, Origin, message_of

K = TypeVar("K")
V = TypeVar("V")


class ChunkCursor(Protocol[K, V]):
    """The current chunk, and how far it was handed over.

    As an iterator it yields the next message, and so marks the previous one as consumed: the
    claim's ``consumed_offset`` becomes ``delivered_offset``, whatever follows. Then the next
    message moves ``delivered_offset`` (and ``consumed_offset`` if the current message counts as
    consumed) to its offset + 1, without a point at which a signal handler could run.
    ``StopIteration`` means no message *now*: no chunk, its claim given up, the lease
    expired, or all handed over. It may be called again at any time.

    Attributes:
        chunk: the current chunk, if any. Storing one begins it at its first message; storing None
            forgets it. Neither changes the claim.
        position: how far the chunk was handed over, in either engine's form; storing what ``peek``
            returned moves it on. The claim's progress is then up to the storing code.
    """

    position: Any

    @property
    def chunk(self) -> Chunk | None:
        """The current chunk, or None."""
        ...

    @chunk.setter
    def chunk(self, chunk: Chunk | None) -> None: ...

    def __iter__(self) -> Iterator[MessageAndMetadata[K, V]]: ...

    def __next__(self) -> MessageAndMetadata[K, V]: ...

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing of the chunk is left to hand over; True without a chunk."""
        ...

    def peek(self, most: int) -> tuple[list[MessageAndMetadata[K, V]], Any]:
        """Return the next messages, at most ``most``, and the position after them.

        Hand nothing over, move no offset, and check neither claim nor lease.
        """
        ...

    def iterate(
        self, slow: Callable[[], MessageAndMetadata[K, V]]
    ) -> Iterator[MessageAndMetadata[K, V]]:
        """Yield this cursor's messages, and when it has none, those that ``slow`` returns.

        ``slow`` ends this by ``StopIteration``. Any other error is raised, and the next call
        continues. Several such iterators may exist at a time.
        """
        ...


class PythonChunkCursor(Generic[K, V]):
    """The cursor for chunks whose records are Python objects; see ``ChunkCursor``.

    Args:
        consumes_delivered: see ``Delivery``.
        lease: nothing is handed over after its end.
        key_decoder: see ``MessageAndMetadata``.
        value_decoder: the same.
    """

    __slots__ = (
        "_chunk",
        "_consumes_delivered",
        "_key_decoder",
        "_lease",
        "_origin",
        "_value_decoder",
        "position",
    )

    def __init__(
        self,
        *,
        consumes_delivered: bool,
        lease: Lease,
        key_decoder: Decoder[K] | None,
        value_decoder: Decoder[V] | None,
    ) -> None:
        self.position: Iterator[Row] = iter(())
        self._chunk: Chunk | None = None
        self._origin: Origin[K, V]
        self._consumes_delivered = consumes_delivered
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
        self.position = iter(() if chunk is None else as_tuples(chunk.records))
        self._chunk = chunk

    @property
    def is_exhausted(self) -> bool:
        """See ``ChunkCursor``."""
        return length_hint(self.position) == 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> MessageAndMetadata[K, V]:
        for message in self._turn(_no_more, [], 0):
            return message
        raise StopIteration

    def peek(self, most: int) -> tuple[list[MessageAndMetadata[K, V]], Iterator[Row]]:
        """See ``ChunkCursor``."""
        rows, after = self.peek_rows(most)
        return [message_of(row, self._origin) for row in rows], after

    def peek_rows(self, most: int) -> tuple[list[Row], Iterator[Row]]:
        """Return the next rows without making messages."""
        after = copy(self.position)
        return list(islice(after, most)), after

    def iterate(
        self, slow: Callable[[], MessageAndMetadata[K, V]]
    ) -> Iterator[MessageAndMetadata[K, V]]:
        """See ``ChunkCursor``."""
        # An error ends a generator for good. So there are as many generators as needed, one after
        # another, until one of them records the end. Between them and the caller no Python frame
        # runs, and so no signal handler.
        ends: list[object] = []
        numbers = iter(ends.__len__, 1)
        return chain.from_iterable(map(self._turn, repeat(slow), repeat(ends), numbers))

    def _turn(
        self, slow: Callable[[], MessageAndMetadata[K, V]], ends: list[object], _number: int
    ) -> Iterator[MessageAndMetadata[K, V]]:
        """Yield the rest of the current chunk, then one message of ``slow`` if it has any.

        All iterators over the chunk share its position, which is an iterator itself.
        """
        chunk, position = self._chunk, self.position
        if chunk is not None:
            origin, consumes_delivered = self._origin, self._consumes_delivered
            # Any: its fields change meanwhile, which the type checker would rule out.
            progress: Any = chunk.claim
            lease, now_s = self._lease, self._lease.now_s
            blank, kind = object.__new__, MessageAndMetadata
            progress.consumed_offset = progress.delivered_offset
            message = blank(kind)
            if now_s() < lease.until_s and progress.active:
                for record in position:
                    # Nothing is called from here on, so no signal handler runs: if it raised, the
                    # message would count as handed over, and the caller would not have it.
                    message._record = record  # noqa: SLF001 - ``message_of`` in place, see there
                    message._origin = origin  # noqa: SLF001
                    progress.delivered_offset = next_offset = record[0] + 1
                    if consumes_delivered:
                        progress.consumed_offset = next_offset
                    yield message
                    if self.position is not position:
                        break
                    progress.consumed_offset = progress.delivered_offset
                    message = blank(kind)
                    # Right before the next record, to notice that the process was suspended.
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
