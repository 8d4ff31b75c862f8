"""What every storage of a drain must do: tests for modules with a ``storage`` fixture."""

import pytest

from zkconsumer.drain.storage import Storage, StoredFile
from zkconsumer.errors import DrainError

__all__ = [
    "test_a_file_is_created_once",
    "test_a_folder_is_deleted_with_everything_in_it",
    "test_a_move_can_be_repeated",
    "test_a_move_says_what_is_wrong",
    "test_a_move_that_was_cut_off_before_the_deletion_is_finished",
    "test_files_are_listed_with_their_lengths",
]


def test_a_file_is_created_once(storage: Storage) -> None:
    """Only the first ``create`` of a file succeeds; it leaves no other files."""
    data = bytes(range(256)) * 300
    assert storage.read("a/b/c.json") is None
    assert storage.create("a/b/c.json", data)
    assert not storage.create("a/b/c.json", b"other")
    assert storage.read("a/b/c.json") == data
    assert storage.names("a/b") == ["c.json"]
    assert storage.create("a/short", b"1")
    assert storage.read("a/short") == b"1"
    assert sorted(storage.names("a")) == ["b", "short"]


def test_files_are_listed_with_their_lengths(storage: Storage) -> None:
    """``files`` lists a whole folder with relative paths; a missing folder is empty."""
    storage.create("s/topic=t/date=2014-05-13/part-0", b"123")
    storage.create("s/topic=a/part-1", b"1")
    assert storage.files("s") == [
        StoredFile("topic=a/part-1", 1),
        StoredFile("topic=t/date=2014-05-13/part-0", 3),
    ]
    assert storage.files("nowhere") == []
    assert storage.names("nowhere") == []


def test_a_move_can_be_repeated(storage: Storage) -> None:
    """A repeated move succeeds; missing target folders are created."""
    storage.create("s/x", b"12")
    storage.move("s/x", "t/u/x")
    storage.move("s/x", "t/u/x")
    assert storage.read("t/u/x") == b"12"
    assert storage.read("s/x") is None


def test_a_move_that_was_cut_off_before_the_deletion_is_finished(storage: Storage) -> None:
    """If source and target have the same content, the move deletes the source."""
    storage.create("s/x", b"12")
    storage.create("t/x", b"12")
    storage.move("s/x", "t/x")
    assert storage.read("s/x") is None
    assert storage.read("t/x") == b"12"


def test_a_move_says_what_is_wrong(storage: Storage) -> None:
    """A missing source, or another file at the target, is an error that names both paths."""
    with pytest.raises(DrainError, match=r"neither .*s/x nor .*t/x exists"):
        storage.move("s/x", "t/x")
    storage.create("s/x", b"12")
    storage.create("t/x", b"another")
    with pytest.raises(DrainError, match=r"t/x exists and differs from .*s/x"):
        storage.move("s/x", "t/x")
    assert storage.read("t/x") == b"another"


def test_a_folder_is_deleted_with_everything_in_it(storage: Storage) -> None:
    """Everything below the folder is deleted; deleting a missing folder is no error."""
    storage.create("s/1/x", b"1")
    storage.create("s/2/x", b"2")
    storage.delete("s/1")
    storage.delete("s/1")
    assert storage.names("s") == ["2"]
