"""Writes message sets of magic 0 and 1, byte for byte as the original's producers do.

Used by the producer and by fakes and tests; the layout is described in ``legacy``.
"""

import struct
from collections.abc import Iterable
from zlib import crc32

from zkconsumer.errors import LocalProtocolError
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec, compress
from zkconsumer.records.legacy import LOG_APPEND_MASK, MAGICS

_FRAME = struct.Struct(">qiI")
_HEAD_0 = struct.Struct(">BBi")
_HEAD_1 = struct.Struct(">BBqi")
_INT32 = struct.Struct(">i")
_CRC_BYTES = 4


def build_message_set(
    records: Iterable[Record], *, magic: int = 0, codec: Codec = Codec.NONE
) -> bytes:
    """Return a message set; with a codec, one wrapper around all records.

    Args:
        records: in log order. Magic 0 drops their timestamps. In a wrapper of magic 1 they share
            one timestamp type, and if that is LOG_APPEND_TIME, one timestamp.
        magic: 0, or 1 for brokers from 0.10 on.
        codec: NONE for uncompressed messages.

    Returns:
        The concatenated entries; empty without records.

    Raises:
        LocalProtocolError: the records can't be encoded in that format.
        UnsupportedCodec: the library for the codec is not installed.
    """
    if magic not in MAGICS:
        raise LocalProtocolError(f"can't write message sets of magic {magic}, only 0 and 1")
    if codec not in CODECS_OF_MESSAGES:
        raise LocalProtocolError(
            f"messages of magic {magic} can't be compressed with {codec.name.lower()}"
        )
    chosen = list(records)
    if codec is Codec.NONE or not chosen:
        return b"".join(_entry(record, record.offset, magic) for record in chosen)
    base_offset = chosen[0].offset if magic else 0
    offsets = [record.offset for record in chosen]
    types = {record.timestamp_type for record in chosen}
    if magic and (offsets != sorted(offsets) or len(types) > 1):
        raise LocalProtocolError(
            f"records {offsets[0]} to {offsets[-1]} need ascending offsets and one timestamp type "
            "to be compressed together"
        )
    inner = b"".join(
        _entry(
            record._replace(timestamp_type=TimestampType.CREATE_TIME),
            record.offset - base_offset,
            magic,
        )
        for record in chosen
    )
    return wrap_message_set(
        inner,
        offset=offsets[-1],
        magic=magic,
        codec=codec,
        timestamp=max(record.timestamp for record in chosen),
        timestamp_type=types.pop(),
    )


def wrap_message_set(
    inner: bytes,
    *,
    offset: int,
    codec: Codec,
    magic: int = 0,
    timestamp: int = -1,
    timestamp_type: TimestampType = TimestampType.NONE,
) -> bytes:
    """Return a message set compressed into one wrapper.

    Args:
        inner: the set; its offsets are absolute in magic 0, counted from its start in magic 1.
        offset: the offset of the last message inside.
        codec: the codec to compress with.
        magic: the wrapper's magic.
        timestamp: that of the newest message inside, or the append time (magic 1).
        timestamp_type: the type of ``timestamp`` (magic 1).

    Raises:
        LocalProtocolError: it can't be encoded in that format.
        UnsupportedCodec: the library for the codec is not installed.
    """
    value = compress(codec, inner, magic=magic)
    wrapper = Record(offset, None, value, timestamp, timestamp_type)
    return _entry(wrapper, offset, magic, codec)


def _entry(record: Record, offset: int, magic: int, codec: Codec = Codec.NONE) -> bytes:
    _, key, value, timestamp, timestamp_type = record
    attributes: int = codec
    key_size = -1 if key is None else len(key)
    value_size = -1 if value is None else len(value)
    try:
        if magic:
            if timestamp_type is TimestampType.LOG_APPEND_TIME:
                attributes |= LOG_APPEND_MASK
            head = _HEAD_1.pack(magic, attributes, timestamp, key_size)
        else:
            head = _HEAD_0.pack(magic, attributes, key_size)
        body = b"".join((head, key or b"", _INT32.pack(value_size), value or b""))
        return _FRAME.pack(offset, len(body) + _CRC_BYTES, crc32(body)) + body
    except struct.error as error:
        raise LocalProtocolError(
            f"record at offset {offset} does not fit into a message of magic {magic}: {error}"
        ) from error
