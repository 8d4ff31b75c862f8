"""The Iceberg table of a drain: each batch is added once, and readers find it."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, MonthTransform
from pyiceberg.typedef import Record

from tests.support.begun_drains import DRAIN, begin
from zkconsumer.drain import layout
from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.local import iceberg_table
from zkconsumer.drain.local.columns import SCHEMA
from zkconsumer.drain.local.data_files import LocalFiles
from zkconsumer.drain.local.dated_files import DatedFiles, FileNaming
from zkconsumer.drain.local.footers import read_footer
from zkconsumer.drain.local.iceberg_table import IcebergTable, location_of
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.local.memory import Shares
from zkconsumer.drain.manifest import LandedFile, LandedPart, Manifest
from zkconsumer.drain.table_name import TableName
from zkconsumer.errors import ConfigError, DrainError
from zkconsumer.model import OffsetRange, TopicPartition

DAY_US = 86_400_000_000
TOPIC = "a.topic_with-a-name-of-more-than-sixteen"


class DrainTable:
    """A drain's folder, and its table.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.storage = LocalStorage(str(path))
        self.files = LocalFiles(self.storage)
        self.pauses: list[int] = []
        begin(self.storage)
        self.table = IcebergTable(TableName(), self.storage, {}, pause=self.pauses.append)

    def landed(self, number: int) -> Manifest:
        """Write a batch of ten offsets from ``10 * number`` on, of two days, at its final path."""
        naming = FileNaming(
            folder=".",
            topic=TOPIC,
            task=0,
            file_format="parquet",
            created_ms=0,
            file_columns=self.table.file_columns,
        )
        dated = DatedFiles(self.files, naming, Shares.of(256, 1))
        offsets = range(10 * number, 10 * number + 10)
        rows: list[dict[str, Any]] = [
            {
                "value": b"m%d" % at,
                "partition": 7,
                "offset": at,
                "timestamp": at % 2 * DAY_US,
                "timestampType": 0,
            }
            for at in offsets
        ]
        dated.write(pa.RecordBatch.from_pylist(rows, SCHEMA))
        paths = [path.removeprefix("./") for path in dated.close()]
        return Manifest(
            number=number,
            attempt="a",
            landed_ms=0,
            files=tuple(self._file(number, path) for path in paths),
            parts=(
                LandedPart(
                    offsets=OffsetRange(
                        topic_partition=TopicPartition(TOPIC, 7),
                        from_offset=offsets.start,
                        until_offset=offsets.stop,
                    ),
                    contents=Contents(),
                ),
            ),
        )

    def _file(self, number: int, path: str) -> LandedFile:
        where = dict(step.split("=", 1) for step in path.split("/")[:2])
        size = (self.path / path).stat().st_size
        folder = layout.staging_folder(number)
        return LandedFile(staged=f"{folder}/{path}", path=path, size_bytes=size, values=where)

    def append(self, manifest: Manifest) -> None:
        """Add a batch to the table."""
        self.table.append(manifest, self.footer)

    def footer(self, file: LandedFile, ids: Mapping[str, int]) -> Mapping[str, Any]:
        """Read the footer of a file of the batch."""
        return read_footer(self.files, file.path, ids)

    def read(self) -> Table:
        """Load the table as any user of pyiceberg does."""
        where = {"type": "sql", "uri": f"sqlite:///{self.path}/catalog.db"}
        return load_catalog("default", **where).load_table("kafka.messages")

    def offsets(self, **scan: Any) -> list[int]:
        """Return the offsets that a reader gets."""
        found: list[int] = self.read().scan(**scan).to_arrow().column("offset").to_pylist()
        return sorted(found)


@pytest.fixture
def world(tmp_path: Path) -> DrainTable:
    """An empty table."""
    return DrainTable(tmp_path)


def test_a_batch_is_added_to_the_table_once(world: DrainTable) -> None:
    """It is however often it is published; its summary says which offsets it has."""
    for number in (1, 2):
        manifest = world.landed(number)
        world.append(manifest)
        world.append(manifest)
        DrainTable(world.path).append(manifest)
    assert world.offsets() == list(range(10, 30))
    summary = world.read().metadata.snapshots[1].summary
    assert summary is not None
    summary_properties = summary.additional_properties
    assert (summary_properties["zkconsumer.drain"], summary_properties["zkconsumer.batch"]) == (
        DRAIN,
        "2",
    )
    assert summary_properties["zkconsumer.offsets"] == f'{{"{TOPIC}": {{"7": [20, 30]}}}}'
    state = world.table.state(DRAIN)
    assert [(commit.number, *commit.offsets) for commit in state.commits] == [
        (2, (TOPIC, 7, 20, 30)),
        (1, (TOPIC, 7, 10, 20)),
    ]
    assert state.is_whole
    below = [world.table.below(uri) for uri in state.files]
    assert sorted(map(str, below)) == sorted(
        str(file.relative_to(world.path)) for file in world.path.glob("topic=*/*/*")
    )


