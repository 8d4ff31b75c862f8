"""One drain on two engines: started on one, killed, finished on the other, proven by both."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from tests.spark.queries import Topic
from tests.support.schemas import USER, avro_value
from tests.support.traffic import write
from zkconsumer.drain import (
    DecodeSettings,
    DrainReport,
    DrainSettings,
    drain,
    drain_locally,
    verify,
    verify_locally,
)
from zkconsumer.drain.landing_delta import DeltaLanding
from zkconsumer.drain.landing_files import FilesLanding
from zkconsumer.drain.local.iceberg_landing import IcebergLanding
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.proving.proof import DrainProof, ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.errors import DrainError
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.spark.compat import takes_nested_records

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]


MANUAL = [pytest.mark.versions, pytest.mark.once]
"""For each Spark version, one drain that Spark starts and one that it finishes are enough."""

LANDINGS: dict[str, type] = {"delta": DeltaLanding, "iceberg": IcebergLanding}


class Killed(BaseException):
    """The process is killed: no handler of an ``Exception`` runs."""


def die(*_: object) -> None:
    """Replace a step, and die there."""
    raise Killed


@pytest.mark.parametrize(
    ("file_format", "first"),
    [
        ("parquet", "local"),
        pytest.param("parquet", "spark", marks=MANUAL),
        pytest.param("json", "spark", marks=MANUAL),
        pytest.param("delta", "local", marks=pytest.mark.once),
        ("iceberg", "spark"),
    ],
)
def test_a_drain_continues_with_the_other_engine(
    spark: SparkSession,
    cluster: Sandbox,
    file_format: str,
    first: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is killed when a batch is written but not published; both engines prove the result."""
    topic = Topic(cluster, 2, prefix="engines")
    topic.write(20, codec=Codec.GZIP)
    settings = DrainSettings(
        path=str(tmp_path),
        zookeeper=cluster.zookeeper_connect,
        topics=(topic.name,),
        format=file_format,
        max_offsets_per_batch=16,
    )

    def on_spark() -> DrainReport:
        return drain(spark, settings)

    def locally() -> DrainReport:
        return drain_locally(settings)

    begin, continue_ = (locally, on_spark) if first == "local" else (on_spark, locally)
    with monkeypatch.context() as patch:
        patch.setattr(LANDINGS.get(file_format, FilesLanding), "publish", die)
        with pytest.raises(Killed):
            begin()
    assert continue_().finished
    topic.write(10)
    assert begin().finished
    topic.close()
    where = {"zookeeper.connect": cluster.zookeeper_connect}
    proofs: list[DrainProof] = [
        verify_locally(str(tmp_path), cluster=where),
        verify(spark, HadoopStorage(spark, str(tmp_path)), cluster=where),
    ]
    for proof in proofs:
        assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
    assert proofs[0].partitions == proofs[1].partitions


TAGS = {
    "type": "record",
    "name": "Tags",
    "fields": [
        {"name": "list", "type": {"type": "array", "items": "string"}},
        {"name": "map", "type": {"type": "map", "values": "long"}},
        {"name": "either", "type": ["string", "long"]},
    ],
}
EVOLVED = {**USER, "fields": [*USER["fields"], {"name": "tags", "type": TAGS}]}
"""Types that Spark and Arrow name differently: lists, maps, and a union, which is JSON text."""


@pytest.mark.parametrize(
    "how",
    [
        ("iceberg", "spark", "strip"),
        pytest.param(("delta", "local", "column"), marks=pytest.mark.once),
    ],
)
def test_a_decoding_drain_continues_with_the_other_engine(
    spark: SparkSession,
    cluster: Sandbox,
    how: tuple[str, str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed before a batch is published: columns and dead letters are like a single engine's."""
    file_format, first, schema_id = how
    topic, folder = Topic(cluster, 2, prefix="decoded"), tmp_path / "schemas"
    folder.mkdir()
    (folder / "1.avsc").write_text(json.dumps(USER))
    (folder / "2.avsc").write_text(json.dumps(EVOLVED))
    old = [avro_value(1, USER, {"id": at, "name": None}) for at in range(5)]
    tags = {"list": ["a"], "map": {"b": 1}, "either": 3}
    new = [avro_value(2, EVOLVED, {"id": at, "name": "n", "tags": tags}) for at in range(5, 10)]
    write(
        cluster, TopicPartition(topic.name, 0), [*old, b"bad", *new, avro_value(9, USER, {"id": 1})]
    )
    write(cluster, TopicPartition(topic.name, 1), [*new, *old, avro_value(2, USER, {"id": 1})])
    topic.close()
    settings = DrainSettings(
        path=str(tmp_path / "both"),
        zookeeper=cluster.zookeeper_connect,
        topics=(topic.name,),
        format=file_format,
        max_offsets_per_batch=12,
        decode=DecodeSettings(format="avro", schemas=str(folder), schema_id=schema_id),
    )

    def on_spark(settings: DrainSettings) -> DrainReport:
        return drain(spark, settings)

    begin, continue_ = (drain_locally, on_spark) if first == "local" else (on_spark, drain_locally)
    with monkeypatch.context() as patch:
        patch.setattr(LANDINGS[file_format], "publish", die)
        if first == "spark" and not takes_nested_records():
            with pytest.raises(DrainError, match="--engine local"):
                begin(settings)
        else:
            with pytest.raises(Killed):
                begin(settings)
    continue_(settings)
    alone = replace(settings, path=str(tmp_path / "alone"))
    assert drain_locally(alone).dead_lettered == 3
    where = {"zookeeper.connect": cluster.zookeeper_connect}
    proofs: list[DrainProof] = [
        verify_locally(alone.path),
        verify_locally(settings.path, cluster=where),
        verify(spark, HadoopStorage(spark, settings.path), cluster=where),
    ]
    for proof in proofs:
        assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
        assert proof.dead_lettered == 3
        parts = [replace(part, cluster=None) for part in proof.partitions]
        assert parts == list(proofs[0].partitions)
    for below in ("topic=*", "_dead_letters/topic=*"):
        both, wanted = (
            decoded_rows(Path(drain_settings.path), below) for drain_settings in (settings, alone)
        )
        assert both == wanted
    if file_format == "iceberg":
        assert scanned(settings.path) == scanned(alone.path)


def scanned(path: str) -> list[dict[str, Any]]:
    """Return the rows that a reader of the drain's table finds by column ids."""
    where = {"type": "sql", "uri": f"sqlite:///{path}/catalog.db"}
    rows = load_catalog("default", **where).load_table("kafka.messages").scan().to_arrow()
    found = sorted(rows.to_pylist(), key=lambda row: (row["partition"], row["offset"]))
    assert [row["value_decoded"]["tags"]["list"] for row in found if row["schema_id"] == 2] == [
        ["a"]
    ] * 10
    return found


def decoded_rows(path: Path, below: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return merged columns with their types, and rows by position."""
    files = sorted(path.glob(f"{below}/date=*/*.parquet"))
    tables = [pq.ParquetFile(file).read() for file in files]
    merged = pa.concat_tables(tables, promote_options="permissive")
    kinds = {field.name: str(field.type) for field in merged.schema}
    by_position = sorted(merged.to_pylist(), key=lambda row: (row["partition"], row["offset"]))
    return kinds, by_position
