"""Reads the records of a decompressed batch (magic 2).

    length varint | attributes int8 | timestamp delta varlong | offset delta varint
    | key | value | header count varint | headers

A key or value is a varint length (-1 = null) and that many bytes; a header is a name, which can't
be null, and a value. Deltas count from the batch's base offset and base timestamp; with append
time, all records have the batch's largest timestamp. The attributes of a record are unused.

A record below the fetch offset is skipped by its length, without reading key and value, so that
reading can continue after a corrupt record in the middle of a batch.

This is stricter than Java in two points that no client violates: a length below -1 is an error, not
null; and offsets must ascend within the batch, or the position after a record would skip others.

Source: Kafka 0.11 and 3.9 ``DefaultRecord``; KIP-82, KIP-98.
"""

from zkconsumer.errors import CorruptRecord
from zkconsumer.model import TimestampType
from zkconsumer.records.batch_header import BatchHeader
from zkconsumer.records.entries import offset_after, unplaced
from zkconsumer.records.rows import Headers, Row
from zkconsumer.records.varint import read_varint, read_varlong

_APPEND_TIME, _CREATE_TIME = int(TimestampType.LOG_APPEND_TIME), int(TimestampType.CREATE_TIME)
_MIN_HEADER_BYTES = 2
_TIMESTAMPS = range(-(2**63), 2**63)


class BatchRows:
    """The records read from one batch.

    Attributes:
        rows: the records from the fetch offset on.
        headers: the headers of the records that have any, by their index in ``rows``.
    """

    __slots__ = ("headers", "rows")

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.headers: dict[int, Headers] = {}


def read_records(
    data: bytes, start: int, stop: int, header: BatchHeader, fetch_offset: int
) -> tuple[BatchRows, CorruptRecord | None]:
    """Read the records of a batch up to the first corrupt one.

    Args:
        data: the buffer of the records.
        start: the position of the first record.
        stop: the position after the last one.
        header: the batch's header.
        fetch_offset: records below it are skipped.

    Returns:
        The records, and the error of the first corrupt one, or None. The error's offset is -1 if no
        record after it can be read; else only that record is lost.
    """
    found = BatchRows()
    rows, base_offset, base_time = found.rows, header.base_offset, header.base_timestamp
    kind = _APPEND_TIME if header.has_append_time else _CREATE_TIME
    timestamp, position, last = header.max_timestamp, start, -1
    for _ in range(header.record_count):
        try:
            size, at = read_varint(data, position)
            end = at + size
            time_delta, at = read_varlong(data, at + 1)
            delta, at = read_varint(data, at)
        except (IndexError, ValueError):
            return found, unplaced(f"no record begins at byte {position - start} inside")
        if not at <= end <= stop or not last < delta <= header.last_offset_delta:
            return found, unplaced(f"size or offset at byte {position - start} inside is wrong")
        last = delta
        offset = base_offset + delta
        if offset >= fetch_offset:
            try:
                key, value, headers = _content(data, at, end)
                if kind == _CREATE_TIME:
                    timestamp = _timestamp(base_time + time_delta)
            except (IndexError, ValueError) as error:
                return found, CorruptRecord(
                    f"record is damaged inside: {error}",
                    offset=offset,
                    position=position,
                    next_offset=offset_after(offset),
                )
            if headers:
                found.headers[len(rows)] = headers
            rows.append((offset, key, value, timestamp, kind))
        position = end
    if position != stop:
        return found, unplaced(f"{stop - position} bytes are left after the last record")
    return found, None


def _timestamp(found: int) -> int:
    if found not in _TIMESTAMPS:
        raise ValueError(f"timestamp {found} is invalid")
    return found


def _content(data: bytes, at: int, end: int) -> tuple[bytes | None, bytes | None, Headers]:
    """Return key, value and headers of a record; they must end where it ends."""
    size, at = read_varint(data, at)
    key = None
    if size >= 0:
        key = data[at : at + size]
        at += size
    if size >= -1:
        size, at = read_varint(data, at)
        value = None
        if size >= 0:
            value = data[at : at + size]
            at += size
        if size >= -1:
            count, at = read_varint(data, at)
            if not count and at == end:
                return key, value, ()
            return key, value, _headers(data, at, end, count)
    raise ValueError(f"invalid length {size} of key or value")


def _headers(data: bytes, at: int, end: int, count: int) -> Headers:
    if not 0 <= count <= (end - at) // _MIN_HEADER_BYTES:
        raise ValueError(f"{count} headers in {end - at} bytes")
    found: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        size, at = read_varint(data, at)
        if not 0 <= size <= end - at:
            raise ValueError(f"invalid length {size} of a header's name")
        # Java decodes invalid UTF-8 this way, too.
        name = data[at : at + size].decode(errors="replace")
        size, at = read_varint(data, at + size)
        value = None
        if size >= 0:
            value = data[at : at + size]
            at += size
        elif size != -1:
            raise ValueError(f"invalid length {size} of a header's value")
        found.append((name, value))
    if at != end:
        raise ValueError("lengths contradict the record's size")
    return tuple(found)
