"""Folders of this machine as a drain's storage."""

from pathlib import Path

import pytest

from tests.support.storage_contract import *  # noqa: F403 - its tests
from zkconsumer.drain.local import local_storage
from zkconsumer.drain.local.data_files import LocalFiles
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError


@pytest.fixture(params=["{}/a drain=é", "file://{}/drain/"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """An empty one, by a path that needs care, and by a URI."""
    return LocalStorage(request.param.format(tmp_path))


def test_what_the_file_system_says_is_told_with_the_path(tmp_path: Path) -> None:
    """A file where a folder should be."""
    (tmp_path / "file").write_text("")
    storage = LocalStorage(str(tmp_path / "file"))
    with pytest.raises(DrainError, match=r"file.*_zkconsumer/drain\.json"):
        storage.create("_zkconsumer/drain.json", b"{}")
    assert storage.read("_zkconsumer/drain.json") is None


def test_a_move_that_was_cut_off_behind_the_link_is_finished(tmp_path: Path) -> None:
    """The same file has both names for a moment."""
    storage = LocalStorage(str(tmp_path))
    storage.create("s/x", b"12")
    (tmp_path / "x").hardlink_to(tmp_path / "s" / "x")
    storage.move("s/x", "x")
    assert storage.read("s/x") is None
    assert storage.read("x") == b"12"


def test_the_name_of_every_folder_that_is_made_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its parent: a crash of the machine would lose the files with the folder."""
    synced: list[Path] = []
    monkeypatch.setattr(local_storage, "sync_folder", synced.append)
    LocalStorage(str(tmp_path)).create("a/b/c", b"1")
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
    synced.clear()
    LocalFiles(LocalStorage(str(tmp_path))).output("a/d/e").close()
    assert synced == [tmp_path / "a"]
