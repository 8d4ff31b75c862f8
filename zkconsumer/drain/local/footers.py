"""Reads column statistics from Parquet footers, for a table's manifest."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow.parquet as pq

from zkconsumer.drain.local.data_files import DataFiles

_NUMBERS = {"INT32": "<i", "INT64": "<q"}
_MOST_BYTES = 256
"""The maximum size of a bound: manifests hold all bounds, and texts may be long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFooter:
    """The statistics of one column of a file.

    Attributes:
        size_bytes: its compressed size.
        values: the number of values, nulls included.
        nulls: the number of nulls; None if the footer has no count, or a row may have several
            values.
        least: the smallest value, in Iceberg's single-value serialization; None if unknown or long.
        most: the largest value, likewise.
    """

    size_bytes: int
    values: int
    nulls: int | None
    least: bytes | None
    most: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFooter:
    """The statistics of one file.

    Attributes:
        rows: the number of rows.
        groups: the position of each row group.
        columns: the columns, by their paths in the file.
    """

    rows: int
    groups: tuple[int, ...]
    columns: Mapping[str, ColumnFooter]


def read_footer(files: DataFiles, path: str) -> FileFooter:
    """Read a file's footer.

    Raises:
        OSError: it can't be read.
        pa.ArrowException: it is damaged.
    """
    with files.input(path) as source:
        metadata = pq.read_metadata(source)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return FileFooter(
        rows=metadata.num_rows,
        groups=tuple(_begin(group.column(0)) for group in groups),
        columns={
            metadata.schema.column(at).path: _column(
                [group.column(at) for group in groups],
                is_repeated=metadata.schema.column(at).max_repetition_level > 0,
            )
            for at in range(metadata.num_columns)
        },
    )


def _begin(chunk: pq.ColumnChunkMetaData) -> int:
    first: int = chunk.data_page_offset
    return min(first, chunk.dictionary_page_offset) if chunk.has_dictionary_page else first


def _column(chunks: list[pq.ColumnChunkMetaData], *, is_repeated: bool) -> ColumnFooter:
    # Bounds of values in lists and maps don't apply to rows.
    known = [chunk.statistics for chunk in chunks if chunk.is_stats_set and not is_repeated]
    is_known = len(known) == len(chunks) and bool(chunks)
    # A group that consists of nulls has no bounds, and needs none.
    bound = [statistics for statistics in known if statistics.has_min_max]
    least = most = None
    if is_known and bound and all(some.has_min_max or not some.num_values for some in known):
        kind = bound[0].physical_type
        least = _single(kind, min(statistics.min_raw for statistics in bound))
        most = _single(kind, max(statistics.max_raw for statistics in bound))
    return ColumnFooter(
        size_bytes=sum(chunk.total_compressed_size for chunk in chunks),
        values=sum(chunk.num_values for chunk in chunks),
        nulls=sum(statistics.null_count for statistics in known) if is_known else None,
        least=least,
        most=most,
    )


def _single(kind: str, value: object) -> bytes | None:
    """Serialize a value for a manifest: numbers little endian, strings as bytes."""
    if isinstance(value, int):
        return struct.pack(_NUMBERS[kind], value) if kind in _NUMBERS else None
    # No fixed lengths: those are decimals, which Iceberg stores in fewer bytes.
    is_short = kind == "BYTE_ARRAY" and isinstance(value, bytes) and len(value) <= _MOST_BYTES
    return value if isinstance(value, bytes) and is_short else None
