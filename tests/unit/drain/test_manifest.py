"""What a manifest holds, and how it is checked against its plan."""

import json
from dataclasses import replace

import pytest

from tests.fakes.memory_storage import MemoryStorage
from zkconsumer.drain.checksum import Checksum, Contents
from zkconsumer.drain.landing_files import FilesLanding, WrittenRows, has_rows, landed_file
from zkconsumer.drain.layout import staging_folder
from zkconsumer.drain.manifest import Absence, LandedFile, LandedPart, Manifest, check
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.proving.coverage import Discrepancy
from zkconsumer.errors import DrainError
from zkconsumer.model import OffsetRange, TopicPartition

RANGE = OffsetRange(topic_partition=TopicPartition("t", 3), from_offset=10, until_offset=20)
PLAN = BatchPlan(number=7, created_ms=0, positions={}, starts={}, ranges=(RANGE,))
PART = LandedPart(
    offsets=RANGE,
    contents=Contents(rows=8, first_offset=10, last_offset=19, checksum=Checksum(99)),
    absent=(Absence(13, 15, 2, Discrepancy.COMPACTED),),
)
FILE = LandedFile(
    staged="a1/files/topic=t/date=2014-05-13/part-0.parquet",
    path="topic=t/date=2014-05-13/part-0000000007-0.parquet",
    size_bytes=12,
    values={"topic": "t", "date": "2014-05-13"},
)
MANIFEST = Manifest(number=7, attempt="a1", landed_ms=5, files=(FILE,), parts=(PART,))


def test_a_manifest_survives_its_file() -> None:
    """A manifest that is stored and read back is unchanged."""
    assert Manifest.from_bytes("7.json", MANIFEST.to_bytes()) == MANIFEST
    check(MANIFEST, PLAN)


def test_dead_letters_are_part_of_a_manifest() -> None:
    """Dead letters are read back; a manifest of an older version has none."""
    part = replace(PART, dead_lettered=3)
    letters = replace(FILE, path=f"_dead_letters/{FILE.path}")
    manifest = replace(MANIFEST, parts=(part,), dead_letters=(letters,))
    assert Manifest.from_bytes("7.json", manifest.to_bytes()) == manifest
    assert (manifest.rows, manifest.dead_lettered) == (8, 3)
    check(manifest, PLAN)
    value = json.loads(MANIFEST.to_bytes())
    del value["dead_letters"], value["parts"][0]["dead_lettered"]
    assert Manifest.from_bytes("7.json", json.dumps(value).encode()) == MANIFEST


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        (replace(PART, dead_lettered=9), "has 9 dead letters of 8 messages"),
        (replace(PART, absent=()), r"t-3 \[10, 20\) has 10 offsets, and 8 messages were landed"),
        (replace(PART, contents=replace(PART.contents, rows=9)), "and 9 messages"),
        (replace(PART, contents=replace(PART.contents, last_offset=20)), "10 to 20 were landed"),
        (replace(PART, contents=replace(PART.contents, first_offset=9)), "9 to 19 were landed"),
    ],
)
def test_a_batch_that_differs_from_its_plan_is_not_published(
    part: LandedPart, complaint: str
) -> None:
    """Too few, too many or other offsets are refused."""
    with pytest.raises(DrainError, match=complaint):
        check(replace(MANIFEST, parts=(part,)), PLAN)


def test_every_range_must_have_been_landed() -> None:
    """A missing part, or a manifest of another batch, is refused."""
    with pytest.raises(DrainError, match="not those of the plan"):
        check(replace(MANIFEST, parts=()), PLAN)
    with pytest.raises(DrainError, match="is of batch 8"):
        check(replace(MANIFEST, number=8), PLAN)


def test_a_staged_file_is_named_after_its_batch() -> None:
    """Spark's own marker files do not count."""
    path = "topic=t/date=2014-05-13/part-0.parquet"
    assert landed_file(7, "a1/files", path, 12) == FILE
    assert has_rows(path)
    assert has_rows(f"_dead_letters/{path}")
    assert not has_rows("_SUCCESS")
    assert not has_rows("_dead_letters/_SUCCESS")
    assert not has_rows("topic=t/date=2014-05-13/.part.crc")
    assert not has_rows("part-00000.parquet")
    assert not has_rows(f"_temporary/0/_temporary/attempt_1/{path}")


class WrittenFile:
    """A ``RowWriter`` that has written and counted one file."""

    def write(self, plan: BatchPlan, folder: str) -> WrittenRows:
        """See ``RowWriter``."""
        del plan, folder
        return WrittenRows(MANIFEST.parts, ["topic=t/date=2014-05-13/part-0.parquet"])


def test_what_comes_when_all_is_counted_is_not_landed() -> None:
    """A task that Spark abandoned may finish late, with the rows of another file."""
    storage = MemoryStorage()
    folder = f"{staging_folder(7)}/a1/files/topic=t/date=2014-05-13"
    storage.create(f"{folder}/part-0.parquet", b"a dozen rows")
    storage.create(f"{folder}/part-0-late.parquet", b"the same ones")
    assert FilesLanding(storage, WrittenFile()).land(PLAN, "a1").files == (FILE,)


def test_a_counted_file_that_is_missing_stops_the_batch() -> None:
    """Deleting a staged file does not make the batch smaller."""
    with pytest.raises(DrainError, match=r"part-0\.parquet\. Nothing was published"):
        FilesLanding(MemoryStorage(), WrittenFile()).land(PLAN, "a1")


def test_a_damaged_manifest_is_refused() -> None:
    """An invalid checksum or an unknown reason is an error."""
    data = MANIFEST.to_bytes()
    with pytest.raises(DrainError, match="is not a checksum"):
        Manifest.from_bytes("7.json", data.replace(b"0000000000000063", b"63"))
    with pytest.raises(DrainError, match="'melted' is no reason"):
        Manifest.from_bytes("7.json", data.replace(b'"compacted"', b'"melted"'))
