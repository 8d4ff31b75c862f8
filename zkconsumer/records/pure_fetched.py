"""Decodes fetched records in Python: the reference."""

from collections.abc import Iterable

from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.slices import FetchedRecords
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction


def decode_fetched(  # noqa: PLR0913 - one part a line, all by name
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    aborted: Iterable[AbortedTransaction] | None = None,
    kept_codec: Codec = Codec.NONE,  # noqa: ARG001 - rows are all that there is
) -> FetchedRecords:
    """Decode a fetched record set; never raises, whatever the bytes. Thread: any.

    The arguments are those of ``decode_record_set``. With ``kept_codec``, the native core's runs of
    whole batches of that codec also keep the compressed bytes.
    """
    return FetchedRecords.of(
        decode_record_set(
            data,
            fetch_offset=fetch_offset,
            max_decompressed_bytes=max_decompressed_bytes,
            enough_bytes=enough_bytes,
            isolation=isolation,
            aborted=aborted,
        )
    )
