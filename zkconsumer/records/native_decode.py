"""Decodes by the native core: like ``decode``, by ``csrc/batches.c``.

The core reads valid entries. It stops before the first entry that it rejects, and ``decode``, the
reference, continues there: it finds the error, and the valid records before it. So both engines
raise the same error at the same position. Import this through ``records.engine`` only: the core may
be missing.
"""

import sys
from dataclasses import dataclass

from zkconsumer.errors import CorruptRecord
from zkconsumer.model import Record
from zkconsumer.native import _core
from zkconsumer.records.decode import DecodedRows, DecodedSet, decode_rest
from zkconsumer.records.entries import cut_off_entry
from zkconsumer.records.memory import records_bytes
from zkconsumer.records.native_reader import gathered_by, read_natively
from zkconsumer.records.offset_order import SetPosition

_MOST_BYTES = sys.maxsize


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecodedRuns:
    """The content of a record set as runs of messages whose records are not made yet.

    Attributes:
        runs: the messages at or above the fetch offset, in log order.
        tail: records after the runs, made already: of a compressed set that is corrupt inside,
            those before the corruption.
        next_offset: as of ``DecodedSet``; so are the others.
        valid_bytes: see there.
        first_entry_size_bytes: see there.
        error: see there.
        refused_at: the position at which the core stopped and the reference took over; None if not.
    """

    runs: list[_core.Run]
    tail: list[Record]
    next_offset: int
    valid_bytes: int
    first_entry_size_bytes: int | None
    error: CorruptRecord | None
    refused_at: int | None


def decode_runs(
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
) -> DecodedRuns:
    """Decode like ``decode.decode_record_set``, without making records.

    Args:
        data: the record set. Runs keep it alive if it is immutable, else they keep a copy.
        fetch_offset: see there; so are the others.
        max_decompressed_bytes: see there.
        enough_bytes: see there.
    """
    reader, status = read_natively(
        data,
        fetch_offset=fetch_offset,
        max_decompressed_bytes=max_decompressed_bytes,
        enough_bytes=enough_bytes,
    )
    runs = reader.fetched().take(_MOST_BYTES).runs
    if status == _core.REFUSED:
        position = reader.position
        gathered = gathered_by(reader, fetch_offset, max_decompressed_bytes, enough_bytes)
        rest = decode_rest(bytes(data), position, gathered)
        return DecodedRuns(
            runs=runs,
            tail=list(rest.records),
            next_offset=rest.next_offset,
            valid_bytes=rest.valid_bytes,
            first_entry_size_bytes=rest.first_entry_size_bytes,
            error=rest.error,
            refused_at=position,
        )
    cut_off = cut_off_entry(data)
    return DecodedRuns(
        runs=runs,
        tail=[],
        next_offset=reader.next_offset,
        valid_bytes=reader.position,
        first_entry_size_bytes=None if cut_off is None else cut_off.size_bytes,
        error=None,
        refused_at=None,
    )


def decode_record_set(
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
) -> DecodedSet:
    """Decode like ``decode.decode_record_set``: same arguments, same results."""
    return with_records(
        decode_runs(
            data,
            fetch_offset=fetch_offset,
            max_decompressed_bytes=max_decompressed_bytes,
            enough_bytes=enough_bytes,
        )
    )


def decode_rows(
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
) -> DecodedRows:
    """Decode like ``decode.decode_rows``; here records are made as fast as rows."""
    return decode_record_set(
        data,
        fetch_offset=fetch_offset,
        max_decompressed_bytes=max_decompressed_bytes,
        enough_bytes=enough_bytes,
    )


def offsets_rise(data: memoryview, entry_position: SetPosition, end: int) -> SetPosition | None:
    """Return what ``offset_order.offsets_rise`` does, from the core."""
    position, low, is_first = entry_position
    found = _core.offsets_rise(data, position=position, low=low, is_first=is_first, end=end)
    return None if found is None else SetPosition(*found)


def with_records(decoded: DecodedRuns) -> DecodedSet:
    """Make all records of the decoded runs."""
    records = decoded.runs[0].records() if decoded.runs else []
    for run in decoded.runs[1:]:
        records += run.records()
    records += decoded.tail
    return DecodedSet(
        records=records,
        next_offset=decoded.next_offset,
        valid_bytes=decoded.valid_bytes,
        first_entry_size_bytes=decoded.first_entry_size_bytes,
        error=decoded.error,
        memory_bytes=records_bytes(records),
    )
