"""Reads column statistics from Parquet footers, for an Iceberg table's manifest."""

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from zkconsumer.drain.local.data_files import DataFiles

_NUMBERS = {"INT32": "<i", "INT64": "<q"}
_MOST_BYTES = 256
"""The maximum size of a bound: manifests hold all bounds, and texts may be long."""


class _Column(NamedTuple):
    """The statistics of one column of a file, by their names in a manifest.

    Attributes:
        column_sizes: its compressed size.
        value_counts: the number of values, nulls included.
        null_value_counts: the number of nulls; None if the footer has no count, or a row may have
            several values.
        lower_bounds: the smallest value, in Iceberg's single-value serialization; None if unknown
            or long.
        upper_bounds: the largest value, likewise.
    """

    column_sizes: int
    value_counts: int
    null_value_counts: int | None
    lower_bounds: bytes | None
    upper_bounds: bytes | None


def read_footer(files: DataFiles, path: str, ids: Mapping[str, int]) -> dict[str, Any]:
    """Read the statistics of a file that its entry in a manifest has, by their names there.

    Args:
        files: opens the file.
        path: the file's path.
        ids: the field ids of columns, by their paths in the file; others are left out.

    Raises:
        OSError: it can't be read.
        pa.ArrowException: it is damaged.
    """
    with files.input(path) as source:
        metadata = pq.read_metadata(source)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = {
        ids[column.path]: _column(
            [group.column(at) for group in groups], is_repeated=column.max_repetition_level > 0
        )
        for at, column in enumerate(map(metadata.schema.column, range(metadata.num_columns)))
        if column.path in ids
    }
    return {
        "record_count": metadata.num_rows,
        "split_offsets": [_begin(group.column(0)) for group in groups],
        **{
            name: {field: of[at] for field, of in columns.items() if of[at] is not None}
            for at, name in enumerate(_Column._fields)
        },
    }


def _begin(chunk: pq.ColumnChunkMetaData) -> int:
    first: int = chunk.data_page_offset
    return min(first, chunk.dictionary_page_offset) if chunk.has_dictionary_page else first


def _column(chunks: list[pq.ColumnChunkMetaData], *, is_repeated: bool) -> _Column:
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
    return _Column(
        column_sizes=sum(chunk.total_compressed_size for chunk in chunks),
        value_counts=sum(chunk.num_values for chunk in chunks),
        null_value_counts=sum(part.null_count for part in known) if is_known else None,
        lower_bounds=least,
        upper_bounds=most,
    )


def _single(kind: str, value: object) -> bytes | None:
    """Serialize a value for a manifest: numbers little endian, strings as bytes."""
    if isinstance(value, int):
        return struct.pack(_NUMBERS[kind], value) if kind in _NUMBERS else None
    # No fixed lengths: those are decimals, which Iceberg stores in fewer bytes.
    is_short = kind == "BYTE_ARRAY" and isinstance(value, bytes) and len(value) <= _MOST_BYTES
    return value if isinstance(value, bytes) and is_short else None
