"""What is read from the log of a Delta table."""

import json
from pathlib import Path
from typing import cast

import pytest
from deltalake import CommitProperties, DeltaTable

from zkconsumer.drain.landing_delta import PARTITION_COLUMNS, _added, _schema
from zkconsumer.drain.manifest import LandedFile
from zkconsumer.drain.proving.delta_log import read_log
from zkconsumer.drain.proving.table_commits import TableCommit, TableState, summary_of
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError
from zkconsumer.model import OffsetRange, TopicPartition

DRAIN = "0123abcd"
PATH = "topic=clicks/date=2014-05-13/part-0000000001-0.parquet"


class Folder:
    """The part of ``Storage`` that is needed to find the table."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def uri(self, path: str) -> str:
        """See ``Storage``."""
        assert path == ""
        return f"file:{self._path}"


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """A table with one file, as a drain leaves it."""
    table = DeltaTable.create(tmp_path, _schema(), partition_by=PARTITION_COLUMNS)
    values = {"topic": "clicks", "date": "2014-05-13"}
    file = LandedFile(staged="x", path=PATH, size_bytes=5, values=values)
    table.create_write_transaction(
        [_added(file, 0)], mode="append", schema=_schema(), partition_by=PARTITION_COLUMNS
    )
    return cast("Storage", Folder(tmp_path))


def test_the_files_that_the_log_names_are_read(storage: Storage) -> None:
    """The log of a drain's own table names all of its files."""
    assert read_log(storage, {}, DRAIN).files == (PATH,)


def test_a_table_with_deletion_vectors_is_refused(storage: Storage, tmp_path: Path) -> None:
    """Rows that a deletion vector hides from readers are still in the files."""
    features = ["deletionVectors"]
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": features,
        "writerFeatures": features,
    }
    entry = tmp_path / "_delta_log" / f"{2:020d}.json"
    entry.write_text(json.dumps({"protocol": protocol}))
    with pytest.raises(DrainError, match="deletionVectors"):
        read_log(storage, {}, DRAIN)


def test_without_a_table_there_are_no_files(tmp_path: Path) -> None:
    """A folder without a table gives an empty log."""
    assert read_log(cast("Storage", Folder(tmp_path)), {}, DRAIN) == TableState(is_whole=False)


def commit(path: Path, user_metadata: object) -> None:
    """Add a commit with this user metadata to the table's log."""
    table = DeltaTable(path)
    table.create_write_transaction(
        [],
        mode="append",
        schema=_schema(),
        partition_by=PARTITION_COLUMNS,
        commit_properties=CommitProperties(custom_metadata={"userMetadata": user_metadata}),
    )


def test_the_drain_s_own_commits_are_read(tmp_path: Path) -> None:
    """Commits of other drains and other user metadata are ignored."""
    span = OffsetRange(TopicPartition("t", 0), 10, 20)
    made = CommitProperties(
        custom_metadata={"userMetadata": json.dumps({"zkconsumer.drain": DRAIN})}
    )
    DeltaTable.create(tmp_path, _schema(), partition_by=PARTITION_COLUMNS, commit_properties=made)
    for user_metadata in (
        json.dumps(summary_of(DRAIN, 1, [span])),
        json.dumps(summary_of("another", 2, [span])),
        "somebody's note",
        "[]",
        json.dumps(summary_of(DRAIN, 2, [])),
    ):
        commit(tmp_path, user_metadata)
    log = read_log(cast("Storage", Folder(tmp_path)), {}, DRAIN)
    assert sorted(log.commits) == [
        TableCommit(1, frozenset({("t", 0, 10, 20)})),
        TableCommit(2, frozenset()),
    ]
    assert log.is_whole
    assert not read_log(cast("Storage", Folder(tmp_path)), {}, "another").is_whole
    DeltaTable(tmp_path).create_checkpoint()
    for number in (0, 1):
        (tmp_path / "_delta_log" / f"{number:020d}.json").unlink()
    log = read_log(cast("Storage", Folder(tmp_path)), {}, DRAIN)
    assert log.commits == (TableCommit(2, frozenset()),)
    assert not log.is_whole


def test_a_table_not_created_by_the_drain_is_not_whole(storage: Storage) -> None:
    """Nor is a table of an older zkconsumer, whose commits did not name their offsets."""
    assert read_log(storage, {}, DRAIN).commits == ()
    assert not read_log(storage, {}, DRAIN).is_whole