def test_a_batch_is_not_added_again_after_its_snapshot_expired(world: DrainTable) -> None:
    """A property remembers it; the state says that some commits are no longer known."""
    first, second = world.landed(1), world.landed(2)
    world.append(first)
    world.append(second)
    table = world.read()
    table.maintenance.expire_snapshots().by_id(table.metadata.snapshots[0].snapshot_id).commit()
    world.append(first)
    world.append(second)
    assert world.offsets() == list(range(10, 30))
    state = world.table.state(DRAIN)
    assert ([commit.number for commit in state.commits], state.is_whole) == ([2], False)


@pytest.mark.parametrize("same", [True, False])
def test_a_concurrent_commit_is_noticed(
    world: DrainTable, monkeypatch: pytest.MonkeyPatch, *, same: bool
) -> None:
    """It is if it adds the same batch, and if another program changed the table."""
    manifest = world.landed(1)
    rival = DrainTable(world.path)
    before = Table._do_commit
    commits: list[Table] = []

    def commit(table: Table, *args: Any, **kwargs: Any) -> None:
        commits.append(table)
        if len(commits) == 1:
            if same:
                rival.append(manifest)
            else:
                with world.read().transaction() as transaction:
                    transaction.set_properties({"theirs": "1"})
                    transaction.update_snapshot().fast_append().commit()
        before(table, *args, **kwargs)

    monkeypatch.setattr(Table, "_do_commit", commit)
    world.append(manifest)
    assert world.offsets() == list(range(10, 20))
    assert len(commits) == (2 if same else 3)


