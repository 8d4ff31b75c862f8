"""The type of ``decode_fetched`` of either engine, for tests that run with each of them."""

from collections.abc import Iterable
from typing import Protocol

from zkconsumer.records.codecs import Codec
from zkconsumer.records.slices import FetchedRecords
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction


class FetchedDecoder(Protocol):
    """A decoder of fetched record sets."""

    def __call__(
        self,
        data: bytes | memoryview,
        *,
        fetch_offset: int,
        max_decompressed_bytes: int,
        enough_bytes: int | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        aborted: Iterable[AbortedTransaction] | None = None,
        kept_codec: Codec = Codec.NONE,
    ) -> FetchedRecords:
        """See ``decode_record_set``, whose arguments these are."""
        ...
