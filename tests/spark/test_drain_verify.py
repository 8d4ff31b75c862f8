"""What a drain landed is proven, and every kind of damage to it is found and named."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.set_producer import Producer
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.on_spark.launch import drain, verify
from zkconsumer.drain.on_spark.rows import drain_session
from zkconsumer.drain.proving.coverage import Discrepancy, Run
from zkconsumer.drain.proving.proof import DrainProof, ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.model import Record, TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox, pytest.mark.timeout(400)]

_COUNT = 40


@pytest.fixture(scope="module")
def topic(cluster: Sandbox) -> str:
    """Create a topic of two partitions with messages of all shapes."""
    name = fresh_name("verify")
    cluster.create_topic(name, partitions=2)
    producer = Producer(cluster.brokers)
    try:
        for partition in range(2):
            producer.send(TopicPartition(name, partition), _records(0))
    finally:
        producer.close()
    return name


def _records(first: int) -> list[Record]:
    values = (None, b"", bytes(range(256)), b'"\n\xff\x00', b"plain")
    return [
        Record(0, (None, b"", b"k%d" % at)[at % 3], values[at % 5])
        for at in range(first, first + _COUNT)
    ]


def _drain(
    spark: SparkSession, cluster: Sandbox, topic: str, path: Path, file_format: str = "parquet"
) -> None:
    settings = DrainSettings(
        path=str(path),
        zookeeper=cluster.zookeeper_connect,
        topics=(topic,),
        max_offsets_per_batch=_COUNT,
        format=file_format,
    )
    drain(spark, settings)


def _verify(spark: SparkSession, path: Path, cluster: Sandbox | None = None) -> DrainProof:
    session = drain_session(spark)
    options = None if cluster is None else {"zookeeper.connect": cluster.zookeeper_connect}
    return verify(session, HadoopStorage(session, str(path)), cluster=options)


@pytest.fixture(scope="module")
def landed(
    spark: SparkSession, cluster: Sandbox, topic: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Run a whole drain of the topic, in two batches."""
    path = tmp_path_factory.mktemp("landed") / "drain"
    _drain(spark, cluster, topic, path)
    return path


@pytest.fixture
def copy(landed: Path, tmp_path: Path) -> Path:
    """Copy it, to be damaged."""
    return Path(shutil.copytree(landed, tmp_path / "drain"))


def _files(path: Path, partition: int) -> list[Path]:
    """Return the data files of a partition, whose batch read it."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    return [
        file
        for file in sorted(path.glob("topic=*/date=*/part-*.parquet"))
        if partition in pq.read_table(file, columns=["partition"], partitioning=None)[0].to_pylist()
    ]


def test_a_whole_drain_is_proven(
    spark: SparkSession, cluster: Sandbox, topic: str, landed: Path
) -> None:
    """Every offset is there once, with the contents that were landed and that the cluster has."""
    proof = _verify(spark, landed, cluster)
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
    assert [partition.topic_partition for partition in proof.partitions] == [
        TopicPartition(topic, 0),
        TopicPartition(topic, 1),
    ]
    for partition in proof.partitions:
        assert partition.coverage.rows == _COUNT
        assert partition.cluster is not None
        assert partition.cluster.compared == Run(0, _COUNT)


def test_a_lost_file_is_a_gap_and_a_copied_one_is_duplicates(
    spark: SparkSession, copy: Path
) -> None:
    """Both are named; a copy with a later batch's kind of name belongs to no batch, either."""
    lost, (file, other) = _files(copy, 0)[0], _files(copy, 1)
    lost.unlink()
    shutil.copy(file, file.with_name("part-copy.parquet"))
    shutil.copy(other, other.with_name("part-00099-8f3a.c000.snappy.parquet"))
    proof = _verify(spark, copy)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    problems = "\n".join(proof.file_problems)
    assert lost.name in problems
    assert "part-copy.parquet" in problems
    first, second = (partition.coverage for partition in proof.partitions)
    assert first.of(Discrepancy.GAP).offsets == _COUNT - first.rows > 0
    assert second.of(Discrepancy.DUPLICATE).offsets == _COUNT