def test_a_table_that_changes_all_the_time_is_an_error(
    world: DrainTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attempts have growing pauses, and an end."""
    manifest = world.landed(1)

    def refuse(*_: object, **__: object) -> None:
        raise CommitFailedException("another was first")

    monkeypatch.setattr(Table, "_do_commit", refuse)
    with pytest.raises(
        DrainError, match=r"kafka\.messages of its own catalog at file://.*other programs"
    ):
        world.append(manifest)
    assert len(world.pauses) == 9
    assert all(pause >= least for pause, least in zip(world.pauses, (50, 100, 200), strict=False))
    assert max(world.pauses) <= 4_000


def test_columns_are_added_though_others_change_the_table(
    world: DrainTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A concurrent commit makes the change fail, and it is retried."""
    world.append(world.landed(1))
    before = Table._do_commit
    refused: list[str] = []

    def commit(table: Table, *args: Any, **kwargs: Any) -> None:
        if not refused:
            refused.append("once")
            raise CommitFailedException("another was first")
        before(table, *args, **kwargs)

    monkeypatch.setattr(Table, "_do_commit", commit)
    world.table.file_columns(pa.schema([*SCHEMA, ("schema_id", pa.int32())]))
    assert world.read().schema().column_names[-1] == "schema_id"
    assert len(world.pauses) == 1


def test_a_table_that_lost_batches_is_not_appended_to(world: DrainTable) -> None:
    """Readers would find the newest batch only; nor is a new table created for it."""
    for number in (1, 2):
        world.append(world.landed(number))
    third = world.landed(3)
    (world.path / "catalog.db").unlink()
    bare = DrainTable(world.path)
    match = r"kafka\.messages .* is not there, but batch 3 is next: .* registered"
    with pytest.raises(DrainError, match=match):
        bare.append(third)
    with pytest.raises(DrainError, match=match):
        bare.table.expect(3)
    assert bare.table.state(DRAIN).files == ()
    bare.table.expect(1)
    bare.table.file_columns()
    with pytest.raises(DrainError, match="has none, but batch 3 is next"):
        bare.append(third)


def test_a_table_that_was_rolled_back_is_not_appended_to(world: DrainTable) -> None:
    """It is again once it was rolled forward."""
    for number in (1, 2):
        world.append(world.landed(number))
    third = world.landed(3)
    first, second = (snapshot.snapshot_id for snapshot in world.read().metadata.snapshots)
    world.read().manage_snapshots().set_current_snapshot(first).commit()
    with pytest.raises(DrainError, match="ends with batch 1, but batch 3 is next"):
        world.append(third)
    with pytest.raises(DrainError, match="ends with batch 1, but batch 3 is next"):
        world.table.expect(3)
    assert world.offsets() == list(range(10, 20))
    world.read().manage_snapshots().set_current_snapshot(second).commit()
    world.append(third)
    assert world.offsets() == list(range(10, 40))


def test_a_table_whose_snapshots_all_expired_is_appended_to(world: DrainTable) -> None:
    """A property still says which batch was the last."""
    for number in (1, 2):
        world.append(world.landed(number))
    with world.read().transaction() as theirs:
        theirs.update_snapshot().fast_append().commit()
    table = world.read()
    of_batches = [snapshot.snapshot_id for snapshot in table.metadata.snapshots[:2]]
    table.maintenance.expire_snapshots().by_ids(of_batches).commit()
    assert world.table.state(DRAIN).commits == ()
    world.append(world.landed(2))
    world.append(world.landed(3))
    assert world.offsets() == list(range(10, 40))


def test_another_drains_table_is_refused(world: DrainTable) -> None:
    """One table holds one drain, as one path does."""
    manifest = world.landed(1)
    world.storage.delete(layout.IDENTITY.rpartition("/")[0])
    begin(world.storage, drain="another")
    with pytest.raises(
        DrainError, match="belongs to another drain or program: name another one with --table"
    ):
        world.append(manifest)
    with pytest.raises(DrainError, match="belongs to another drain or program"):
        world.table.state("another")


def test_reading_the_state_creates_nothing(world: DrainTable) -> None:
    """A verification must not change anything."""
    before = sorted(world.path.rglob("*"))
    assert world.table.state(DRAIN).files == ()
    assert sorted(world.path.rglob("*")) == before


def test_columns_that_the_table_lacks_are_added(world: DrainTable) -> None:
    """Rows that were landed before read as null there."""
    world.append(world.landed(1))
    wider = pa.schema([*SCHEMA, ("schema_id", pa.int32())])
    columns = world.table.file_columns(wider)
    ids = {field.name: int(field.metadata[b"PARQUET:field_id"]) for field in columns}
    assert ids["schema_id"] == 9
    assert sorted(ids.values()) == list(range(1, 10))
    assert world.read().schema().column_names[-1] == "schema_id"
    assert set(world.read().scan().to_arrow().column("schema_id").to_pylist()) == {None}
    world.append(world.landed(2))
    assert world.offsets() == list(range(10, 30))


def test_readers_skip_files_by_the_manifests(world: DrainTable) -> None:
    """They have topic, date and bounds of offsets; topic names are not truncated."""
    for number in (1, 2):
        world.append(world.landed(number))
    table = world.read()
    assert len(list(table.scan().plan_files())) == 4
    assert len(list(table.scan('"offset" < 20').plan_files())) == 2
    assert len(list(table.scan("date = '1970-01-02'").plan_files())) == 2
    assert len(list(table.scan(f"topic = '{TOPIC}'").plan_files())) == 4
    assert len(list(table.scan(f"topic = '{TOPIC[:16]}'").plan_files())) == 0
    assert world.offsets(row_filter="date = '1970-01-02'") == list(range(11, 30, 2))


@pytest.mark.parametrize("change", ["one more field", "no topic", "by month"])
def test_readers_find_rows_whatever_the_tables_spec_has_become(
    world: DrainTable, change: str
) -> None:
    """Files keep to the partition spec of topic and date, which the table still has."""
    world.append(world.landed(1))
    with world.read().update_spec() as update:
        if change == "one more field":
            update.add_field("partition", BucketTransform(4), "bucket")
        else:
            update.remove_field("topic" if change == "no topic" else "date")
        if change == "by month":
            update.add_field("date", MonthTransform(), "month")
    current = world.read().metadata.default_spec_id
    world.append(world.landed(2))
    assert world.offsets() == list(range(10, 30))
    assert world.offsets(row_filter="date = '1970-01-02'") == list(range(11, 30, 2))
    assert world.offsets(row_filter=f"topic = '{TOPIC}'") == list(range(10, 30))
    assert world.read().metadata.default_spec_id == current != 0
    assert world.table.state(DRAIN).misplaced == ()


def test_a_table_without_topic_is_refused(world: DrainTable) -> None:
    """It has no partition spec that the files could keep to."""
    manifest = world.landed(1)
    with world.read().update_schema() as update:
        update.rename_column("topic", "subject")
    with pytest.raises(DrainError, match="no partition spec of topic and date, untransformed"):
        world.append(manifest)


def test_files_in_a_wrong_partition_are_reported(
    world: DrainTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that filters would miss them, while a count of all rows would not show it."""
    monkeypatch.setattr(iceberg_table, "partition_of", lambda *_: Record(TOPIC, 1))
    world.append(world.landed(1))
    [wrong] = world.table.state(DRAIN).misplaced
    assert "/date=1970-01-01/" in wrong


def test_the_files_are_self_contained(world: DrainTable) -> None:
    """Column ids, topic and date are in each file, for readers that ignore the folders."""
    world.append(world.landed(1))
    for file in world.path.glob("topic=*/*/*"):
        rows = pq.read_table(file, partitioning=None)
        assert pc.unique(rows.column("topic")).to_pylist() == [TOPIC]
        assert f"date={rows.column('date')[0].as_py()}" == file.parent.name
        numbers = [field.metadata[b"PARQUET:field_id"] for field in rows.schema]
        assert numbers == [b"%d" % number for number in range(1, 9)]


@pytest.mark.parametrize(
    ("uri", "location"),
    [
        ("/lake/a b", "file:///lake/a b"),
        ("file:/lake", "file:///lake"),
        ("file:///lake/", "file:///lake"),
        ("s3a://b/k", "s3://b/k"),
        ("hdfs://nn/lake", "hdfs://nn/lake"),
    ],
)
def test_locations_have_a_scheme(uri: str, location: str) -> None:
    """Without one they could be taken for paths of another file system."""
    assert location_of(uri) == location


def test_a_bucket_can_not_hold_the_catalog(world: DrainTable) -> None:
    """The catalog's file must be locked and written in place."""

    class Bucket(LocalStorage):
        def uri(self, path: str) -> str:
            return f"s3://lake/{path}".rstrip("/")

    bucket = Bucket(str(world.path))
    with pytest.raises(ConfigError, match=r"s3://lake needs a catalog.*--catalog-property"):
        IcebergTable(TableName(), bucket, {})


def test_hdfs_can_not_hold_a_table(world: DrainTable) -> None:
    """It can't either if a path has no scheme and Spark's default file system is HDFS."""

    class Hadoops(LocalStorage):
        def uri(self, path: str) -> str:
            return f"hdfs://nn/lake/{path}"

    with pytest.raises(ConfigError, match="--format iceberg can't be kept in hdfs://"):
        IcebergTable(TableName("lakehouse"), Hadoops(str(world.path)), {})


def test_a_missing_catalog_is_an_error(world: DrainTable, tmp_path: Path) -> None:
    """The error names the table, the catalog and the location."""
    where: Mapping[str, str] = {"type": "sql", "uri": f"sqlite:////{tmp_path}/no/where.db"}
    table = IcebergTable(TableName("lakehouse", "a.b"), world.storage, where)
    with pytest.raises(DrainError, match=r"^the Iceberg table a\.b of catalog lakehouse at file"):
        table.state(DRAIN)


@pytest.mark.parametrize("sign", ["#", "?"])
def test_a_path_that_pyiceberg_would_cut_is_refused(tmp_path: Path, sign: str) -> None:
    """The table would be written somewhere else."""
    (tmp_path / f"a{sign}b").mkdir()
    with pytest.raises(
        ConfigError, match=r"an Iceberg table can't be at file://.*: its path contains [#?]"
    ):
        DrainTable(tmp_path / f"a{sign}b")


def test_a_path_that_looks_encoded_is_taken_as_it_is(tmp_path: Path) -> None:
    """The catalog is not created in a folder of the decoded name."""
    decoded, path = tmp_path / "a b", tmp_path / "a%20b"
    decoded.mkdir()
    path.mkdir()
    world = DrainTable(path)
    world.append(world.landed(1))
    assert (path / "catalog.db").exists()
    assert list(decoded.iterdir()) == []
    assert len(world.table.state(DRAIN).files) == 2


def test_a_damaged_summary_is_no_proof(world: DrainTable) -> None:
    """Offsets that are not in the written form are ignored."""
    world.append(world.landed(1))
    with sqlite3.connect(world.path / "catalog.db") as catalog:
        [(uri,)] = catalog.execute("select metadata_location from iceberg_tables").fetchall()
    file = Path(uri.removeprefix("file://"))
    file.write_text(file.read_text().replace("[10, 20]", "[10]"))
    [commit] = world.table.state(DRAIN).commits
    assert commit.offsets == frozenset()
