"""Writes a topic's rows to files by date; buffers a bounded number of rows."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from zkconsumer.drain.local import formats
from zkconsumer.drain.local.columns import placed
from zkconsumer.drain.local.data_files import DataFiles
from zkconsumer.drain.local.memory import Shares

DAY_US = 86_400_000_000
LAST_DAY = 2_932_896
"""The last day of the year 9999, in days since the epoch."""
_FULL_BYTES = 512 << 20
"""The size at which a file is finished: a bucket can't copy objects over 5 GB at once."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FileColumns = Callable[[pa.Schema], pa.Schema]
"""Returns the columns of a table's files for the columns of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNaming:
    """The folder and the names of files.

    Attributes:
        folder: the folder, below the drain's path.
        file_format: ``parquet`` or ``json``.
        created_ms: the time of the plan's creation, whose day messages without a timestamp get.
        topic: the topic, which has a folder of its own in ``folder``.
        task: a number that no other writer of the same folder has.
        file_columns: returns the columns of a table's files, with topic and date; None if both are
            in the path alone.
    """

    folder: str
    file_format: str
    created_ms: int
    topic: str = ""
    task: int = 0
    file_columns: FileColumns | None = None


@dataclass(slots=True, eq=False)
class _Day:
    """The buffered rows of a date, and their file."""

    waiting: list[pa.RecordBatch] = field(default_factory=list)
    size_bytes: int = 0
    path: str = ""
    file: formats.RowFile | None = None


class DatedFiles:
    """Writes the rows of one piece of a plan, by date. Thread: one.

    Args:
        shares: limits of buffered bytes and of open files.
    """

    def __init__(self, files: DataFiles, naming: FileNaming, shares: Shares) -> None:
        self._files = files
        self._naming = naming
        self._shares = shares
        self._planned_day = naming.created_ms * 1000 // DAY_US
        self._days: dict[int, _Day] = {}
        self._waiting_bytes = 0
        self._written: list[str] = []
        self._columns: pa.Schema | None = None
        self._name = f"part-{naming.task:05d}-{uuid.uuid4()}"

    def write(self, rows: pa.RecordBatch) -> None:
        """Buffer rows, in order within a date. A file has the columns of its first rows."""
        if self._columns is not None and not self._columns.equals(rows.schema):
            self._finish_all()
        self._columns = rows.schema
        for day, some in _by_day(rows, self._planned_day):
            of_day = self._days.setdefault(day, _Day())
            of_day.waiting.append(some)
            of_day.size_bytes += some.nbytes
            self._waiting_bytes += some.nbytes
        while self._waiting_bytes > self._shares.group_bytes:
            largest = max(self._days, key=lambda day: self._days[day].size_bytes)
            self._flush(largest)

    def close(self) -> list[str]:
        """Flush all rows, make the files durable, and return their paths."""
        self._finish_all()
        return self._written

    def _finish_all(self) -> None:
        for day in sorted(self._days):
            if self._days[day].waiting:
                self._flush(day)
        for of_day in self._days.values():
            self._finish(of_day)

    def _flush(self, day: int) -> None:
        of_day = self._days[day]
        if of_day.file is None:
            self._make_space()
            of_day.path = self._path(day)
            of_day.file = self._created(of_day.path, of_day.waiting[0].schema)
        rows = pa.Table.from_batches(of_day.waiting)
        if self._naming.file_columns is not None:
            rows = placed(rows, self._naming.topic, day)
        of_day.file.write(rows)
        self._waiting_bytes -= of_day.size_bytes
        of_day.waiting, of_day.size_bytes = [], 0
        if of_day.file.written_bytes() >= _FULL_BYTES:
            self._finish(of_day)

    def _created(self, path: str, columns: pa.Schema) -> formats.RowFile:
        naming = self._naming
        if naming.file_columns is not None:
            columns = naming.file_columns(columns)
        return formats.create(self._files, path, naming.file_format, columns)

    def _make_space(self) -> None:
        """Close a file if too many are open; later rows of its date get another file."""
        opened = [of_day for of_day in self._days.values() if of_day.file is not None]
        if len(opened) >= self._shares.open_files:
            self._finish(opened[0])

    def _finish(self, of_day: _Day) -> None:
        if of_day.file is not None:
            of_day.file.close()
            self._files.keep(of_day.path)
            self._written.append(of_day.path)
            of_day.file = None

    def _path(self, day: int) -> str:
        naming = self._naming
        date = (_EPOCH + timedelta(days=day)).date().isoformat()
        name = f"{self._name}.c{len(self._written) + self._open():03d}"
        ending = formats.ending(naming.file_format)
        # Leaves names that Kafka allows as they are, like Spark; others could escape the folder.
        topic = quote(naming.topic, safe="")
        return f"{naming.folder}/topic={topic}/date={date}/{name}.{ending}"

    def _open(self) -> int:
        return sum(of_day.file is not None for of_day in self._days.values())


def _by_day(rows: pa.RecordBatch, planned: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Group rows by day, in UTC; rows without a timestamp get the plan's day.

    So do rows with timestamps after the year 9999, for example if a producer confused microseconds
    and milliseconds: one folder that is not a date would make readers treat the column as text.
    """
    times = rows.column("timestamp")
    if times.null_count == len(rows):
        yield planned, rows
        return
    days = pc.divide(times.cast(pa.int64()), DAY_US)
    own = pc.fill_null(pc.less_equal(days, LAST_DAY), fill_value=False)
    days = pc.if_else(own, days, pa.scalar(planned, pa.int64()))
    there = pc.unique(days).to_pylist()
    for day in there:
        yield day, rows if len(there) == 1 else rows.filter(pc.equal(days, day))
