"""Files that are there against files that were noted."""

from zkconsumer.drain.landed_rows import compare_files
from zkconsumer.drain.manifest import LandedFile
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
    found = compare_files(_noted(path), stored, last_batch=1)
    assert found.readable == (path,)
    assert found.problems == ()


def test_missing_resized_and_foreign_files_are_named() -> None:
    """Each with what is wrong; foreign ones below a topic are read, for readers read them, too."""
    gone, cut = f"{FOLDER}/part-0000000001-0.parquet", f"{FOLDER}/part-0000000001-1.parquet"
    stored = [StoredFile(cut, 3), StoredFile(f"{FOLDER}/copy.parquet", 5), StoredFile("notes", 1)]
    found = compare_files(_noted(gone, cut), stored, last_batch=1)
    assert found.readable == (cut, f"{FOLDER}/copy.parquet")
    assert found.problems == (
        f"1 files of the landing are missing: {gone}",
        f"1 files are not as they were landed: {cut} has 3 bytes, and 5 were landed",
        f"2 files are there that no batch landed: notes; {FOLDER}/copy.parquet",
    )


def test_files_of_later_batches_do_not_count() -> None:
    """A drain may run on while its landing is verified."""
    later = StoredFile(f"{FOLDER}/part-0000000002-0.parquet", 5)
    found = compare_files({}, [later], last_batch=1)
    assert found == compare_files({}, [], last_batch=1)
