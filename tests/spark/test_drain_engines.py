"""One drain on two engines: begun by one, killed, finished by the other, and proven by both."""

import json
from pathlib import Path

import pytest
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
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.proving.proof import DrainProof, ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]


class Killed(BaseException):
    """The process is gone: no handler of an ``Exception`` runs."""


def die(*_: object) -> None:
    """At the step that this stands for."""
    raise Killed


@pytest.mark.parametrize(
    ("file_format", "first"),
    [("parquet", "local"), ("parquet", "spark"), ("json", "spark"), ("delta", "local")],
)
def test_a_drain_goes_on_with_the_other_engine(
    spark: SparkSession,
    cluster: Sandbox,
    file_format: str,
    first: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed when a batch was landed and not published; what each lands both prove."""
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

    begin, go_on = (locally, on_spark) if first == "local" else (on_spark, locally)
    landing = DeltaLanding if file_format == "delta" else FilesLanding
    with monkeypatch.context() as patch:
        patch.setattr(landing, "publish", die)
        with pytest.raises(Killed):
            begin()
    assert go_on().finished
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


def test_an_iceberg_table_is_the_local_engines_and_proven_by_both(
    spark: SparkSession, cluster: Sandbox, tmp_path: Path
) -> None:
    """On Spark it is refused in a sentence; its files are read there as others are."""
    topic = Topic(cluster, 2, prefix="engines")
    topic.write(20, codec=Codec.GZIP)
    topic.close()
    settings = DrainSettings(
        path=str(tmp_path / "lake"),
        zookeeper=cluster.zookeeper_connect,
        topics=(topic.name,),
        format="iceberg",
    )
    with pytest.raises(ConfigError, match="--format iceberg is for --engine local"):
        drain(spark, settings)
    assert not (tmp_path / "lake").exists()
    assert drain_locally(settings).finished
    where = {"zookeeper.connect": cluster.zookeeper_connect}
    proof = verify(spark, HadoopStorage(spark, settings.path), cluster=where)
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
    assert proof.partitions == verify_locally(settings.path, cluster=where).partitions


def test_what_was_decoded_is_proven_by_spark(
    spark: SparkSession, cluster: Sandbox, tmp_path: Path
) -> None:
    """Dead letters count there, too, and values get back what was taken off; landing is refused."""
    topic, folder = Topic(cluster, 1, prefix="decoded"), tmp_path / "schemas"
    folder.mkdir()
    (folder / "1.avsc").write_text(json.dumps(USER))
    good = [avro_value(1, USER, {"id": at, "name": None}) for at in range(5)]
    write(cluster, TopicPartition(topic.name, 0), [*good, b"bad", good[0]])
    topic.close()
    settings = DrainSettings(
        path=str(tmp_path / "lake"),
        zookeeper=cluster.zookeeper_connect,
        topics=(topic.name,),
        decode=DecodeSettings(format="avro", schemas=str(folder), schema_id="strip"),
    )
    assert drain_locally(settings).dead_lettered == 1
    storage = HadoopStorage(spark, settings.path)
    proof = verify(spark, storage, cluster={"zookeeper.connect": cluster.zookeeper_connect})
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
    assert proof.dead_lettered == 1
    with pytest.raises(ConfigError, match="--decode and --schema-id are for --engine local"):
        drain(spark, settings)
