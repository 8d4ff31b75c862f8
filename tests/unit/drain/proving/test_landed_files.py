"""Comparing stored files with those that the manifests name."""

from dataclasses import dataclass

import pytest

from tests.fakes.memory_storage import MemoryStorage
from zkconsumer.drain import layout
from zkconsumer.drain.manifest import LandedFile
from zkconsumer.drain.proving.landed_rows import compare_files
from zkconsumer.drain.proving.verify import Published, published_batches
from zkconsumer.drain.storage import StoredFile

FOLDER = "topic=clicks/date=2026-01-01"


def _recorded(*paths: str) -> dict[str, LandedFile]:
    return {path: LandedFile(staged=path, path=path, size_bytes=5) for path in paths}


def test_recorded_files_are_readable() -> None:
    """Files of the landing give no problems, and a drain's own files are ignored."""
    path = f"{FOLDER}/part-0000000001-0.parquet"
    stored = [
        StoredFile(path, 5),
        StoredFile("_zkconsumer/drain.json", 9),
        StoredFile(f"{FOLDER}/.part-0000000001-0.parquet.crc", 9),
    ]
    found = compare_files(_recorded(path), stored, since={2})
    assert found.readable == (path,)
    assert found.problems == ()


def test_missing_resized_and_foreign_files_are_named() -> None:
    """Each problem names its files.

    Foreign files below a topic are read, since readers of the landing read them as well.
    """
    gone, cut = f"{FOLDER}/part-0000000001-0.parquet", f"{FOLDER}/part-0000000001-1.parquet"
    stored = [StoredFile(cut, 3), StoredFile(f"{FOLDER}/copy.parquet", 5), StoredFile("notes", 1)]
    found = compare_files(_recorded(gone, cut), stored, since={2})
    assert found.readable == (cut, f"{FOLDER}/copy.parquet")
    assert found.problems == (
        f"1 files of the landing are missing: {gone}",
        f"1 files are not as they were landed: {cut} has 3 bytes, and 5 were landed",
        f"2 files are there that no batch landed: notes; {FOLDER}/copy.parquet",
    )


def test_files_of_later_batches_do_not_count() -> None:
    """A drain may continue while its landing is verified."""
    later = StoredFile(f"{FOLDER}/part-0000000002-0.parquet", 5)
    found = compare_files({}, [later], since={2})
    assert found == compare_files({}, [], since={2})


@pytest.mark.parametrize(
    "name",
    ["part-00002-8f3a.c000.snappy.parquet", "part-2-0.parquet", "part-0000000003-0.parquet"],
)
def test_files_of_a_batch_that_was_never_planned_are_foreign(name: str) -> None:
    """They are not mistaken for files that a running drain is about to record."""
    path = f"{FOLDER}/{name}"
    found = compare_files({}, [StoredFile(path, 5)], since={2})
    assert found.readable == (path,)
    assert found.problems == (f"1 files are there that no batch landed: {path}",)


@pytest.mark.parametrize("path", ["topic=clicks/part-0.parquet", f"{FOLDER}/hour=1/part-0.parquet"])
def test_files_outside_the_partition_layout_are_named_and_not_read(path: str) -> None:
    """Spark would fail on them without reporting anything about the other files."""
    found = compare_files({}, [StoredFile(path, 5)], since=())
    assert found.readable == ()
    assert found.problems == (f"1 files are there that no batch landed: {path}",)


@dataclass(frozen=True)
class _Case:
    """Numbers of plans, and of batches with manifests or staged files, and the expected result."""

    plans: int
    batches: tuple[int, ...]
    staged: tuple[int, ...]
    published: Published


@pytest.mark.parametrize(
    "case",
    [
        _Case(0, (), (), Published(0, (), None)),
        _Case(1, (), (1,), Published(0, (), None)),
        _Case(2, (1, 2), (), Published(2, (), None)),
        _Case(2, (1, 2), (2,), Published(1, (), 2)),
        _Case(3, (1, 2), (3,), Published(2, (), None)),
        # Files that an abandoned task writes late do not make a batch unpublished.
        _Case(3, (1, 2), (2, 3), Published(2, (), None)),
        _Case(3, (2, 3), (), Published(3, (1,), None)),
        # The last manifest is missing: batch 3 was planned, so batch 2 had a manifest.
        _Case(3, (1,), (), Published(2, (2,), None)),
        _Case(3, (), (), Published(2, (1, 2), None)),
    ],
)
def test_published_batches_are_found(case: _Case) -> None:
    """All published batches are found, even if their manifests are missing, and no others."""
    storage = MemoryStorage()
    for number in range(1, case.plans + 1):
        storage.create(layout.plan_file(number), b"")
    for number in case.batches:
        storage.create(layout.manifest_file(number), b"")
    for number in case.staged:
        storage.create(f"{layout.attempt_folder(number, 'a')}/begun", b"")
    assert published_batches(storage) == case.published
