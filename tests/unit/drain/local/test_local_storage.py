"""Local folders as a drain's storage."""

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
    """An empty storage, by a path with special characters and by a URI."""
    return LocalStorage(request.param.format(tmp_path))


def test_file_system_errors_name_the_path(tmp_path: Path) -> None:
    """A file stands where a folder is needed."""
    (tmp_path / "file").write_text("")
    storage = LocalStorage(str(tmp_path / "file"))
    with pytest.raises(DrainError, match=r"file.*_zkconsumer/drain\.json"):
        storage.create("_zkconsumer/drain.json", b"{}")
    assert storage.read("_zkconsumer/drain.json") is None


def test_an_interrupted_move_is_completed(tmp_path: Path) -> None:
    """A move links the new name before it removes the old one, so both may exist."""
    storage = LocalStorage(str(tmp_path))
    storage.create("s/x", b"12")
    (tmp_path / "x").hardlink_to(tmp_path / "s" / "x")
    storage.move("s/x", "x")
    assert storage.read("s/x") is None
    assert storage.read("x") == b"12"


def test_every_created_folder_is_synced_in_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a crash of the machine could lose the folder and its files."""
    synced: list[Path] = []
    monkeypatch.setattr(local_storage, "sync", synced.append)
    LocalStorage(str(tmp_path)).create("a/b/c", b"1")
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
    synced.clear()
    LocalFiles(LocalStorage(str(tmp_path))).output("a/d/e").close()
    assert synced == [tmp_path / "a"]
