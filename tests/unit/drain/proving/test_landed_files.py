"""Files that are there against files that were noted."""

from dataclasses import dataclass

import pytest

from tests.fakes.memory_storage import MemoryStorage
from zkconsumer.drain import layout
from zkconsumer.drain.manifest import LandedFile
from zkconsumer.drain.proving.landed_rows import compare_files
from zkconsumer.drain.proving.verify import Published, published_batches
from zkconsumer.drain.storage import StoredFile

FOLDER = "topic=clicks/date=2026-01-01"


def _noted(*paths: str) -> dict[str, LandedFile]:
    return {path: LandedFile(staged=path, path=path, size_bytes=5) for path in paths}


def test_files_as_they_were_noted_are_read() -> None:
    """Nothing to complain of; a drain's own files are no data."""
    path = f"{FOLDER}/part-0000000001-0.parquet"
    stored = [
        StoredFile(path, 5),
        StoredFile("_zkconsumer/drain.json", 9),
        StoredFile(f"{FOLDER}/.part-0000000001-0.parquet.crc", 9),
    ]
    found = compare_files(_noted(path), stored, since={2})
    assert found.readable == (path,)
    assert found.problems == ()


def test_missing_resized_and_foreign_files_are_named() -> None:
    """Each with what is wrong; foreign ones below a topic are read, for readers read them, too."""
    gone, cut = f"{FOLDER}/part-0000000001-0.parquet", f"{FOLDER}/part-0000000001-1.parquet"
    stored = [StoredFile(cut, 3), StoredFile(f"{FOLDER}/copy.parquet", 5), StoredFile("notes", 1)]
    found = compare_files(_noted(gone, cut), stored, since={2})
    assert found.readable == (cut, f"{FOLDER}/copy.parquet")
    assert found.problems == (
        f"1 files of the landing are missing: {gone}",
        f"1 files are not as they were landed: {cut} has 3 bytes, and 5 were landed",
        f"2 files are there that no batch landed: notes; {FOLDER}/copy.parquet",
    )


def test_files_of_later_batches_do_not_count() -> None:
    """A drain may run on while its landing is verified."""
    later = StoredFile(f"{FOLDER}/part-0000000002-0.parquet", 5)
    found = compare_files({}, [later], since={2})
    assert found == compare_files({}, [], since={2})


@pytest.mark.parametrize(
    "name",
    ["part-00002-8f3a.c000.snappy.parquet", "part-2-0.parquet", "part-0000000003-0.parquet"],
)
def test_files_that_claim_to_be_of_a_batch_that_nobody_landed_are_foreign(name: str) -> None:
    """Readers see them: they must not pass for what a running drain is about to note."""
    path = f"{FOLDER}/{name}"
    found = compare_files({}, [StoredFile(path, 5)], since={2})
    assert found.readable == (path,)
    assert found.problems == (f"1 files are there that no batch landed: {path}",)


@pytest.mark.parametrize("path", ["topic=clicks/part-0.parquet", f"{FOLDER}/hour=1/part-0.parquet"])
def test_files_that_spark_can_not_place_are_named_and_not_read(path: str) -> None:
    """Reading them would end in an error that says nothing of the rest."""
    found = compare_files({}, [StoredFile(path, 5)], since=())
    assert found.readable == ()
    assert found.problems == (f"1 files are there that no batch landed: {path}",)


@dataclass(frozen=True)
class _Case:
    """Plans and batches that are there, whose files are staged, and what is to be looked at."""

    plans: int
    batches: tuple[int, ...]
    staged: tuple[int, ...]
    seen: Published


@pytest.mark.parametrize(
    "it",
    [
        _Case(0, (), (), Published(0, (), None)),
        _Case(1, (), (1,), Published(0, (), None)),
        _Case(2, (1, 2), (), Published(2, (), None)),
        _Case(2, (1, 2), (2,), Published(1, (), 2)),
        _Case(3, (1, 2), (3,), Published(2, (), None)),
        # What a task that was given up writes late does not make a batch unpublished.
        _Case(3, (1, 2), (2, 3), Published(2, (), None)),
        _Case(3, (2, 3), (), Published(3, (1,), None)),
        # The last manifest is gone: that the next batch was planned says that there was one.
        _Case(3, (1,), (), Published(2, (2,), None)),
        _Case(3, (), (), Published(2, (1, 2), None)),
    ],
)
def test_batches_that_must_be_there_are_looked_at(it: _Case) -> None:
    """All that were published, whether their manifests are there or not, and no others."""
    storage = MemoryStorage()
    for number in range(1, it.plans + 1):
        storage.create(layout.plan_file(number), b"")
    for number in it.batches:
        storage.create(layout.manifest_file(number), b"")
    for number in it.staged:
        storage.create(f"{layout.attempt_folder(number, 'a')}/begun", b"")
    assert published_batches(storage) == it.seen
