"""What every storage of a drain must do, on each: in memory, and through Spark's JVM."""

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


@pytest.mark.parametrize("make", [on_disk, with_scheme])
def test_a_file_that_came_meanwhile_is_kept(
    make: Callable[[SparkSession, Path], HadoopStorage], spark: SparkSession, tmp_path: Path
) -> None:
    """Between the look and the creation somebody else may have been faster."""
    storage = make(spark, tmp_path)
    storage.create("there", b"first")
    here, there = storage._at("aside"), storage._at("there")
    storage.create("aside", b"second")
    assert not storage._rename_into_place(here, there)
    assert storage.read("there") == b"first"


@pytest.mark.parametrize("make", [on_disk, with_scheme])
def test_a_file_of_this_machine_is_held_against_both_engines(
    make: Callable[[SparkSession, Path], HadoopStorage], spark: SparkSession, tmp_path: Path
) -> None:
    """One drain at a time; who comes when it has ended may begin."""
    storage = make(spark, tmp_path)
    storage.create("there", b"{}")
    local = LocalStorage(storage.uri(""))
    with storage.hold("there") as is_ours, local.hold("there") as is_theirs:
        assert (is_ours, is_theirs) == (True, False)
    with local.hold("there") as is_theirs, storage.hold("there") as is_ours:
        assert (is_ours, is_theirs) == (False, True)


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
