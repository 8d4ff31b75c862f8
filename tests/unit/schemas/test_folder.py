"""Schemas of a folder that go where the folder is not."""

import json
import pickle
from pathlib import Path

import pytest

from tests.support.schemas import USER, avro
from zkconsumer.errors import ConfigError
from zkconsumer.schemas import folder as module
from zkconsumer.schemas.folder import SchemaFolder


def test_what_is_held_is_found_without_the_folder(tmp_path: Path) -> None:
    """As it was when it was read; a file of another ending is none."""
    (tmp_path / "1.avsc").write_text(json.dumps(USER))
    (tmp_path / "notes.txt").write_text("x" * 100)
    folder = SchemaFolder(str(tmp_path), "avro")
    folder.hold()
    sent: SchemaFolder = pickle.loads(pickle.dumps(folder))
    (tmp_path / "1.avsc").unlink()
    assert sent.find(1) == avro(USER)
    assert sent.find(2) is None


def test_a_file_is_read_once_for_all_ids_that_it_stands_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each id and each message index of a value may be a new one, and the file may be large."""
    (tmp_path / "t-value.desc").write_bytes(b"descriptor")
    folder, opened = SchemaFolder(str(tmp_path), "protobuf", "t-value"), list[Path]()
    read = Path.open

    def counted(path: Path, mode: str) -> object:
        file = read(path, mode)
        opened.append(path)
        return file

    monkeypatch.setattr(Path, "open", counted)
    assert len({folder.find(number) for number in range(9)}) == 1
    assert len(opened) == 1


def test_a_folder_of_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would go to every task."""
    monkeypatch.setattr(module, "_MOST_HELD_BYTES", 10)
    (tmp_path / "1.avsc").write_text("x" * 11)
    with pytest.raises(ConfigError, match="more than 10 bytes"):
        SchemaFolder(str(tmp_path), "avro").hold()
