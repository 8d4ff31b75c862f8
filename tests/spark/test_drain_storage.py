"""What a drain's storage must do: in memory, and through Spark's JVM."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fakes.memory_storage import MemoryStorage
from tests.support.storage_contract import *  # noqa: F403 - its tests
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError

pytestmark = pytest.mark.spark


class WithoutLinks(HadoopStorage):
    """A storage that creates files by renaming, as on remote file systems."""

    def _link(self, aside: object, at: object) -> bool:
        del aside, at
        return False


def in_memory(_spark: SparkSession, _folder: Path) -> Storage:
    """Create the fake."""
    return MemoryStorage()


def on_disk(spark: SparkSession, folder: Path) -> HadoopStorage:
    """Use Spark's default file system, with special characters in the path."""
    return HadoopStorage(spark, str(folder / "a drain=é"))


def with_scheme(spark: SparkSession, folder: Path) -> HadoopStorage:
    """Use a path with a scheme."""
    return WithoutLinks(spark, f"file://{folder}/drain/")


@pytest.fixture(params=[in_memory, on_disk, with_scheme])
def storage(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Storage:
    """Give an empty storage of each kind."""
    make: Callable[[SparkSession, Path], Storage] = request.param
    return make(spark, tmp_path)


@pytest.mark.parametrize("make", [on_disk, with_scheme])
def test_a_file_that_another_process_created_is_kept(
    make: Callable[[SparkSession, Path], HadoopStorage], spark: SparkSession, tmp_path: Path
) -> None:
    """It may be created between our check and our creation."""
    storage = make(spark, tmp_path)
    storage.create("there", b"first")
    here, there = storage._at("aside"), storage._at("there")
    storage.create("aside", b"second")
    assert not storage._rename_into_place(here, there)
    assert storage.read("there") == b"first"


@pytest.mark.parametrize("make", [on_disk, with_scheme])
def test_a_file_lock_excludes_both_engines(
    make: Callable[[SparkSession, Path], HadoopStorage], spark: SparkSession, tmp_path: Path
) -> None:
    """One drain at a time may run; the next one may start when it has ended."""
    storage = make(spark, tmp_path)
    storage.create("there", b"{}")
    local = LocalStorage(storage.uri(""))
    with storage.hold("there") as is_ours, local.hold("there") as is_theirs:
        assert (is_ours, is_theirs) == (True, False)
    with local.hold("there") as is_theirs, storage.hold("there") as is_ours:
        assert (is_ours, is_theirs) == (False, True)


def test_an_error_of_the_file_system_has_the_path(spark: SparkSession, tmp_path: Path) -> None:
    """A file is where a folder should be; a scheme is unknown."""
    (tmp_path / "file").write_text("")
    storage = HadoopStorage(spark, str(tmp_path / "file"))
    with pytest.raises(DrainError, match=r"file.*_zkconsumer/drain\.json.*Exception"):
        storage.create("_zkconsumer/drain.json", b"{}")
    with pytest.raises(DrainError, match="nosuch://host/path"):
        HadoopStorage(spark, "nosuch://host/path")
