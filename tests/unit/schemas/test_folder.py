"""A folder of schemas that is sent to tasks on other machines."""

import json
import pickle
from pathlib import Path

import pytest

from tests.support.schemas import USER, avro
from zkconsumer.errors import ConfigError
from zkconsumer.schemas import folder as module
from zkconsumer.schemas.folder import SchemaFolder


def test_held_schemas_are_found_without_the_folder(tmp_path: Path) -> None:
    """Held schemas are pickled as they were when they were read; other files are ignored."""
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
    """A file is read once for all the schema ids and message indexes that it serves."""
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


def test_a_folder_of_too_many_bytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that holds too many bytes is refused, as it would be sent to every task."""
    monkeypatch.setattr(module, "_MOST_HELD_BYTES", 10)
    (tmp_path / "1.avsc").write_text("x" * 11)
    with pytest.raises(ConfigError, match="more than 10 bytes"):
        SchemaFolder(str(tmp_path), "avro").hold()
