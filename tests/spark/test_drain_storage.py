"""What every storage of a drain must do, on each: in memory, and through Spark's JVM."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.storage import Storage, StoredFile
from zkconsumer.errors import DrainError
from zkconsumer.testing.memory_storage import MemoryStorage

pytestmark = pytest.mark.spark


class WithoutLinks(HadoopStorage):
    """As on file systems other than the machine's own: files come by renaming."""

    def _link(self, aside: object, at: object) -> bool:
        del aside, at
        return False


def in_memory(_spark: SparkSession, _folder: Path) -> Storage:
    """The fake."""
    return MemoryStorage()


def on_disk(spark: SparkSession, folder: Path) -> HadoopStorage:
    """Spark's default file system, with a path that needs care."""
    return HadoopStorage(spark, str(folder / "a drain=é"))


def with_scheme(spark: SparkSession, folder: Path) -> HadoopStorage:
    """A path with a scheme."""
    return WithoutLinks(spark, f"file://{folder}/drain/")


@pytest.fixture(params=[in_memory, on_disk, with_scheme])
def storage(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Storage:
    """Each kind, empty."""
    make: Callable[[SparkSession, Path], Storage] = request.param
    return make(spark, tmp_path)


def test_a_file_is_created_once(storage: Storage) -> None:
    """The first who creates a file wins; nothing else appears beside it."""
    data = bytes(range(256)) * 300
    assert storage.read("a/b/c.json") is None
    assert storage.create("a/b/c.json", data)
    assert not storage.create("a/b/c.json", b"other")
    assert storage.read("a/b/c.json") == data
    assert storage.names("a/b") == ["c.json"]
    assert storage.create("a/empty", b"")
    assert storage.read("a/empty") == b""
    assert sorted(storage.names("a")) == ["b", "empty"]


@pytest.mark.parametrize("make", [on_disk, with_scheme])
def test_a_file_that_came_meanwhile_is_kept(
    make: Callable[[SparkSession, Path], HadoopStorage], spark: SparkSession, tmp_path: Path
) -> None:
    """Between the look and the creation somebody else may have been faster."""
    storage = make(spark, tmp_path)
    storage.create("there", b"first")
    here, there = storage._at("aside"), storage._at("there")
    storage.create("aside", b"second")
    assert not storage._put_in_place(here, there)
    assert storage.read("there") == b"first"


def test_files_are_listed_with_their_lengths(storage: Storage) -> None:
    """All below a folder, with paths below it; a folder that is not there is empty."""
    storage.create("s/topic=t/date=2014-05-13/part-0", b"123")
    storage.create("s/topic=a/part-1", b"")
    assert storage.files("s") == [
        StoredFile("topic=a/part-1", 0),
        StoredFile("topic=t/date=2014-05-13/part-0", 3),
    ]
    assert storage.files("nowhere") == []
    assert storage.names("nowhere") == []


def test_a_move_can_be_repeated(storage: Storage) -> None:
    """Moved before is moved; into folders that are not there yet."""
    storage.create("s/x", b"12")
    storage.move("s/x", "t/u/x")
    storage.move("s/x", "t/u/x")
    assert storage.read("t/u/x") == b"12"
    assert storage.read("s/x") is None


def test_a_move_that_was_cut_off_before_the_deletion_is_finished(storage: Storage) -> None:
    """Where moving is copying, both may be there."""
    storage.create("s/x", b"12")
    storage.create("t/x", b"12")
    storage.move("s/x", "t/x")
    assert storage.read("s/x") is None
    assert storage.read("t/x") == b"12"


def test_a_move_says_what_is_wrong(storage: Storage) -> None:
    """A file that is nowhere, and one in the way, are errors that name both paths."""
    with pytest.raises(DrainError, match=r"s/x is gone, and .*t/x is not there"):
        storage.move("s/x", "t/x")
    storage.create("s/x", b"12")
    storage.create("t/x", b"another")
    with pytest.raises(DrainError, match=r"t/x is there, and is another file than .*s/x"):
        storage.move("s/x", "t/x")
    assert storage.read("t/x") == b"another"


def test_a_folder_is_deleted_with_everything_in_it(storage: Storage) -> None:
    """What is not there needs no deletion."""
    storage.create("s/1/x", b"")
    storage.create("s/2/x", b"")
    storage.delete("s/1")
    storage.delete("s/1")
    assert storage.names("s") == ["2"]


def test_what_the_file_system_says_is_told_with_the_path(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A file where a folder should be; a scheme that nobody knows."""
    (tmp_path / "file").write_text("")
    storage = HadoopStorage(spark, str(tmp_path / "file"))
    with pytest.raises(DrainError, match=r"file.*_zkconsumer/drain\.json.*Exception"):
        storage.create("_zkconsumer/drain.json", b"{}")
    with pytest.raises(DrainError, match="nosuch://host/path"):
        HadoopStorage(spark, "nosuch://host/path")
