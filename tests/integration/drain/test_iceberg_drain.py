"""Whole drains of a real cluster into Iceberg tables, in catalogs of every kind."""

import copy
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from tests.support import warm
from tests.support.clusters import fresh_name
from tests.support.drain_kills import command
from tests.support.traffic import partitions_of, write
from zkconsumer.drain import DrainSettings, drain_locally, verify_locally
from zkconsumer.drain.proving.proof import DrainProof, ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.errors import ConfigError
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox]


@pytest.fixture(scope="module")
def topic(cluster: Sandbox) -> str:
    """Create two partitions with 30 messages each."""
    name = fresh_name("iceberg")
    cluster.create_topic(name, partitions=2)
    for tp in partitions_of(name, 2):
        write(cluster, tp, [b"m%d" % at for at in range(30)], codec=Codec.GZIP)
    return name


def run(*arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """Run a command."""
    return warm.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, **environ},
    )


def settings_for(sandbox: Sandbox, topic: str, path: Path) -> DrainSettings:
    """Return settings for an Iceberg table, in batches of about 20 messages."""
    return DrainSettings(
        path=str(path),
        zookeeper=sandbox.zookeeper_connect,
        topics=(topic,),
        format="iceberg",
        max_offsets_per_batch=20,
    )


def own_table(path: Path) -> Table:
    """Return the table of a drain that uses its own catalog."""
    where = {"type": "sql", "uri": f"sqlite:///{path}/catalog.db"}
    return load_catalog("default", **where).load_table("kafka.messages")


def verified(settings: DrainSettings) -> DrainProof:
    """Return the proof, which includes the cluster's messages."""
    where = {"zookeeper.connect": settings.zookeeper or ""}
    return verify_locally(
        settings.path, cluster=where, target_options=dict(settings.target_options)
    )


def test_a_table_has_what_a_plain_consumer_reads(
    cluster: Sandbox, topic: str, tmp_path: Path
) -> None:
    """The rows are read by a Parquet reader that knows no tables, the messages by ``consume``."""
    settings = settings_for(cluster, topic, tmp_path)
    assert drain_locally(settings).batches == 3
    proof = verified(settings)
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
    dumped = run(
        *("consume", "--topic", topic, "--zookeeper", cluster.zookeeper_connect),
        *("--from-beginning", "--max-messages", "60", "--output", "json"),
    )
    consumed = map(json.loads, dumped.stdout.splitlines())
    files = [task.file.file_path for task in own_table(tmp_path).scan().plan_files()]
    rows = [
        row
        for file in files
        for row in pq.read_table(file.removeprefix("file://"), partitioning=None).to_pylist()
    ]
    assert len(rows) == 60
    assert {(row["partition"], row["offset"], row["value"].decode()) for row in rows} == {
        (record["partition"], record["offset"], record["value"]) for record in consumed
    }, dumped.stderr


def test_a_catalog_of_pyicebergs_configuration_is_used(
    cluster: Sandbox, topic: str, tmp_path: Path
) -> None:
    """No file of the drain stores the catalog's properties."""
    lake, uri = tmp_path / "lake", f"sqlite:///{tmp_path}/lakehouse.db"
    where = ("--zookeeper", cluster.zookeeper_connect)
    configured = {"PYICEBERG_CATALOG__LAKEHOUSE__TYPE": "sql"}
    catalog = ("--catalog-property", f"uri={uri}")
    to = ("--to", str(lake), "--format", "iceberg", "--catalog", "lakehouse")
    table = ("--table", "raw.events")
    drained = run("drain", *where, "--topics", topic, *to, *table, *catalog, **configured)
    assert drained.returncode == 0, drained.stderr
    checked = run("drain", "verify", str(lake), *where, *catalog, **configured)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.count("same in [0, 30)") == 2
    theirs = load_catalog("lakehouse", type="sql", uri=uri).load_table("raw.events")
    assert len(theirs.scan().to_arrow()) == 60
    assert not (lake / "catalog.db").exists()
    kept = [file.read_text() for file in (lake / "_zkconsumer").rglob("*.json")]
    assert not [text for text in kept if "lakehouse.db" in text]
    with pytest.raises(ConfigError, match=r"--catalog and --table: .*'lakehouse:raw\.events'"):
        drain_locally(settings_for(cluster, topic, lake))


def test_loss_and_damage_are_reported(cluster: Sandbox, topic: str, tmp_path: Path) -> None:
    """The table was rolled back, or one of its files was deleted."""
    settings = settings_for(cluster, topic, tmp_path)
    assert drain_locally(settings).rows == 60
    assert verified(settings).outcome is ProofOutcome.PROVEN
    table = own_table(tmp_path)
    first = table.metadata.snapshots[0].snapshot_id
    newest = table.metadata.snapshots[-1].snapshot_id
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    proof = verified(settings)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    text = as_text(proof)
    assert "2 batches are in no commit of the current table: 2, 3" in text
    own_table(tmp_path).manage_snapshots().set_current_snapshot(newest).commit()
    assert verified(settings).outcome is ProofOutcome.PROVEN
    gone = min(tmp_path.glob("topic=*/*/*.parquet"))
    gone.unlink()
    proof = verified(settings)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    assert f"1 files of the Iceberg table are missing: {gone.relative_to(tmp_path)}" in (
        as_text(proof)
    )


def test_foreign_rows_are_reported(cluster: Sandbox, topic: str, tmp_path: Path) -> None:
    """Rows that another writer appended to the table are not proven."""
    settings = settings_for(cluster, topic, tmp_path)
    drain_locally(settings)
    table = own_table(tmp_path)
    table.append(table.scan(limit=3).to_arrow())
    proof = verified(settings)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    found = sum(of.coverage.rows for of in proof.partitions)
    assert found == 63, as_text(proof)


def test_wrong_entries_are_reported(cluster: Sandbox, topic: str, tmp_path: Path) -> None:
    """One data file is listed twice, and one has another partition value than its folder."""
    settings = settings_for(cluster, topic, tmp_path)
    drain_locally(settings)
    table = own_table(tmp_path)
    [twice, moved, *_] = [task.file for task in table.scan().plan_files()]
    away = copy.deepcopy(moved)
    away.partition[1] += 1
    with table.transaction() as transaction, transaction.update_snapshot().overwrite() as update:
        update.delete_data_file(moved)
        update.append_data_file(twice)
        update.append_data_file(away)
    proof = verified(settings)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    text = as_text(proof)
    paths = (
        data_file.file_path.removeprefix(f"file://{tmp_path}/") for data_file in (twice, moved)
    )
    repeated, misplaced = (f": {path}" for path in paths)
    assert f"1 files are named more than once by the table{repeated}" in text
    assert "1 files are in another partition of the table than their folders say" in text
    assert misplaced.removeprefix(": ") in text
    assert sum(of.coverage.rows for of in proof.partitions) == 60


def test_a_bucket_needs_an_external_catalog(cluster: Sandbox, topic: str) -> None:
    """That is an error before anything is read or written."""
    settings = settings_for(cluster, topic, Path("x"))
    with pytest.raises(ConfigError, match="s3://lake/x needs a catalog"):
        drain_locally(replace(settings, path="s3://lake/x"))
