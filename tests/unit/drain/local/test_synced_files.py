"""Files of a table's own library, synced when they are complete."""

from pathlib import Path

import pytest

from zkconsumer.drain.local.data_files import LocalFiles
from zkconsumer.drain.local.synced_files import SyncedFiles


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are synced."""
    names: list[str] = []
    monkeypatch.setattr(LocalFiles, "keep", lambda _files, name: names.append(name))
    return names


def test_a_complete_file_is_synced(tmp_path: Path, synced: list[str]) -> None:
    """It is on disk before any file that refers to it."""
    with SyncedFiles().new_output(f"file://{tmp_path}/whole").create() as stream:
        stream.write(b"1")
    assert synced == ["whole"]


def test_a_file_that_is_cut_off_by_an_error_is_only_closed(
    tmp_path: Path, synced: list[str]
) -> None:
    """No file will refer to it, and a disk that is full or broken need not write it."""
    stream = SyncedFiles().new_output(f"file://{tmp_path}/part").create()

    def write() -> None:
        with stream:
            stream.write(b"1")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write()
    assert synced == []
    with pytest.raises(ValueError, match="closed"):
        stream.write(b"2")
