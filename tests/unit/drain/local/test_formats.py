"""Files of a landing: what is written is read back, by date, a bounded piece at a time."""

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
"""The end of the year 9999."""
TIMES = [None, 0, 1_400_000_000_123_000, LAST_US, LAST_US + 1, 2**62]


def rows(times: list[int | None], first: int = 0) -> pa.RecordBatch:
    """One of each time; keys and values with all that they may be."""
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
    """Of an empty folder."""
    return LocalFiles(LocalStorage(str(tmp_path)))


@pytest.mark.parametrize("file_format", ["parquet", "json"])
def test_what_is_written_is_read_back(files: LocalFiles, file_format: str) -> None:
    """Nulls, empty ones, all bytes, and times behind the calendar of Python."""
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
    """Bytes as base64, what is null left out, and years of five digits with a sign."""
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


def dated(
    files: LocalFiles, group_bytes: int, topic: str = "t", *, file_format: str = "parquet"
) -> DatedFiles:
    """Planned on the 2014-05-13."""
    place = FileNaming(
        folder="f", topic=topic, task=3, file_format=file_format, created_ms=1_400_000_000_000
    )
    shares = replace(Shares.of(256, 1), group_bytes=group_bytes)
    return DatedFiles(files, place, shares)


def test_messages_lie_by_their_day(files: LocalFiles, tmp_path: Path) -> None:
    """That of the plan where they have no time, or none before the year 10000."""
    writer = dated(files, 1 << 20)
    writer.write(rows(TIMES))
    paths = writer.close()
    assert sorted(path.split("/")[2] for path in paths) == [
        *("date=1970-01-01", "date=2014-05-13", "date=9999-12-31")
    ]
    planned = next(path for path in paths if "date=2014-05-13" in path)
    assert pq.read_table(tmp_path / planned, partitioning=None).column("offset").to_pylist() == [
        *(0, 2, 4, 5)
    ]


def test_what_waits_is_bounded_and_so_are_open_files(files: LocalFiles, tmp_path: Path) -> None:
    """Rows of many days in turn: a day gets another file when too many are open; none is lost."""
    writer = dated(files, 2_000)
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
    """Legal names stand as they are; others don't lead out of the drain, and are read back."""
    writer = dated(files, 1 << 20, topic)
    writer.write(rows([0]))
    (path,) = writer.close()
    assert path.split("/")[:2] == ["f", folder]
    assert (tmp_path / path).is_file()
    assert _topic(path.removeprefix("f/")) == topic


@pytest.mark.parametrize("file_format", ["parquet", "json"])
def test_a_file_that_is_full_ends(
    files: LocalFiles, monkeypatch: pytest.MonkeyPatch, file_format: str
) -> None:
    """Stores copy objects up to a length only; the next rows of the day get another file."""
    monkeypatch.setattr(dated_files, "_FULL_BYTES", 1_000)
    writer = dated(files, 0, file_format=file_format)
    for turn in range(40):
        writer.write(rows([0], first=turn))
    paths = writer.close()
    assert len(set(paths)) == len(paths) > 3
    found = [some for path in paths for some in formats.read(files, path, file_format)]
    assert [offset for some in found for offset in some.column("offset").to_pylist()] == [
        *range(40)
    ]
