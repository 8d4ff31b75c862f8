"""Writes batches of magic 2, byte for byte as the original's producers and brokers do.

Used by the producer, fakes and tests; the layout is described in ``batch_header`` and
``batch_records``. Records are written by the hundred thousand, hence one loop with few calls.
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from zkconsumer.errors import LocalProtocolError
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.batch_header import (
    BATCH_HEADER,
    CHECKED_FROM,
    CONTROL_MASK,
    DELETE_HORIZON_MASK,
    LOG_APPEND_MASK,
    MAGIC,
    MIN_BATCH_SIZE,
    NO_LEADER_EPOCH,
    NO_PRODUCER_ID,
    TRANSACTIONAL_MASK,
)
from zkconsumer.records.castagnoli import crc32c
from zkconsumer.records.codecs import Codec, compress
from zkconsumer.records.rows import Headers
from zkconsumer.records.varint import varint

_CRC_AT = 17
_CRC = struct.Struct(">I")
_TIME_DELTAS = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTraits:
    """The header fields of a batch.

    Attributes:
        base_offset: its base offset; None for the first record's offset.
        last_offset: its last offset; None for the last record's. Compaction removes records at both
            ends and keeps these two.
        leader_epoch: that of the leader that appended it, -1 for none.
        producer_id: -1 if the producer is neither idempotent nor transactional.
        producer_epoch: the epoch of that id, -1 for none.
        base_sequence: the sequence number of its first record, -1 for none.
        is_transactional: whether it belongs to a transaction.
        is_control: whether its record is a marker.
        delete_horizon_ms: when its tombstones may be deleted (KIP-534); None if it is not set.
    """

    base_offset: int | None = None
    last_offset: int | None = None
    leader_epoch: int = NO_LEADER_EPOCH
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False
    delete_horizon_ms: int | None = None


PLAIN = BatchTraits()


def build_batch(
    records: Iterable[Record],
    *,
    codec: Codec = Codec.NONE,
    headers: Mapping[int, Headers] | None = None,
    traits: BatchTraits = PLAIN,
) -> bytes:
    """Return a record batch.

    Args:
        records: in log order, with one timestamp type and, if that is LOG_APPEND_TIME, with one
            timestamp. May be empty if ``traits`` has both offsets.
        codec: the codec to compress with.
        headers: the headers of the records that have any, by their index.
        traits: the batch's header fields.

    Raises:
        LocalProtocolError: the records can't be encoded in that way.
        UnsupportedCodec: the library for the codec is not installed.
    """
    chosen = list(records)
    base, last = _bounds(chosen, traits)
    stamps = [record.timestamp for record in chosen]
    has_append_time = any(row.timestamp_type is TimestampType.LOG_APPEND_TIME for row in chosen)
    base_time = _base_time(chosen, traits, f"records {base} to {last}")
    found = headers or {}
    try:
        body = _body(chosen, base, base_time, found)
        packed = compress(codec, body, magic=MAGIC)
        head = BATCH_HEADER.pack(
            base,
            MIN_BATCH_SIZE + len(packed),
            traits.leader_epoch,
            MAGIC,
            0,
            codec | LOG_APPEND_MASK * has_append_time | _flags(traits),
            last - base,
            base_time,
            max(stamps, default=-1),
            traits.producer_id,
            traits.producer_epoch,
            traits.base_sequence,
            len(chosen),
        )
    except struct.error as error:
        raise LocalProtocolError(
            f"records {base} to {last} do not fit in a batch: {error}"
        ) from error
    return with_crc(head + packed)


def with_crc(batch: bytes) -> bytes:
    """Return the batch with its CRC corrected."""
    crc = _CRC.pack(crc32c(batch[CHECKED_FROM:]))
    return batch[:_CRC_AT] + crc + batch[_CRC_AT + len(crc) :]


def _bounds(records: list[Record], traits: BatchTraits) -> tuple[int, int]:
    offsets = [record.offset for record in records]
    base, last = traits.base_offset, traits.last_offset
    if not offsets and (base is None or last is None):
        raise LocalProtocolError("an empty batch needs its first and its last offset")
    base = offsets[0] if base is None else base
    last = offsets[-1] if last is None else last
    every = [base - 1, *offsets, last + 1]
    if any(one >= other for one, other in pairwise(every)) or base < 0:
        raise LocalProtocolError(f"a batch from {base} to {last} can't hold offsets {offsets}")
    return base, last


def _base_time(records: list[Record], traits: BatchTraits, what: str) -> int:
    """Return the base timestamp of the batch."""
    types = {record.timestamp_type for record in records}
    stamps = [record.timestamp for record in records]
    has_append_time = types == {TimestampType.LOG_APPEND_TIME}
    if len(types) > 1 or (has_append_time and len(set(stamps)) > 1):
        raise LocalProtocolError(f"{what} need timestamps of one kind in a batch")
    base_time = traits.delete_horizon_ms
    if base_time is None:
        base_time = stamps[0] if stamps else -1
    if any(stamp - base_time not in _TIME_DELTAS for stamp in stamps):
        raise LocalProtocolError(f"{what} are too far apart in time for a batch")
    return base_time


def _flags(traits: BatchTraits) -> int:
    return (
        TRANSACTIONAL_MASK * traits.is_transactional
        | CONTROL_MASK * traits.is_control
        | DELETE_HORIZON_MASK * (traits.delete_horizon_ms is not None)
    )


def _body(
    records: list[Record], base: int, base_time: int, headers: Mapping[int, Headers]
) -> bytes:
    """Return the encoded records."""
    number, none, no_headers = _varint, varint(-1), varint(0)
    parts: list[bytes] = []
    for place, (offset, key, value, timestamp, _) in enumerate(records):
        body = b"".join(
            (
                b"\0",
                number(timestamp - base_time),
                number(offset - base),
                none if key is None else number(len(key)) + key,
                none if value is None else number(len(value)) + value,
                _headers(headers[place]) if place in headers else no_headers,
            )
        )
        parts += (number(len(body)), body)
    return b"".join(parts)


def _headers(headers: Headers) -> bytes:
    parts = [varint(len(headers))]
    for name, value in headers:
        try:
            encoded = name.encode()
        except UnicodeEncodeError as error:
            raise LocalProtocolError(f"header {name!r} can't be encoded: {error.reason}") from error
        parts += (_sized(encoded), _sized(value))
    return b"".join(parts)


def _sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


_varint = lru_cache(maxsize=1 << 15)(varint)
"""Cached, as offset deltas count up from 0 in every batch, and lengths repeat."""
