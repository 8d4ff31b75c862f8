"""A bucket as the storage of Spark's drain: ``s3a://``, on a server that speaks S3's protocol."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.queries import Topic
from tests.support.clusters import fresh_name
from tests.support.hadoop_aws import s3a_settings
from tests.support.s3_server import BUCKET, catalog_of, s3_server
from tests.support.storage_contract import *  # noqa: F403 - its tests
from zkconsumer.drain import DrainSettings, drain, drain_locally, verify, verify_locally
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.landing_delta import DeltaLanding
from zkconsumer.drain.landing_files import FilesLanding
from zkconsumer.drain.local.iceberg_landing import IcebergLanding
from zkconsumer.drain.local.object_storage import ObjectStorage
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.proving.proof import ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.drain.storage import StoredFile
from zkconsumer.errors import ConfigError, DrainError
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]


@contextmanager
def bucket(spark: SparkSession, *, ignores_conditions: bool = False) -> Iterator[None]:
    """Have a server with an empty bucket, which ``s3a://`` of the session leads to."""
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    with s3_server(ignores_conditions=ignores_conditions):
        settings = s3a_settings()
        before = {name: hadoop.get(name) for name in settings}
        for name, value in settings.items():
            hadoop.set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    hadoop.unset(name)
                else:
                    hadoop.set(name, value)


@pytest.fixture(scope="module")
def server(spark: SparkSession) -> Iterator[None]:
    """One for all tests of this module."""
    with bucket(spark):
        yield


@pytest.fixture
def storage(spark: SparkSession, server: None) -> HadoopStorage:
    """An empty folder of the bucket, whose name is no plain one."""
    del server
    return HadoopStorage(spark, f"s3a://{BUCKET}/{fresh_name('drain')}/a drain")


def test_who_creates_what_another_did_meanwhile_is_told(storage: HadoopStorage) -> None:
    """The server refuses, to both engines; the same content is one's own: its answer got lost."""
    local = ObjectStorage(storage.uri(""))
    assert storage.create("plans/1.json", b"{1}")
    assert not local.create("plans/1.json", b"{2}")
    assert local.create("plans/2.json", b"{2}")
    assert not storage.create("plans/2.json", b"{1}")
    assert storage.create("plans/2.json", b"{2}")
    assert (storage.read("plans/1.json"), storage.read("plans/2.json")) == (b"{1}", b"{2}")


def test_a_folder_that_only_markers_are_left_of_is_not_listed(storage: HadoopStorage) -> None:
    """Hadoop marks the folder out of which it moves the last file, which is no staged batch."""
    local = ObjectStorage(storage.uri(""))
    storage.create("staging/1/x/a", b"1")
    storage.create("staging/2/x/b", b"1")
    for engine in (storage, local):
        assert sorted(engine.names("staging")) == ["1", "2"]
    storage.move("staging/1/x/a", "topic=t/a")
    for engine in (storage, local):
        assert engine.names("staging") == ["2"]
        assert engine.names("staging/1") == []
    assert sorted(local.names("")) == ["staging", "topic=t"]


def test_a_store_that_keeps_conditions_is_taken(storage: HadoopStorage) -> None:
    """And is as it was."""
    BatchJournal(storage).probe("a")
    assert storage.files("") == []


def test_a_store_that_ignores_conditions_is_refused(spark: SparkSession) -> None:
    """Two drains there would replace each other's batches, whatever one has seen before it puts."""
    with bucket(spark, ignores_conditions=True):
        storage = HadoopStorage(spark, f"s3a://{BUCKET}/drain")
        storage.create("plans/1.json", b"{1}")
        with pytest.raises(
            ConfigError, match=r"s3a://lake/drain: the store replaces an existing file"
        ):
            BatchJournal(storage).probe("a")
        assert storage.files("") == [StoredFile("plans/1.json", 3)]


def test_a_bucket_that_is_not_there_is_told(spark: SparkSession, server: None) -> None:
    """With its name."""
    del server
    with pytest.raises(DrainError, match=r"s3a://nobody/x.*nobody"):
        HadoopStorage(spark, "s3a://nobody/x").create("a", b"1")


BY_HAND = pytest.mark.versions
"""Formats differ in how they are published, which folders and the local engine see in each run."""


class Killed(BaseException):
    """The process is gone: no handler of an ``Exception`` runs."""


def die(*_: object) -> None:
    """At the step that this stands for."""
    raise Killed


LANDINGS: dict[str, type] = {"delta": DeltaLanding, "iceberg": IcebergLanding}


@pytest.mark.parametrize(
    "file_format",
    ["parquet", *(pytest.param(kind, marks=BY_HAND) for kind in ("json", "delta", "iceberg"))],
)
def test_a_drain_goes_on_with_the_other_engine(
    spark: SparkSession,
    cluster: Sandbox,
    server: None,
    file_format: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed before a batch is published, finished without Spark, proven by both engines.

    A second run has nothing to do; another drain there is refused.
    """
    del server
    topic = Topic(cluster, 2, prefix="bucket")
    topic.write(20)
    path = f"s3a://{BUCKET}/{fresh_name('drain')}"
    options = catalog_of(path, tmp_path) if file_format == "iceberg" else {}
    settings = DrainSettings(
        path=path,
        zookeeper=cluster.zookeeper_connect,
        topics=(topic.name,),
        format=file_format,
        target_options=options,
        max_offsets_per_batch=64,
    )
    with monkeypatch.context() as patch:
        patch.setattr(LANDINGS.get(file_format, FilesLanding), "publish", die)
        with pytest.raises(Killed):
            drain(spark, settings)
    assert drain_locally(settings).finished
    topic.write(4)
    rows = [drain(spark, settings).rows for _ in range(2)]
    assert rows == [8, 0]
    topic.close()
    with pytest.raises(ConfigError, match="another"):
        drain(spark, replace(settings, topics=(topic.name, "other")))
    where = {"zookeeper.connect": cluster.zookeeper_connect}
    for proof in (
        verify(spark, HadoopStorage(spark, path), cluster=where, target_options=options),
        verify_locally(path, cluster=where, target_options=options),
    ):
        assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
        assert sum(part.coverage.rows for part in proof.partitions) == 48
