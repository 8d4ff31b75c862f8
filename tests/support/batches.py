"""Small record batches (magic 2) for tests."""

from collections.abc import Iterable

from zkconsumer.model import Record, TimestampType
from zkconsumer.records.batch_header import BATCH_HEADER
from zkconsumer.records.build_batch import BatchTraits, with_crc
from zkconsumer.records.decode import DecodedSet, decode_record_set
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction

ROOM = 1 << 20
NOW = 1_700_000_000_000


def records(*offsets: int) -> list[Record]:
    """Return a record for each offset, whose key and value contain the offset."""
    return [
        Record(
            offset,
            f"k{offset}".encode(),
            f"value {offset}".encode() * 3,
            NOW + offset,
            TimestampType.CREATE_TIME,
        )
        for offset in offsets
    ]


def of_producer(producer_id: int, *, is_transactional: bool = True) -> BatchTraits:
    """Return the traits of a producer's batches."""
    return BatchTraits(
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=is_transactional,
    )


decoder = decode_record_set
"""The decoder that ``decode`` uses; see ``engines.each_engine``."""


def decode(
    data: bytes,
    fetch_offset: int = 0,
    room: int = ROOM,
    aborted: Iterable[AbortedTransaction] | None = None,
    *,
    enough_bytes: int | None = None,
) -> DecodedSet:
    """Decode with ample memory; as read_committed if ``aborted`` is given."""
    return decoder(
        data,
        fetch_offset=fetch_offset,
        max_decompressed_bytes=room,
        enough_bytes=enough_bytes,
        isolation=IsolationLevel(aborted is not None),
        aborted=aborted,
    )


def with_head(batch: bytes, **changes: int) -> bytes:
    """Return the batch with other header fields, and the matching CRC."""
    names = (
        *("base_offset", "size", "leader_epoch", "magic", "crc", "attributes"),
        *("last_offset_delta", "base_timestamp", "max_timestamp", "producer_id"),
        *("producer_epoch", "base_sequence", "record_count"),
    )
    fields = dict(zip(names, BATCH_HEADER.unpack_from(batch), strict=True))
    head = BATCH_HEADER.pack(*(fields | changes).values())
    return with_crc(head + batch[BATCH_HEADER.size :])


def with_body(batch: bytes, body: bytes) -> bytes:
    """Return the batch with another body, and the matching size and CRC."""
    size = BATCH_HEADER.size - 12 + len(body)
    return with_head(batch[: BATCH_HEADER.size] + body, size=size)