def test_a_changed_message_is_found_by_checksum_and_by_the_cluster(
    spark: SparkSession, cluster: Sandbox, copy: Path
) -> None:
    """The offset is named if the cluster still has the message."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    file = _files(copy, 0)[0]
    table = pq.read_table(file, partitioning=None)
    values = table["value"].to_pylist()
    offset = table["offset"].to_pylist()[1]
    values[1] = b"forged"
    at = table.schema.get_field_index("value")
    pq.write_table(table.set_column(at, "value", pa.array(values, pa.binary())), file)
    Path(file.with_name(f".{file.name}.crc")).unlink(missing_ok=True)
    proof = _verify(spark, copy, cluster)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    partition = proof.partitions[0]
    assert partition.coverage.complete
    assert not partition.same_contents
    assert f"differ from the cluster's (content), from offset {offset} to {offset}" in as_text(
        proof
    )


def test_a_damaged_file_is_a_gap_and_no_crash(spark: SparkSession, copy: Path) -> None:
    """Unreadable rows count as missing, and the file is named."""
    file = _files(copy, 0)[0]
    file.write_bytes(file.read_bytes()[:-20])
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    proof = _verify(spark, copy)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    assert file.name in proof.file_problems[0]
    assert proof.partitions[0].coverage.of(Discrepancy.GAP)


def test_a_lost_manifest_is_named(spark: SparkSession, copy: Path) -> None:
    """Rows without a manifest are not proven, although they are there."""
    (copy / "_zkconsumer/batches/0000000001.json").unlink()
    proof = _verify(spark, copy)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    assert "0000000001.json" in as_text(proof)


@pytest.mark.parametrize(
    "lost", [pytest.param("batches", marks=pytest.mark.versions), "batches and plans"]
)
def test_lost_manifests_are_not_taken_for_a_drain_that_has_just_started(
    spark: SparkSession, copy: Path, lost: str
) -> None:
    """Files without a batch are named, and their rows are stray."""
    for folder in lost.split(" and "):
        shutil.rmtree(copy / "_zkconsumer" / folder)
    proof = _verify(spark, copy)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    assert any("files are there that no batch landed" in text for text in proof.file_problems)
    assert proof.partitions[0].coverage.of(Discrepancy.STRAY)


def test_a_stray_file_is_reported_and_no_crash(spark: SparkSession, copy: Path) -> None:
    """It is outside of the dates' folders, or it is a text among the data and at the top."""
    file = _files(copy, 0)[0]
    shutil.copy(file, file.parent.parent / "copy.parquet")
    (file.parent / "NOTES").write_text("do not delete")
    (copy / "README").write_text("do not delete")
    proof = _verify(spark, copy)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    assert proof.problems[0].startswith("3 files are there that no batch landed")
    assert len(proof.problems) == 1


def test_foreign_rows_in_a_delta_table_are_found(
    spark: SparkSession, cluster: Sandbox, topic: str, tmp_path: Path
) -> None:
    """With offsets they are duplicates, without they are named; commits' offsets are compared."""
    import pyarrow as pa  # noqa: PLC0415
    from deltalake import DeltaTable, write_deltalake  # noqa: PLC0415

    path = tmp_path / "drain"
    _drain(spark, cluster, topic, path, "delta")
    entry = path / "_delta_log" / f"{1:020d}.json"
    kept = entry.read_text()
    entry.write_text(kept.replace("zkconsumer.offsets", "of somebody's"))
    expected = "1 batches have other offsets in the table's commits than were landed: 1"
    assert _verify(spark, path).problems == [expected]
    entry.write_text(kept)
    whole = DeltaTable(str(path)).to_pyarrow_table().slice(0, 1)
    lost = whole.set_column(
        whole.schema.get_field_index("offset"), "offset", pa.array([None], pa.int64())
    )
    write_deltalake(str(path), pa.concat_tables([whole, lost]), mode="append")
    proof = _verify(spark, path)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    assert "1 rows have no topic, partition or offset" in proof.problems
    assert (
        sum(partition.coverage.of(Discrepancy.DUPLICATE).offsets for partition in proof.partitions)
        == 1
    )


def test_a_drain_without_batches_is_not_proven(spark: SparkSession, copy: Path) -> None:
    """It was killed before its first batch."""
    for folder in (
        "_zkconsumer/batches",
        "_zkconsumer/plans",
        *(folder.name for folder in copy.glob("topic=*")),
    ):
        shutil.rmtree(copy / folder)
    proof = _verify(spark, copy)
    assert proof.outcome is ProofOutcome.UNKNOWN
    assert proof.doubts == ["no batch is landed yet: there is nothing to prove"]


def test_another_cluster_leaves_the_proof_open(
    spark: SparkSession, broker_of: BrokerOf, landed: Path
) -> None:
    """Nothing is wrong with the files, but the requested comparison was not possible."""
    proof = _verify(spark, landed, broker_of("0.8.2.2"))
    assert proof.outcome is ProofOutcome.UNKNOWN
    assert "the cluster does not have it" in proof.doubts[0]


@pytest.mark.parametrize("file_format", ["json", pytest.param("delta", marks=pytest.mark.versions)])
def test_other_formats_are_proven_too(
    spark: SparkSession, cluster: Sandbox, topic: str, tmp_path: Path, file_format: str
) -> None:
    """Bytes, nulls and offsets survive each format."""
    path = tmp_path / "drain"
    _drain(spark, cluster, topic, path, file_format)
    proof = _verify(spark, path, cluster)
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
    assert sum(partition.coverage.rows for partition in proof.partitions) == 2 * _COUNT
