"""Files of a landing: written by date, read back in bounded pieces."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zkconsumer.drain.local import dated_files, formats
from zkconsumer.drain.local.columns import SCHEMA
from zkconsumer.drain.local.data_files import LocalFiles
from zkconsumer.drain.local.dated_files import DatedFiles, FileNaming
from zkconsumer.drain.local.landed import _topic
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.local.memory import Shares

DAY_US = 86_400_000_000
LAST_US = 2_932_897 * DAY_US - 1
"""The last microsecond of the year 9999."""
TIMES = [None, 0, 1_400_000_000_123_000, LAST_US, LAST_US + 1, 2**62]


def rows(times: list[int | None], first: int = 0) -> pa.RecordBatch:
    """Build a row for each timestamp, with null, empty and binary keys and values."""
    return pa.RecordBatch.from_pylist(
        [
            {
                "key": None if at % 3 else b"k",
                "value": [b"", None, bytes(range(256))][at % 3],
                "partition": 7,
                "offset": first + at,
                "timestamp": time,
                "timestampType": -1 if time is None else 0,
            }
            for at, time in enumerate(times)
        ],
        SCHEMA,
    )


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """The files of an empty folder."""
    return LocalFiles(LocalStorage(str(tmp_path)))


@pytest.mark.parametrize("file_format", ["parquet", "json"])
def test_written_rows_are_read_back(files: LocalFiles, file_format: str) -> None:
    """Nulls, empty values, any bytes and times after Python's calendar survive."""
    written = rows(TIMES)
    file = formats.create(files, "x", file_format)
    file.write(pa.Table.from_batches([written]))
    file.close()
    found = pa.Table.from_batches(formats.read(files, "x", file_format))
    millis = pa.array([t if t is None else t // 1000 * 1000 for t in TIMES], SCHEMA.types[4])
    assert found.drop_columns("timestamp").to_pylist() == (
        pa.table(written).drop_columns("timestamp").to_pylist()
    )
    wanted = millis if file_format == "json" else written.column("timestamp")
    assert found.column("timestamp").cast(pa.int64()).to_pylist() == (
        wanted.cast(pa.int64()).to_pylist()
    )


def test_json_is_as_spark_writes_it(files: LocalFiles, tmp_path: Path) -> None:
    """Bytes are base64, nulls are left out, and years of five digits have a sign."""
    file = formats.create(files, "x", "json")
    file.write(pa.Table.from_batches([rows([1_400_000_000_123_000, LAST_US + 1])]))
    file.close()
    first, second = map(json.loads, (tmp_path / "x").read_text().splitlines())
    assert first == {
        "key": "aw==",
        "value": "",
        "partition": 7,
        "offset": 0,
        "timestamp": "2014-05-13T16:53:20.123Z",
        "timestampType": 0,
    }
    assert second["timestamp"] == "+10000-01-01T00:00:00.000Z"
    assert "key" not in second


def dated_files_of(
    files: LocalFiles, group_bytes: int, topic: str = "t", *, file_format: str = "parquet"
) -> DatedFiles:
    """Build a writer of files by date whose batch was planned on 2014-05-13."""
    naming = FileNaming(
        folder="f", topic=topic, task=3, file_format=file_format, created_ms=1_400_000_000_000
    )
    shares = replace(Shares.of(256, 1), group_bytes=group_bytes)
    return DatedFiles(files, naming, shares)


def test_messages_are_filed_by_date(files: LocalFiles, tmp_path: Path) -> None:
    """Without a timestamp, or with one after the year 9999, the date of the plan is used."""
    writer = dated_files_of(files, 1 << 20)
    writer.write(rows(TIMES))
    paths = writer.close()
    assert sorted(path.split("/")[2] for path in paths) == [
        *("date=1970-01-01", "date=2014-05-13", "date=9999-12-31")
    ]
    planned = next(path for path in paths if "date=2014-05-13" in path)
    assert pq.read_table(tmp_path / planned, partitioning=None).column("offset").to_pylist() == [
        *(0, 2, 4, 5)
    ]


def test_buffered_bytes_and_open_files_are_bounded(files: LocalFiles, tmp_path: Path) -> None:
    """A date gets another file when too many are open, and no row is lost."""
    writer = dated_files_of(files, 2_000)
    days = [day * DAY_US for day in range(50)]
    for turn in range(4):
        writer.write(rows(list(days), first=turn * 50))
        assert writer._waiting_bytes <= 2_000
        assert writer._open() <= 32
    paths = writer.close()
    assert len(set(paths)) == len(paths) > 50
    found = [
        offset
        for path in paths
        for offset in pq.read_table(tmp_path / path, partitioning=None).column("offset").to_pylist()
    ]
    assert sorted(found) == list(range(200))


@pytest.mark.parametrize(
    ("topic", "folder"),
    [("a.b_C-9", "topic=a.b_C-9"), ("x/../../../out", "topic=x%2F..%2F..%2F..%2Fout")],
)
def test_a_topic_is_one_folder_whatever_its_name(
    files: LocalFiles, tmp_path: Path, topic: str, folder: str
) -> None:
    """Legal names are kept; others are escaped, stay inside the drain and are read back."""
    writer = dated_files_of(files, 1 << 20, topic)
    writer.write(rows([0]))
    (path,) = writer.close()
    assert path.split("/")[:2] == ["f", folder]
    assert (tmp_path / path).is_file()
    assert _topic(path.removeprefix("f/")) == topic


@pytest.mark.parametrize("file_format", ["parquet", "json"])
def test_a_full_file_is_followed_by_another(
    files: LocalFiles, monkeypatch: pytest.MonkeyPatch, file_format: str
) -> None:
    """Object stores copy only up to a size, so a date's next rows go to a new file."""
    monkeypatch.setattr(dated_files, "_FULL_BYTES", 1_000)
    writer = dated_files_of(files, 0, file_format=file_format)
    for turn in range(40):
        writer.write(rows([0], first=turn))
    paths = writer.close()
    assert len(set(paths)) == len(paths) > 3
    found = [batch for path in paths for batch in formats.read(files, path, file_format)]
    assert [offset for batch in found for offset in batch.column("offset").to_pylist()] == [
        *range(40)
    ]
