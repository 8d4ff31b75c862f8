"""What the log of a Delta table says that is to be believed."""

import json
from pathlib import Path
from typing import cast

import pytest
from deltalake import DeltaTable

from zkconsumer.drain.landing_delta import PARTITION_COLUMNS, _added, _schema
from zkconsumer.drain.manifest import LandedFile
from zkconsumer.drain.proving.delta_log import active_files
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError

PATH = "topic=clicks/date=2014-05-13/part-0000000001-0.parquet"


class Folder:
    """The part of a storage that is needed to find the table."""

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
    """As a drain writes it, they are all there is to know."""
    assert active_files(storage, {}) == {PATH}


def test_a_table_whose_rows_may_be_deleted_beside_its_files_proves_nothing(
    storage: Storage, tmp_path: Path
) -> None:
    """Rows that a deletion vector hides from readers are in the files all the same."""
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
        active_files(storage, {})


def test_without_a_table_there_are_no_files(tmp_path: Path) -> None:
    """Nothing was noted yet."""
    assert active_files(cast("Storage", Folder(tmp_path)), {}) == set()
