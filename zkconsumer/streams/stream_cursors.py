"""Selects the cursor for a chunk: the native cursor for native records, else the one in Python.

Both occur in one process: chunks made in Python (for example an error with the records before it)
are queued among native ones.
"""

import copyreg
from typing import Generic, TypeVar, cast

from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.sizes import are_native
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.streams.chunk_cursor import ChunkCursor, PythonChunkCursor
from zkconsumer.streams.lease import Lease
from zkconsumer.streams.message import Decoder, MessageAndMetadata, parts_of

if ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

    MessageAndMetadata.register(_core.Message)
    for kind in (_core.Message, _core.DecodedMessage):
        copyreg.pickle(kind, parts_of)

K = TypeVar("K")
V = TypeVar("V")


class StreamCursors(Generic[K, V]):
    """The cursors of one stream, of which at most one has a chunk; see ``PythonChunkCursor``.

    Attributes:
        first: the cursor for most chunks.
    """

    def __init__(
        self,
        *,
        consumes_delivered: bool,
        lease: Lease,
        key_decoder: Decoder[K] | None,
        value_decoder: Decoder[V] | None,
    ) -> None:
        self._consumes_delivered = consumes_delivered
        self._lease = lease
        self._key_decoder = key_decoder
        self._value_decoder = value_decoder
        self._python = self._make_python()
        self.first: ChunkCursor[K, V] = self._python
        if ENGINE is Engine.NATIVE:
            self.first = self._make_native()

    def of(self, chunk: Chunk) -> ChunkCursor[K, V]:
        """Return the cursor for this chunk."""
        return self.first if are_native(chunk) else self._python

    def another(self, chunk: Chunk) -> ChunkCursor[K, V]:
        """Return a new cursor on this chunk, to read ahead of the stream's position."""
        cursor: ChunkCursor[K, V] = (
            self._make_native() if are_native(chunk) else self._make_python()
        )
        cursor.chunk = chunk
        return cursor

    def _make_python(self) -> PythonChunkCursor[K, V]:
        return PythonChunkCursor(
            consumes_delivered=self._consumes_delivered,
            lease=self._lease,
            key_decoder=self._key_decoder,
            value_decoder=self._value_decoder,
        )

    def _make_native(self) -> ChunkCursor[K, V]:
        cursor = _core.NativeCursor(
            consumes_delivered=self._consumes_delivered,
            lease=self._lease,
            key_decoder=self._key_decoder,
            value_decoder=self._value_decoder,
        )
        # Its messages differ from ours only in their class.
        return cast("ChunkCursor[K, V]", cursor)
