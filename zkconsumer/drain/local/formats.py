"""Writes and reads the files of a landing, a bounded piece at a time."""

import base64
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from zkconsumer.drain.local.columns import SCHEMA, as_columns
from zkconsumer.drain.local.data_files import DataFiles

_READ_ROWS = 1 << 16
_READ_BYTES = 4 << 20
_LINE_ROWS = 1 << 12
_BUFFER_BYTES = 1 << 20
_BINARIES = ("key", "value")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AGE_YEARS = 400
_AGE_US = 146_097 * 86_400_000_000
"""The microseconds in 400 years, after which dates repeat; Python's calendar ends in 9999."""
_LAST_YEAR = 9_999
_UNENCODED = {"offset": "DELTA_BINARY_PACKED"}
PREFIX = "value_prefix"
"""The column of bytes that were stripped from values."""
_REPEATED = ["key", "partition", "timestamp", "timestampType"]
_IN_FOOTER = ["partition", "offset", "timestamp"]


class RowFile(ABC):
    """Writes rows to a file. Thread: one.

    Args:
        sink: the output, which is closed with the file.
    """

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink

    @abstractmethod
    def write(self, rows: pa.Table) -> None:
        """Append rows with the file's columns; retain none."""

    def written_bytes(self) -> int:
        """Return the bytes written so far."""
        return int(self._sink.tell())

    def close(self) -> None:
        """Finish the file."""
        self._sink.close()


class ParquetFile(RowFile):
    """Writes a Parquet file, each write as a row group.

    Args:
        sink: see ``RowFile``.
        columns: the columns of its rows: those of ``SCHEMA``, perhaps followed by others.
    """

    def __init__(self, sink: pa.NativeFile, columns: pa.Schema = SCHEMA) -> None:
        super().__init__(sink)
        more = [leaf for field in list(columns)[len(SCHEMA) :] for leaf in _leaves(field)]
        self._writer = pq.ParquetWriter(
            sink,
            columns,
            compression="snappy",
            use_dictionary=_REPEATED + more,
            column_encoding=_UNENCODED,
            write_statistics=_IN_FOOTER + more,
            store_schema=False,
        )

    def write(self, rows: pa.Table) -> None:
        """See ``RowFile``."""
        self._writer.write_table(rows, row_group_size=len(rows))

    def close(self) -> None:
        """See ``RowFile``."""
        self._writer.close()
        super().close()


class JsonFile(RowFile):
    """Writes a file of JSON lines, with bytes as base64, as Spark does."""

    def write(self, rows: pa.Table) -> None:
        """See ``RowFile``."""
        at = SCHEMA.get_field_index("timestamp")
        numbers = rows.set_column(at, "timestamp", rows.column(at).cast(pa.int64()))
        for some in numbers.to_batches(max_chunksize=_LINE_ROWS):
            self._sink.write("".join(map(_line, some.to_pylist())).encode())


def create(files: DataFiles, path: str, file_format: str, columns: pa.Schema = SCHEMA) -> RowFile:
    """Create a file.

    Args:
        files: opens the file.
        path: the file's path.
        file_format: ``parquet`` or ``json``.
        columns: the columns of the rows: those of ``SCHEMA``, in Parquet perhaps followed by
            others.
    """
    sink = files.output(path)
    return JsonFile(sink) if file_format == "json" else ParquetFile(sink, columns)


def _leaves(field: pa.Field, above: str = "") -> Iterator[str]:
    """Return Parquet's names of a field's leaf columns."""
    path, kind = f"{above}{field.name}", field.type
    if pa.types.is_struct(kind):
        for inner in kind:
            yield from _leaves(inner, f"{path}.")
    elif pa.types.is_list(kind):
        yield from _leaves(kind.value_field.with_name("element"), f"{path}.list.")
    elif pa.types.is_map(kind):
        yield from _leaves(kind.key_field, f"{path}.key_value.")
        yield from _leaves(kind.item_field, f"{path}.key_value.")
    else:
        yield path


def ending(file_format: str) -> str:
    """Return the file name extension, as in Spark."""
    return "json" if file_format == "json" else "snappy.parquet"


def read(files: DataFiles, path: str, file_format: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, with the columns of ``SCHEMA``; values are as in the log.

    Raises:
        pa.ArrowException: the file is damaged, or has other columns.
        ValueError: likewise.
        OSError: it can't be read.
    """
    with files.input(path) as source:
        if file_format == "json":
            yield from _read_json(source)
        else:
            yield from _read_parquet(source)


def _read_parquet(source: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    file = pq.ParquetFile(source, buffer_size=_BUFFER_BYTES, pre_buffer=False)
    metadata = file.metadata
    names = [*SCHEMA.names]
    if PREFIX in file.schema_arrow.names:
        names.append(PREFIX)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        a_row = group.total_byte_size // max(group.num_rows, 1) + 1
        most = max(1, min(_READ_ROWS, _READ_BYTES // a_row))
        for rows in file.iter_batches(
            batch_size=most, row_groups=[number], columns=names, use_threads=False
        ):
            yield as_columns(_with_prefix(rows) if PREFIX in names else rows, SCHEMA)


def _with_prefix(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Restore the stripped prefix of values; return SCHEMA's columns, in any order."""
    values, prefixes = rows.column("value"), rows.column(PREFIX)
    nothing = pa.scalar(b"", pa.binary())
    whole = pc.binary_join_element_wise(pc.fill_null(prefixes, b""), values, nothing)
    at = rows.schema.get_field_index("value")
    return rows.set_column(at, "value", whole).drop_columns([PREFIX])


def _line(row: dict[str, Any]) -> str:
    for name in _BINARIES:
        if row[name] is not None:
            row[name] = base64.b64encode(row[name]).decode()
    if row["timestamp"] is not None:
        row["timestamp"] = _reported(row["timestamp"])
    there = {name: value for name, value in row.items() if value is not None}
    return json.dumps(there, separators=(",", ":")) + "\n"


def _read_json(source: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    rows: list[dict[str, Any]] = []
    size = 0
    for line in io.BufferedReader(source):
        rows.append(_row(line))
        size += len(line)
        if len(rows) >= _READ_ROWS or size >= _READ_BYTES:
            yield pa.RecordBatch.from_pylist(rows, SCHEMA)
            rows, size = [], 0
    if rows:
        yield pa.RecordBatch.from_pylist(rows, SCHEMA)


def _row(line: bytes) -> dict[str, Any]:
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError("a line is not an object")  # noqa: TRY004 - of a damaged file
    for name in _BINARIES:
        if row.get(name) is not None:
            row[name] = base64.b64decode(row[name], validate=True)
    if row.get("timestamp") is not None:
        row["timestamp"] = _micros(row["timestamp"])
    return row


def _reported(micros: int) -> str:
    """Format a time as Spark does; years of more than four digits have a sign."""
    ages, rest = divmod(micros, _AGE_US)
    at = _EPOCH + timedelta(microseconds=rest)
    year = at.year + ages * _AGE_YEARS
    text = at.strftime(f"-%m-%dT%H:%M:%S.{at.microsecond // 1000:03d}Z")
    return f"{year:04d}{text}" if year <= _LAST_YEAR else f"+{year}{text}"


def _micros(text: str) -> int:
    year, rest = (text.removeprefix("+")).split("-", 1)
    ages, within = divmod(int(year) - _EPOCH.year, _AGE_YEARS)
    at = datetime.fromisoformat(f"{_EPOCH.year + within:04d}-{rest}")
    return (at - _EPOCH) // timedelta(microseconds=1) + ages * _AGE_US
