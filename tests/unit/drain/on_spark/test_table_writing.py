"""Table files written by Spark tasks, tested without a JVM."""

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import PyArrowFileIO

from zkconsumer.drain.local.columns import SCHEMA, with_partition_columns
from zkconsumer.drain.local.table_files import TableFiles
from zkconsumer.drain.on_spark.table_writing import FileTask

DAY_US = 86_400_000_000


def batch(topic: str, offsets: range) -> pa.RecordBatch:
    """Build rows as Spark passes them, two for each date."""
    rows = [
        {"value": b"v", "partition": 0, "offset": at, "timestamp": at // 2 * DAY_US}
        for at in offsets
    ]
    columns = pa.RecordBatch.from_pylist(rows, SCHEMA)
    return columns.append_column("topic", pa.array([topic] * len(rows)))


def test_a_task_writes_files_with_field_ids_by_topic_and_date(tmp_path: Path) -> None:
    """There is a file per topic and date below the staging folder; no rows give no file."""
    fields = [
        field.with_metadata({b"PARQUET:field_id": b"%d" % (at + 10)})
        for at, field in enumerate(with_partition_columns())
    ]
    files = TableFiles(PyArrowFileIO({}), f"file://{tmp_path}")
    task: FileTask = pickle.loads(
        pickle.dumps(FileTask(files, "staged", 0, SCHEMA, pa.schema(fields)))
    )
    batches = [batch("a", range(4)), batch("b", range(2)), batch("a", range(4, 6))]
    (written,) = task.write(batches)
    paths = sorted(written.column("path").to_pylist())
    assert len(paths) == len(set(paths)) == 4
    assert paths == sorted(
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.parquet")
    )
    rows = []
    for path in paths:
        with files.input(path) as source:
            file = pq.ParquetFile(source)
            numbers = [field.metadata[b"PARQUET:field_id"] for field in file.schema_arrow]
            assert numbers == [b"%d" % (at + 10) for at in range(len(fields))]
            rows += file.read().to_pylist()
            day = path.split("/")[2]
            assert {f"date={row['date']}" for row in file.read().to_pylist()} == {day}
    assert sorted((row["topic"], row["offset"]) for row in rows) == [
        *(("a", at) for at in range(6)),
        *(("b", at) for at in range(2)),
    ]
    (nothing,) = task.write([])
    assert len(nothing) == 0
